//! GPU memory that a library allocates by itself: by how much the driver's free memory falls while the library works.

use std::sync::Arc;

use cudainfer_kernels::device::{Context, Counters};

/// The free memory before a piece of work, and what was counted by then. Memory that other programs take meanwhile is attributed
/// to the work.
#[derive(Debug)]
pub(super) struct Before {
    context: Arc<Context>,
    counters: Arc<Counters>,
    marks: Marks,
}

#[derive(Clone, Copy, Debug)]
struct Marks {
    free: u64,
    counted: u64,
}

impl Before {
    /// The state now. None where the driver gives no figure.
    pub fn of(context: &Arc<Context>, counters: &Arc<Counters>) -> Option<Self> {
        let marks = Marks::now(context, counters)?;
        Some(Self { context: Arc::clone(context), counters: Arc::clone(counters), marks })
    }

    /// Bytes that were taken since, besides those that are counted.
    pub fn taken(&self) -> u64 {
        Marks::now(&self.context, &self.counters).map_or(0, |after| self.marks.taken(after))
    }
}

impl Marks {
    fn now(context: &Context, counters: &Counters) -> Option<Self> {
        let (free, _) = context.memory().ok()?;
        Some(Self { free: u64::try_from(free).ok()?, counted: counters.device_bytes() })
    }

    fn taken(self, after: Self) -> u64 {
        let fallen = self.free.saturating_sub(after.free);
        fallen.saturating_sub(after.counted.saturating_sub(self.counted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_not_taken_twice_and_memory_that_others_free_is_not_negative() {
        let at = |free, counted| Marks { free, counted };
        assert_eq!(at(1000, 10).taken(at(400, 110)), 500);
        assert_eq!(at(1000, 10).taken(at(900, 210)), 0, "others have freed some");
        assert_eq!(at(1000, 10).taken(at(1200, 10)), 0);
        assert_eq!(at(1000, 50).taken(at(700, 20)), 300, "less is counted than before");
    }
}
