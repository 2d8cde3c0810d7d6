//! The process's use of the machine.

use rustix::param::page_size;
use rustix::time::{ClockId, clock_gettime};

use super::families::Families;
use super::table::{CPU, RESIDENT};

/// Adds it.
pub(super) fn gather(families: &mut Families) {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    families.set(&CPU, &[], spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9);
    if let Some(resident) = resident() {
        families.set(&RESIDENT, &[], resident);
    }
}

/// Bytes in RAM; see statm in proc(5).
fn resident() -> Option<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size() as f64)
}
