//! The properties, as gst-inspect shows them. All can be set while frames flow.

use std::sync::LazyLock;

use super::picture::Settings;
use crate::property::{Property, Table, property};
use crate::stats;

/// All there are.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new(
        [
            property!(Settings, boxes, (), "Boxes", "Draw the boxes of objects"),
            property!(Settings, labels, (), "Labels", "Draw the labels of objects"),
            property!(Settings, confidences, (), "Confidences", "Draw the confidences in percent"),
            property!(Settings, ids, (), "Identities", "Draw the identities of tracks"),
            property!(Settings, points, (), "Keypoints", "Draw the keypoints of objects"),
            property!(Settings, skeleton, (), "Skeleton", "Draw the edges between keypoints"),
            property!(Settings, masks, (), "Masks", "Draw masks over the frame"),
            property!(
                Settings,
                zones,
                (),
                "Zones",
                "Draw the zones of zonecount, with labels=true also their counts; an arrow shows the direction of \"in\"",
            ),
            property!(
                Settings,
                mask_opacity,
                0.0..=1.0,
                "Mask opacity",
                "Opacity of masks: 0 is transparent, 1 hides the frame",
            ),
            property!(Settings, tracked_only, (), "Tracked only", "Draw only objects that have a track"),
            property!(
                Settings,
                trail_length,
                0..=10_000,
                "Trail length",
                "Number of past positions in a track's trail; 0 draws none",
            ),
            property!(
                Settings,
                thickness,
                0..=100,
                "Thickness",
                "Line thickness in pixels; 0 chooses it by the frame's height",
            ),
            property!(
                Settings,
                text_scale,
                0..=16,
                "Text scale",
                "Text size as a multiple of the font's; 0 chooses it by the frame's height",
            ),
        ]
        .map(Property::playing),
    )
    .with([stats::param_spec("")])
});
