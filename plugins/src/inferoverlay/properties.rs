//! The properties, as gst-inspect shows them. All but `font` can be set while frames flow.

use std::sync::LazyLock;

use cudainfer_kernels::draw::blur::MOST_CELLS;

use super::settings::Settings;
use crate::property::{Property, Table, property};
use crate::stats;

/// All properties.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new(
        [
            property!(
                Settings,
                blur,
                (),
                "Blur",
                "Labels of the objects that are made unrecognisable before anything is drawn, as in face,plate; * for all objects",
            ),
            property!(Settings, blur_mode, (), "Blur mode", "What is shown instead of objects that are made unrecognisable"),
            property!(
                Settings,
                blur_cells,
                1..=MOST_CELLS,
                "Blur cells",
                "With pixelate and gaussian: number of mean values that are kept along the longer side of an object; fewer hide more",
            ),
            property!(
                Settings,
                blur_margin,
                0.0..=2.0,
                "Blur margin",
                "How much more than an object's box is covered on each side, as a fraction of the box's width and height",
            ),
            property!(
                Settings,
                blur_hold,
                0..=1000,
                "Blur hold",
                "Number of frames for which an object that is not found any more stays covered",
            ),
            property!(Settings, boxes, (), "Boxes", "Draw the boxes of objects"),
            property!(Settings, labels, (), "Labels", "Draw the labels of objects, and the names that identify gives them"),
            property!(Settings, confidences, (), "Confidences", "Draw the confidences in percent, and the similarities of names"),
            property!(Settings, ids, (), "Identities", "Draw the identities of tracks"),
            property!(
                Settings,
                speed_unit,
                (),
                "Speed unit",
                "Unit in which speeds of objects are drawn, where zonecount has measured them; none does not draw them",
            ),
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
            property!(
                Settings,
                classes,
                (),
                "Classes",
                "Labels of the objects that are drawn, as in person,car. If not set: all objects",
            ),
            property!(
                Settings,
                min_confidence,
                0.0..=1.0,
                "Minimum confidence",
                "Draw only objects and keypoints with at least this confidence",
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
                arrows,
                (),
                "Arrows",
                "Draw an arrow from each track to where it will be if it moves on as it does",
            ),
            property!(Settings, arrow_frames, 1..=1000, "Arrow frames", "Number of frames that an arrow looks ahead"),
            property!(Settings, heatmap, (), "Heat-map", "Show where objects were, below everything that is drawn"),
            property!(
                Settings,
                heatmap_decay,
                0.0..=86400.0,
                "Heat-map decay",
                "Seconds after which the time that an object spent at a place counts half; 0: it never fades",
            ),
            property!(
                Settings,
                heatmap_classes,
                (),
                "Heat-map classes",
                "Labels of the objects that count in the heat-map, as in person,car. If not set: all objects",
            ),
            property!(
                Settings,
                heatmap_opacity,
                0.0..=1.0,
                "Heat-map opacity",
                "Opacity of each of the heat-map's colours: 0 is transparent, 1 hides the frame",
            ),
            property!(
                Settings,
                thickness,
                0..=100,
                "Thickness",
                "Line thickness in pixels; 0 chooses it by the frame's height and the object's size",
            ),
            property!(
                Settings,
                text_scale,
                0..=16,
                "Text scale",
                "Text size as a multiple of 13 pixels; 0 chooses it by the frame's height",
            ),
        ]
        .map(Property::playing)
        .into_iter()
        .chain([property!(
            Settings,
            font,
            (),
            "Font",
            "Font of all text: a family's name, as in DejaVu Sans, a .ttf, .otf or .ttc file, or built-in: the built-in letters, \
             and the system's fonts for text that these lack. If not set: the system's sans-serif font, or built-in if there is none",
        )]),
    )
    .with([stats::param_spec("; blurred (boxes of objects made unrecognisable), blur-held (those of them whose object was missing in the frame)")])
});
