//! What suppresses overlapping boxes.

/// What suppresses overlapping boxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nms {
    /// Greedy, within a class.
    ClassWise,
    /// Greedy, across classes.
    Agnostic,
    /// Soft-NMS, linear decay, within a class: overlaps above [`super::DetectParams::iou`] lower a confidence by `1 - IoU`
    /// (Bodla et al., "Soft-NMS", ICCV 2017, section 3).
    SoftLinear,
    /// Soft-NMS, gaussian decay, within a class: every overlap lowers a confidence by `exp(-IoU^2 / sigma)`
    /// (same paper). What falls below the confidence threshold is dropped; so with linear decay.
    SoftGaussian {
        /// Width of the decay, above 0; the paper uses 0.5.
        sigma: f32,
    },
    /// Nothing.
    None,
}
