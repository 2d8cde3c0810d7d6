//! Work for as many threads as there are processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::GpuError;

/// As many threads as there are processors, but at most this many.
pub(super) fn processors(most: usize) -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(most)
}

/// What `work` makes of each item, or its error; of one whose thread has panicked, that. `count` threads of this name take one item after another;
/// each has what `begin` gives it, all of which lives until all threads are done. Where no thread can be started, this one does the work.
pub(super) fn side_by_side<T: Sync, S: Send, R: Send>(
    name: &str,
    count: usize,
    items: &[T],
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> Result<R, GpuError> + Sync,
) -> Vec<Result<R, GpuError>> {
    let next = AtomicUsize::new(0);
    let made: Vec<_> = items.iter().map(|item| (item, Mutex::new(None))).collect();
    let run = || {
        let mut own = begin();
        while let Some((item, place)) = made.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(&mut own, item);
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
        own
    };
    let _owned: Vec<S> = thread::scope(|scope| {
        let start = |_| thread::Builder::new().name(name.into()).spawn_scoped(scope, run).ok();
        let threads: Vec<_> = (0..count.min(items.len())).map_while(start).collect();
        if threads.is_empty() && !items.is_empty() {
            return vec![run()];
        }
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let ended = || Err(GpuError::Compile("a thread that compiled has ended".into()));
    let result = |place: Mutex<Option<_>>| place.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.into_iter().map(|(_, place)| result(place).unwrap_or_else(ended)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_and_what_is_made_of_it_is_in_its_place() {
        let begun = AtomicUsize::new(0);
        for (threads, count) in [(1, 5), (4, 100), (8, 3), (0, 4), (4, 0)] {
            let items: Vec<usize> = (0..count).collect();
            let begin = || begun.fetch_add(1, Ordering::Relaxed);
            let made = side_by_side("test", threads, &items, begin, |_, item| Ok(item * 2));
            let made: Vec<usize> = made.into_iter().map(Result::unwrap).collect();
            let expected: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(made, expected, "{threads} threads");
            let begun = begun.swap(0, Ordering::Relaxed);
            assert_eq!(begun, threads.max(1).min(count), "{threads} threads for {count} items");
        }
    }

    #[test]
    fn a_thread_that_panics_takes_its_own_item_with_it() {
        let made = side_by_side(
            "test",
            2,
            &[1, 2, 3],
            || (),
            |(), item| {
                assert_ne!(*item, 2, "this panic is the test's");
                Ok(*item)
            },
        );
        assert!(made[1].as_ref().is_err_and(|e| e.to_string().contains("a thread that compiled has ended")));
        assert_eq!(made.iter().flatten().count(), 2, "{made:?}");
    }
}
