//! The table of properties.

use std::sync::LazyLock;

use super::settings::Settings;
use crate::property::{Table, property};
use crate::stats;

/// Bound of the numbers that can be set.
const MOST: f64 = 1e30;

/// The element's own properties.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new([
        property!(
            Settings,
            tensor,
            (),
            "Tensor",
            "Name of the model output with the map or picture. If not set: the sidecar's, else the only one that has its shape",
        ),
        property!(
            Settings,
            score,
            (),
            "Score",
            "Name of the model output with one number for the frame, such as an anomaly score. If not set: the sidecar's, else the \
             only output with one number",
        ),
        property!(
            Settings,
            counts,
            (),
            "Counts",
            "What the map's sum is a number of, as people: the metadata has it, and inferoverlay writes the sum. If not set: the \
             sidecar's",
        ),
        property!(
            Settings,
            layout,
            (),
            "Layout",
            "Order of the tensor's dimensions; auto takes the sidecar's, else decides by their shape",
        ),
        property!(Settings, output, (), "Output", "What is done with the map or picture"),
        property!(Settings, size, (), "Size", "With output=gray16 and output=rgb: size of the frames"),
        property!(Settings, range, (), "Range", "With output=gray16: which values become 0 and 65535"),
        property!(
            Settings,
            range_min?,
            -MOST..=MOST,
            0.0,
            "Range minimum",
            "Value that becomes 0. If not set: the sidecar's, else 0 if the model ends in a sigmoid or softmax or the values are \
             uint8; otherwise output=gray16 with range=fixed and output=rgb are an error",
        ),
        property!(
            Settings,
            range_max?,
            -MOST..=MOST,
            0.0,
            "Range maximum",
            "Value that becomes 65535 (output=gray16) or 255 (output=rgb). If not set: the sidecar's, else 1 if the model ends in a \
             sigmoid or softmax, 255 if the values are uint8",
        ),
        property!(
            Settings,
            mean,
            -1e6..=1e6,
            "Mean",
            "With output=rgb: value added after std, before range-min and range-max apply: one value, or one per channel in the \
             tensor's channel order. If not set: the sidecar's, else 0",
        ),
        property!(
            Settings,
            std,
            -1e6..=1e6,
            "Standard deviation",
            "With output=rgb: factor on the values: one value, or one per channel. If not set: the sidecar's, else 1",
        ),
        property!(
            Settings,
            "channels" = order,
            (),
            "Channels",
            "With output=rgb: order of the tensor's channels; auto takes the sidecar's, else that of the model's input in the \
             sidecar, else rgb",
        ),
    ])
    .with([stats::param_spec(
        "; maps (and pictures), non-finite (values in the frame, and scores, that are NaN or infinity), out-of-range (values in the \
         frame below range-min or above range-max, which became 0 or the greatest sample)",
    )])
});
