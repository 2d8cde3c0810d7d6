//! Values of inputs other than the image.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The value of an input other than the image.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "a constant is a list of numbers, \"input-height-width\", \"input-width-height\" or \"frame-height-width\", or a table \
                 as { file = \"prompts.npy\" } or { fill = 0, shape = [1, 8] }"
)]
pub enum ConstantValue {
    /// Numbers, row-major, in the input's own type.
    Numbers(Vec<f64>),
    /// `input-height-width`, `input-width-height` or `frame-height-width`: two numbers of the input tensor or of the frame.
    Size(SizeOf),
    /// An array in a file.
    File(ArrayFile),
    /// One number for all elements.
    Fill(Fill),
}

/// An array in a `.npy` or `.npz`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayFile {
    /// The file, beside the sidecar if its path is relative.
    pub file: PathBuf,
    /// The array's name in a `.npz`, if it is not the input's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
}

/// One number for all elements.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// The number.
    pub fill: f64,
    /// The dimensions, where the model leaves them open; 1 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<usize>>,
}

/// A size that is known only while frames flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeOf {
    /// The input tensor's height and width.
    InputHeightWidth,
    /// The input tensor's width and height.
    InputWidthHeight,
    /// The frame's height and width.
    FrameHeightWidth,
}
