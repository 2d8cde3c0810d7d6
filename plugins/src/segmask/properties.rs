//! The table of properties.

use std::sync::LazyLock;

use cudainfer_kernels::matte::MOST_FEATHER;
use cudainfer_kernels::segment::{MOST_RADIUS, SegmentParams};

use super::settings::{GUIDED, Settings, THRESHOLD};
use crate::meta::analytics;
use crate::property::{Table, property};
use crate::stats;

/// The element's own properties.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    let defaults = SegmentParams::default();
    Table::new([
        property!(
            Settings,
            tensor,
            (),
            "Tensor",
            "Name of the model output with the logits, or with the prototypes or maps for masks of objects. If not set: the \
             sidecar's, else the only output",
        ),
        property!(
            Settings,
            classes,
            (),
            "Classes",
            "Name of the model output with the classes of queries, whose masks tensor is. If not set: the sidecar's, else \
             class_queries_logits, if the model has it",
        ),
        property!(
            Settings,
            scores,
            (),
            "Scores",
            "Name of the model output with a score for each of an object's masks, of which the best is taken. If not set: the \
             sidecar's, else iou_predictions, if the model has it",
        ),
        property!(Settings, mode, (), "Mode", "What a mask is made of"),
        property!(Settings, activation, (), "Activation", "What turns the values into probabilities"),
        property!(Settings, range, (), "Range", "For mode=threshold and mode=soft: which values become 0 and 1"),
        property!(
            Settings,
            layout,
            (),
            "Layout",
            "Order of the tensor's dimensions; auto takes the sidecar's, else decides by their shape",
        ),
        property!(
            Settings,
            threshold?,
            -1e6..=1e6,
            THRESHOLD,
            "Threshold",
            "Minimum value inside the mask, after the activation. If not set: the sidecar's, else the default",
        ),
        property!(
            Settings,
            channel?,
            0..=u32::MAX,
            0,
            "Channel",
            "Channel for mode=threshold and mode=soft, or the mask of several that an object has, from 0. If not set: the \
             sidecar's, else the only one, or the second of two",
        ),
        property!(
            Settings,
            smoothing?,
            0.0..=0.999,
            defaults.smoothing,
            "Smoothing",
            format!(
                "Weight of the previous frames in temporal smoothing; 0 is off. If not set: the sidecar's, else {}",
                defaults.smoothing
            ),
        ),
        property!(
            Settings,
            opening?,
            0..=MOST_RADIUS,
            defaults.opening,
            "Opening",
            format!(
                "Radius in cells of the morphological opening, which removes what is narrower than twice the radius plus 1. \
                 If not set: the sidecar's, else {}",
                defaults.opening
            ),
        ),
        property!(
            Settings,
            closing?,
            0..=MOST_RADIUS,
            defaults.closing,
            "Closing",
            format!(
                "Radius in cells of the morphological closing, which fills gaps narrower than twice the radius plus 1. If \
                 not set: the sidecar's, else {}",
                defaults.closing
            ),
        ),
        property!(
            Settings,
            min_area?,
            0..=u32::MAX,
            defaults.min_area,
            "Minimum area",
            format!(
                "Minimum size of a connected area in cells; smaller ones are removed. If not set: the sidecar's, else {}",
                defaults.min_area
            ),
        ),
        property!(
            Settings,
            upsample?,
            (),
            false,
            "Upsample",
            "Whether the masks of objects are interpolated to the frame's pixels before they are compared with the threshold, \
             as Ultralytics does, and not made at the model's size. If not set: the sidecar's, else the default",
        ),
        property!(Settings, size, (), "Size", "Size of the mask in the metadata"),
        property!(Settings, output, (), "Output", "What is done with the mask"),
        property!(
            Settings,
            refine,
            (),
            "Refine",
            "How the edges of a soft mask are improved, at the frame's size",
        ),
        property!(
            Settings,
            refine_radius?,
            1..=64,
            GUIDED.0,
            "Radius of refinement",
            "With refine=guided: half the side of the filter's windows, in cells of the model's mask",
        ),
        property!(
            Settings,
            refine_epsilon?,
            1e-8..=1.0,
            GUIDED.1,
            "Epsilon of refinement",
            "With refine=guided: variance of luma, which goes from 0 to 1, from which on an edge of the picture is one of the mask",
        ),
        property!(
            Settings,
            feather_in,
            0..=MOST_FEATHER,
            "Feather inwards",
            "How far an edge of a soft mask fades inwards, in pixels of the frame",
        ),
        property!(
            Settings,
            feather_out,
            0..=MOST_FEATHER,
            "Feather outwards",
            "How far an edge of a soft mask fades outwards, in pixels of the frame",
        ),
        property!(
            Settings,
            floor,
            0.0..=1.0,
            "Floor",
            "Values of a soft mask below this become 0, so that encoders have nothing to keep of them",
        ),
        property!(
            Settings,
            foreground,
            (),
            "Foreground",
            "With output=alpha: the colours of the frames. Those of soft edges are mixed with the background's in a frame",
        ),
        property!(Settings, metadata, (), "Metadata", analytics::BLURB),
    ])
    .with([stats::param_spec(
        "; masks, non-finite (values that are NaN or infinity), out-of-range (class numbers below 0 or above 255, which became 0); on the \
         GPU those of the last frames may be missing",
    )])
});
