//! Where the element logs.

use std::sync::LazyLock;

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("gpunms", gst::DebugColorFlags::empty(), Some("detections from output tensors"))
});
