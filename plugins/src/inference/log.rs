//! Where models that are opened and measured log.

use std::sync::LazyLock;

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "cudainfer-engine",
        gst::DebugColorFlags::empty(),
        Some("cudainfer's model runner"),
    )
});
