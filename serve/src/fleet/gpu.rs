//! When faults on the GPU end the process.

use std::time::Instant;

/// After this many faults in a row, with streams started again after each, the context is lost for good.
const MOST: u32 = 3;

/// The faults so far.
#[derive(Debug, Default)]
pub(super) struct Faults {
    in_a_row: u32,
    last: Option<Instant>,
}

/// What a fault leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultEffect {
    /// It belongs to a fault that was handled already.
    Known,
    /// The streams of the instances must be started again.
    Restart,
    /// Nothing in this process can use the GPU any more.
    Exit,
}

impl Faults {
    /// Handles a fault in a pipeline that was started at `started`.
    pub fn fault(&mut self, started: Instant, now: Instant) -> FaultEffect {
        // Pipelines that were started before the last fault have that same fault.
        if self.last.is_some_and(|last| started <= last) {
            return FaultEffect::Known;
        }
        self.last = Some(now);
        self.in_a_row += 1;
        if self.in_a_row >= MOST { FaultEffect::Exit } else { FaultEffect::Restart }
    }

    /// Notes that a pipeline that was started at `started` has had frames for the time that makes a start a success.
    pub fn steady(&mut self, started: Instant) {
        if self.last.is_some_and(|last| started > last) {
            self.in_a_row = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn faults_after_restarts_end_the_process_and_those_of_one_fault_count_once() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut faults = Faults::default();
        assert_eq!(faults.fault(at(0), at(10)), FaultEffect::Restart);
        assert_eq!(faults.fault(at(1), at(10)), FaultEffect::Known);
        faults.steady(at(1));
        assert_eq!(faults.fault(at(11), at(12)), FaultEffect::Restart, "an earlier pipeline proves nothing");
        faults.steady(at(13));
        assert_eq!(faults.fault(at(13), at(100)), FaultEffect::Restart);
        assert_eq!(faults.fault(at(101), at(102)), FaultEffect::Restart);
        assert_eq!(faults.fault(at(103), at(104)), FaultEffect::Exit);
    }
}
