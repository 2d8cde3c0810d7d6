//! How logits become masks.

use crate::preproc::Layout;

/// How a cell's class is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Classes {
    /// The channel of the greatest value. For 2 to 256 channels.
    Argmax,
    /// 1 where [`SegmentParams::channel`] reaches this, in activated units, else 0.
    Threshold(f32),
}

/// What turns values into probabilities. It does not matter to [`Classes::Argmax`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The values are probabilities.
    None,
    /// The values are independent logits: `1 / (1 + exp(-v))`.
    Sigmoid,
    /// The values are logits of classes that exclude each other. For 2 channels and more.
    Softmax,
}

crate::words! { Activation:
    None = "none", "None: the model has applied it";
    Sigmoid = "sigmoid", "Sigmoid of each channel: the values are logits";
    Softmax = "softmax", "Softmax over the channels: the values are logits of classes that exclude each other";
}

/// How logits become masks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentParams {
    /// How a cell's class is chosen.
    pub classes: Classes,
    /// The channel of [`Classes::Threshold`] and [`SegmentParams::soft`], which count from 0.
    pub channel: usize,
    /// What the values are.
    pub activation: Activation,
    /// The tensor's order of dimensions. `None`: the one whose height and width are an even reduction of the input
    /// tensor's, by the same factor on both axes; else the one with a single channel; an error where that is ambiguous.
    pub layout: Option<Layout>,
    /// How much of the state a frame keeps: 0 (no smoothing) up to, but not including, 1.
    pub smoothing: f32,
    /// Radius in cells, 0..=32, of the square of `2 * radius + 1` cells by which the foreground is eroded and then
    /// dilated: parts narrower than the square vanish. Foreground is every class but 0, all classes together: a cell that
    /// stays keeps its class, one that vanishes becomes 0. Soft masks are opened as grey images (least, then greatest, of the
    /// square). Cells outside the mask do not count, so the mask's edge erodes nothing; as in OpenCV.
    pub opening: u32,
    /// Radius likewise, by which the foreground is dilated and then eroded: gaps narrower than the square are filled. A
    /// cell that is filled takes the greatest class number within the square around it.
    pub closing: u32,
    /// Cells that a connected area of one class has at least; smaller ones become 0. Cells are connected to all 8
    /// neighbours. In soft masks the areas are those of cells of at least 128.
    pub min_area: u32,
    /// The mask is the activated value of [`SegmentParams::channel`] instead of classes, whatever [`SegmentParams::classes`] says:
    /// `255 * value`, rounded to nearest, 0 for NaN.
    pub soft: bool,
    /// The values of each frame are moved and scaled so that the least finite one becomes 0 and the greatest 1, as rembg does with
    /// U2-Net's; where all are the same, they become 0. Not for [`Classes::Argmax`].
    pub stretched: bool,
}

impl Default for SegmentParams {
    fn default() -> Self {
        Self {
            classes: Classes::Argmax,
            channel: 0,
            activation: Activation::None,
            layout: None,
            smoothing: 0.0,
            opening: 0,
            closing: 0,
            min_area: 0,
            soft: false,
            stretched: false,
        }
    }
}
