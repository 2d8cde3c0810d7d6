//! What can be wrong with maps and parameters.

use crate::device::DeviceError;

/// A tensor, room or parameters that cannot be worked with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MapError {
    /// Another element type.
    #[error("'{0}' must be float32, float16 or uint8; choose another output of the model or dequantise it")]
    Type(String),
    /// Another number of channels, or open dimensions.
    #[error(
        "'{tensor}' must have the dimensions {wanted}, all of them known; choose the model's output that holds the {what}"
    )]
    Rank {
        /// The tensor.
        tensor: String,
        /// The shapes.
        wanted: &'static str,
        /// "map", "vectors" or "picture".
        what: &'static str,
    },
    /// A dimension of 0.
    #[error("'{0}' is empty; every dimension must be at least 1")]
    Empty(String),
    /// Sides that are too large.
    #[error("'{0}' is too large: sides go up to 32768; use a smaller output")]
    TooLarge(String),
    /// A minimum that is not less than the maximum.
    #[error("a range from {0} to {1} has no values; set range-min to less than range-max")]
    Range(f32, f32),
    /// A picture's mean or std that cannot be used.
    #[error("the mean {mean:?} and std {std:?} of a picture must be finite numbers, and std not 0")]
    Normalization {
        /// By channel.
        mean: [f32; 3],
        /// By channel.
        std: [f32; 3],
    },
    /// A tensor other than the one that was announced.
    #[error("'{got}' arrived where '{declared}' was announced; renegotiate with the new dimensions")]
    Changed {
        /// What came.
        got: String,
        /// What was announced.
        declared: String,
    },
    /// Cells that the map does not have.
    #[error("cells {region:?} are not in a map of {size:?} cells; take them from Region::inside")]
    Region {
        /// Left, top, width and height.
        region: [usize; 4],
        /// The map's width and height.
        size: [usize; 2],
    },
    /// Video of vectors, on the GPU.
    #[error("vectors become video on the CPU only; download '{0}' for it")]
    Vectors(String),
    /// Room for another number of bytes.
    #[error(
        "video of {width}x{height} was handed {bytes} bytes in rows of {stride}; make them fit each other"
    )]
    Room {
        /// Its width.
        width: usize,
        /// Its height.
        height: usize,
        /// The number of bytes.
        bytes: usize,
        /// Bytes from row to row.
        stride: usize,
    },
    /// A map from tensor to frame that has no inverse or rotates, or sizes that are too large.
    #[error(
        "a map of {from:?} cells cannot be taken to a frame of {frame:?} pixels: sizes go from 1 to 32768, and the frame must \
         lie in the network's input upright"
    )]
    Place {
        /// The map's width and height.
        from: [usize; 2],
        /// The frame's.
        frame: [usize; 2],
    },
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
