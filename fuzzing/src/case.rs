//! One case: its time and its memory.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::{Target, memory};

/// What a reader may allocate, however little it reads: buffers (that for checksums of files has 256 KB), errors, and vectors that grow by
/// doubling.
const ALLOWANCE: usize = 512 * 1024;
/// The longest that a case may compute. That is no time of a clock on the wall, which a busy machine would lengthen.
const LONGEST: Duration = Duration::from_secs(1);

/// A reader, with the most that a case has taken so far.
pub struct Case<R> {
    target: Target,
    read: R,
    slowest: Duration,
    largest: usize,
}

impl<R: FnMut(&[u8])> Case<R> {
    pub fn new(target: Target, read: R) -> Self {
        Self { target, read, slowest: Duration::ZERO, largest: 0 }
    }

    pub fn name(&self) -> &'static str {
        self.target.name
    }

    /// Has the case read.
    pub fn run(&mut self, bytes: &[u8]) {
        let begin = cpu_time();
        let most = memory::most_while(|| (self.read)(bytes));
        let took = cpu_time().saturating_sub(begin);
        let allowed = ALLOWANCE + self.target.ratio * bytes.len();
        assert!(
            most <= allowed,
            "{} allocated {most} bytes for {} bytes, and {allowed} are allowed",
            self.target.name,
            bytes.len()
        );
        // Without optimisation and with a debugger or a sanitizer, cargo test is no place to judge times.
        assert!(
            took <= LONGEST || cfg!(not(feature = "coverage")),
            "{} computed {took:?} for {} bytes",
            self.target.name,
            bytes.len()
        );
        self.report(bytes.len(), took, most);
    }

    /// scripts/fuzz shows the last line that a target has written.
    fn report(&mut self, length: usize, took: Duration, most: usize) {
        if took <= self.slowest && most <= self.largest {
            return;
        }
        self.slowest = self.slowest.max(took);
        self.largest = self.largest.max(most);
        if cfg!(feature = "coverage") {
            eprintln!(
                "MOST: {:.1} ms, {} KB (this case has {length} bytes)",
                self.slowest.as_secs_f64() * 1e3,
                self.largest / 1024
            );
        }
    }
}

/// What this thread has computed.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = Duration::from_secs(time.tv_sec.try_into().unwrap_or_default());
    seconds + Duration::from_nanos(time.tv_nsec.try_into().unwrap_or_default())
}
