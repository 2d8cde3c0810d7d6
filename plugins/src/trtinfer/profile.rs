//! What decides about workers, threads and frames in flight where the user has not set them.

use gst::glib;

/// What matters most: how soon a frame is through, or how many frames a second are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferProfile")]
pub enum Profile {
    /// As many frames a second as possible.
    #[default]
    #[enum_value(
        name = "Most frames a second: on the CPU one worker per core, at most 4, which share the cores",
        nick = "throughput"
    )]
    Throughput,
    /// Two frames at a time.
    #[enum_value(
        name = "On the CPU one worker for two cores, at most 2, which share the cores",
        nick = "balanced"
    )]
    Balanced,
    /// A frame is through as soon as possible, and waits for no other.
    #[enum_value(
        name = "Each frame as soon as possible: one worker on the CPU with all cores, one batch in flight",
        nick = "latency"
    )]
    Latency,
}

impl Profile {
    /// How many batches are inferred in parallel on the CPU with this many cores for each thread of a run, where `workers` is 0.
    /// More than four sessions cost more memory than they bring speed.
    pub(super) fn workers(self, cores: usize) -> usize {
        match self {
            Self::Throughput => cores.clamp(1, 4),
            Self::Balanced => (cores / 2).clamp(1, 2),
            Self::Latency => 1,
        }
    }

    /// How many frames of batches of this size are in flight at most, where `max-in-flight` is 0; `None` for what keeps the model busy.
    pub(super) fn in_flight(self, batch: usize) -> Option<usize> {
        (self == Self::Latency).then_some(batch.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;

    #[test]
    fn workers_share_the_cores() {
        let workers = |profile: Profile| [1, 2, 3, 4, 16].map(|cores| profile.workers(cores));
        assert_eq!(workers(Profile::Throughput), [1, 2, 3, 4, 4]);
        assert_eq!(workers(Profile::Balanced), [1, 1, 1, 2, 2]);
        assert_eq!(workers(Profile::Latency), [1; 5]);
    }

    #[test]
    fn only_latency_holds_back_frames_that_would_wait_for_others() {
        assert_eq!(Profile::Latency.in_flight(1), Some(1));
        assert_eq!(Profile::Latency.in_flight(8), Some(8));
        assert_eq!(Profile::Throughput.in_flight(1), None);
        assert_eq!(Profile::Balanced.in_flight(8), None);
    }
}
