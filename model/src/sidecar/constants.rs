//! Values of inputs other than the image.

use serde::{Deserialize, Serialize};

/// The value of an input other than the image.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "a constant is a list of numbers, \"input-height-width\", \"input-width-height\" or \"frame-height-width\""
)]
pub enum ConstantValue {
    /// Numbers, row-major, in the input's own type.
    Numbers(Vec<f64>),
    /// `input-height-width`, `input-width-height` or `frame-height-width`: two numbers of the input tensor or of the frame.
    Size(SizeOf),
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
