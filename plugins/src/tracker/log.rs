//! Where the element logs.

use std::sync::LazyLock;

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("tracker", gst::DebugColorFlags::empty(), Some("identities of objects"))
});
