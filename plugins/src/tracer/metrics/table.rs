//! The table of metrics.

/// The kinds of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows, until the process ends.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How often a value lay between which bounds.
    Histogram,
}

/// A metric.
#[derive(Debug)]
pub struct Metric {
    /// Prometheus' name for it.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// Its meaning, in a sentence.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($id:ident = $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub(super) static $id: Metric = Metric { name: $name, kind: MetricKind::$kind, labels: &[$($label),*], help: $help };)*

        /// All metrics, in the order in which they are shown.
        pub static ALL: &[&Metric] = &[$(&$id),*];
    };
}

metrics! {
    BUILD = Gauge "cudainfer_build_info" ["version"] "1, with the version of cudainfer as its label.";
    STREAMS = Gauge "cudainfer_streams" ["pipeline", "state"]
        "Streams that are live, or that have ended (by EOS) in a pipeline that was not stopped since.";
    FRAMES = Counter "cudainfer_frames_total" ["pipeline", "element", "stream"]
        "Buffers that the element has handled: video frames, downstream of a decoder.";
    FRAMES_DROPPED = Counter "cudainfer_frames_dropped_total" ["pipeline", "element", "stream", "reason"]
        "Frames that the element has dropped: leaky (trtinfer, because of its property leaky), late (for the clock; sinks, decoders), failed (cudainferupload and cudainferdownload could not copy them; without a stream).";
    PROCESSING = Histogram "cudainfer_processing_seconds" ["pipeline", "element", "stream"]
        "Time by the clock in the element's chain function for a buffer or a list of them, waiting included, the elements downstream not.";
    LATENCY = Histogram "cudainfer_latency_seconds" ["pipeline", "element", "stream"]
        "Time of a frame from the first element after the source or the demuxer to a sink, or to the muxer or compositor where its stream ends.";
    OBJECTS = Counter "cudainfer_objects_total" ["pipeline", "element", "stream", "class"]
        "Objects on the frames that left gpunms or peakfind, by class; of more than 100 classes the others are (other).";
    TRACKS = Gauge "cudainfer_tracks" ["pipeline", "element", "stream"]
        "Objects with an identity on the last frame that left tracker.";
    BATCH_SIZE = Histogram "cudainfer_batch_size" ["pipeline", "element", "model_instance"]
        "Frames in the runs of the model that had a frame of this trtinfer.";
    QUEUE = Histogram "cudainfer_queue_seconds" ["pipeline", "element", "model_instance"]
        "Time that frames waited in trtinfer until their batch was taken.";
    RUN = Histogram "cudainfer_run_seconds" ["pipeline", "element", "model_instance"]
        "Time of the runs of the model that had a frame of this trtinfer; on a GPU the time to enqueue them.";
    BATCH_LIMIT = Gauge "cudainfer_batch_limit" ["pipeline", "element"]
        "Frames of a batch at most, less than batch-size while memory is short.";
    STEP_DOWNS = Counter "cudainfer_batch_step_downs_total" ["pipeline", "element"]
        "Times that batches were made smaller because memory was short.";
    BUSY = Counter "cudainfer_busy_seconds_total" ["pipeline", "element"]
        "Time in ONNX Runtime for the frames of this trtinfer.";
    HOST = Counter "cudainfer_host_seconds_total" ["pipeline", "element"]
        "Time by the clock in the element's threads, waiting included.";
    GPU = Counter "cudainfer_gpu_seconds_total" ["pipeline", "element"]
        "Time on the GPU of the frames that were sampled.";
    GPU_SAMPLES = Counter "cudainfer_gpu_samples_total" ["pipeline", "element"]
        "Frames whose time on the GPU was taken.";
    LAUNCHES = Counter "cudainfer_launches_total" ["pipeline", "element"]
        "Kernels and CUDA graphs that were launched.";
    COPIED = Counter "cudainfer_copied_bytes_total" ["pipeline", "element", "direction"]
        "Bytes copied: host-to-device, device-to-host or device-to-device.";
    HOST_WAITS = Counter "cudainfer_host_waits_total" ["pipeline", "element"]
        "Times that a thread waited for the GPU.";
    ALLOCATIONS = Counter "cudainfer_allocations_total" ["pipeline", "element"]
        "Allocations of device memory and pinned memory.";
    FALLBACKS = Counter "cudainfer_fallbacks_total" ["pipeline", "element"]
        "Times that a slower way was taken than possible.";
    DEVICE_HELD = Gauge "cudainfer_device_bytes" ["pipeline", "element"]
        "GPU memory that the element holds now; trtinfers that share an instance have a share each of its model's.";
    DEVICE_USED = Gauge "cudainfer_device_memory_used_bytes" ["pipeline", "element"]
        "Memory that is in use on the GPU of this trtinfer, by whomever.";
    DEVICE_SIZE = Gauge "cudainfer_device_memory_size_bytes" ["pipeline", "element"]
        "Memory that the GPU of this trtinfer has.";
    RECORDS = Counter "cudainfer_records_total" ["pipeline", "element"]
        "Records that inferpublish's destination has accepted.";
    RECORDS_DROPPED = Counter "cudainfer_records_dropped_total" ["pipeline", "element", "reason"]
        "Records that inferpublish has lost: queue-full, or failed to be written.";
    STATS = Gauge "cudainfer_stats" ["pipeline", "element", "field"]
        "Every other field of the element's property stats.";
    CPU = Counter "process_cpu_seconds_total" []
        "CPU time of the process, of all threads, by the user and the system.";
    RESIDENT = Gauge "process_resident_memory_bytes" []
        "Memory of the process that is in RAM.";
}
