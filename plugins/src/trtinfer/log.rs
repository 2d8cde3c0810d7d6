//! Where the element logs.

use std::sync::LazyLock;

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("trtinfer", gst::DebugColorFlags::empty(), Some("ONNX Runtime inference"))
});
