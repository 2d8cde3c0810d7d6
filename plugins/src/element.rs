//! What every element's class says of itself: how it is described, and what its pads are.

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
