//! Where the cache logs.

use std::sync::LazyLock;

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "cudainfer-cache",
        gst::DebugColorFlags::empty(),
        Some("what cudainfer keeps for the next start"),
    )
});
