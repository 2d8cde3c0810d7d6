//! How an output is read.

use crate::preproc::{ChannelOrder, Layout};

/// Which numbers become which samples of video.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Range {
    /// From the least to the greatest finite number of each frame; of vectors, up to the longest.
    #[default]
    Frame,
    /// From a minimum to a maximum; of vectors, the maximum is a length.
    Fixed(f32, f32),
}

/// How an output is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapParams {
    /// Order of the dimensions; by the shape if there is none.
    pub layout: Option<Layout>,
    /// 1: a map. 2: vectors. 3: a picture, or vectors of three numbers.
    pub channels: usize,
    /// Which numbers become which samples.
    pub range: Range,
    /// For a picture: added after `std`, by channel in the tensor's order.
    pub mean: [f32; 3],
    /// For a picture: factor on its numbers, by channel in the tensor's order.
    pub std: [f32; 3],
    /// For a picture: which colour comes first. Only [`ChannelOrder::Bgr`] differs.
    pub order: ChannelOrder,
}

impl Default for MapParams {
    fn default() -> Self {
        Self {
            layout: None,
            channels: 1,
            range: Range::Frame,
            mean: [0.0; 3],
            std: [1.0; 3],
            order: ChannelOrder::Rgb,
        }
    }
}
