//! What a map's program reads.

use super::View;
use crate::graph::{Coordinates, PadMode, PoolKind, ResizeMode, Sampling, Window};

/// A number that a map's program reads, at a place.
#[derive(Clone, Debug)]
pub enum Source {
    /// The element there. The view's dimensions are the map's; it is broadcast along strides of 0.
    Element(View),
    /// The element there of a tensor that is resized to the map's dimensions.
    Resized {
        /// The tensor, of the map's rank.
        view: View,
        /// Which samples make one.
        mode: ResizeMode,
        /// Where they lie.
        coordinates: Coordinates,
        /// By axis.
        scales: Vec<f32>,
    },
    /// The element there of a tensor that is padded to the map's dimensions.
    Padded {
        /// The tensor, of the map's rank.
        view: View,
        /// By axis; negative ones cut off.
        before: Vec<isize>,
        /// What is outside.
        mode: PadMode,
    },
    /// One number of a window; the map has four dimensions.
    Pooled {
        /// `[N, C, H, W]`.
        view: View,
        /// Which number.
        kind: PoolKind,
        /// Where it looks.
        window: Window,
    },
    /// The element of a tensor that an index says, of the place there in all dimensions but `axis`.
    Gathered {
        /// The tensor, of the map's dimensions but for `axis`.
        view: View,
        /// The indices, of integers and of the map's dimensions. Negative ones count from the end; those outside mean the nearest element.
        indices: View,
        /// Along which axis.
        axis: usize,
    },
    /// An image at places between its pixels; the map has four dimensions.
    Sampled {
        /// `[N, C, H, W]`.
        view: View,
        /// The columns and the rows of the places, from -1 to 1, of the map's dimensions.
        places: [View; 2],
        /// How.
        how: Sampling,
    },
}

impl Source {
    /// The tensor whose elements it gives.
    pub fn view(&self) -> &View {
        match self {
            Self::Element(view)
            | Self::Resized { view, .. }
            | Self::Padded { view, .. }
            | Self::Pooled { view, .. }
            | Self::Gathered { view, .. }
            | Self::Sampled { view, .. } => view,
        }
    }

    /// All tensors that it reads.
    pub fn views(&self) -> Vec<&View> {
        let others = match self {
            Self::Gathered { indices, .. } => std::slice::from_ref(indices),
            Self::Sampled { places, .. } => &places[..],
            _ => &[],
        };
        std::iter::once(self.view()).chain(others).collect()
    }
}
