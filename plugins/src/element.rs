//! What all elements have: a description and pads, which are their class's, and a name that the application need not give.

use gst::prelude::*;

/// In `impl ElementImpl`: the element's name in words, its classes (GstElementFactory has a list of them) and what it does; and the
/// caps of its pads, which are always there.
///
/// ```ignore
/// impl ElementImpl for Classify {
///     described! {
///         "Best classes",
///         "Filter/Analyzer/Video",
///         "Finds the best classes of the frame or of its objects in a classifier's scores",
///         sink: caps::sink_template(),
///         src: caps::any_video(),
///     }
/// }
/// ```
macro_rules! described {
    ($name:literal, $classes:literal, $description:literal, sink: $sink:expr, src: $src:expr $(,)?) => {
        fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
            static METADATA: std::sync::LazyLock<gst::subclass::ElementMetadata> =
                std::sync::LazyLock::new(|| {
                    let author = "The cudainfer authors";
                    gst::subclass::ElementMetadata::new($name, $classes, $description, author)
                });
            Some(&METADATA)
        }

        fn pad_templates() -> &'static [gst::PadTemplate] {
            static TEMPLATES: std::sync::LazyLock<Vec<gst::PadTemplate>> =
                std::sync::LazyLock::new(|| $crate::caps::pad_templates(&$sink, &$src));
            &TEMPLATES
        }
    };
}
pub(crate) use described;

/// For `constructed`: GStreamer names an element after its type, `cudainfertracker0`; pipelines know it as `tracker0`, after its
/// factory. A name that the application has given stays.
pub(crate) fn name_after_factory(element: &gst::Element) {
    let ty = element.type_();
    let Some(own) = ty.name().strip_prefix("GstCudaInfer").map(str::to_lowercase) else { return };
    let name = element.name();
    let number = name.strip_prefix("cudainfer").and_then(|rest| rest.strip_prefix(&own));
    if let Some(number) = number.filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
        element.set_property("name", format!("{own}{number}"));
    }
}
