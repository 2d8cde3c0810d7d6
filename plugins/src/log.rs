//! The debug categories, by whose names GST_DEBUG chooses what is logged. A category is registered with its first message.

use std::sync::LazyLock;

macro_rules! categories {
    ($($category:ident $name:literal $description:literal)*) => {
        $(
            #[doc = $description]
            pub(crate) static $category: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
                gst::DebugCategory::new($name, gst::DebugColorFlags::empty(), Some($description))
            });
        )*
    };
}

categories! {
    CLASSIFY "classify" "classes from scores"
    ANALYTICS "cudainfer-analytics" "GStreamer's analytics metadata"
    CACHE "cudainfer-cache" "what cudainfer keeps for the next start"
    DEVICE "cudainfer-device" "which GPU device=auto is"
    ENGINE "cudainfer-engine" "cudainfer's model runner"
    MEMORY "cudainfer-memory" "cudainfer's GPU memory"
    ORT "cudainfer-ort" "ONNX Runtime's own messages"
    TENSORS "cudainfer-tensors" "GStreamer's tensor metadata"
    TRACER "cudainfer-tracer" "CPU time by element, and metrics"
    CUDAINFERDOWNLOAD "cudainferdownload" "Download from GPU memory"
    CUDAINFERUPLOAD "cudainferupload" "Upload to GPU memory"
    EMBED "embed" "embeddings of objects"
    FUSEDPREPROC "fusedpreproc" "frame to input tensor"
    GPUNMS "gpunms" "detections from output tensors"
    IDENTIFY "identify" "objects that are known again"
    INFEROVERLAY "inferoverlay" "results drawn on frames"
    INFERPUBLISH "inferpublish" "records of results"
    PEAKFIND "peakfind" "points from the outputs of pose models"
    SEGMASK "segmask" "masks from a network's logits"
    TENSORMAP "tensormap" "maps of numbers from a network"
    TRACKER "tracker" "identities of objects"
    TRTINFER "trtinfer" "ONNX Runtime inference"
    ZONECOUNT "zonecount" "objects counted by zones"
}
