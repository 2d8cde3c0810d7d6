//! An allocator that counts what each thread has, for the programs of tests that have targets. Threads count alone, because tests run
//! side by side.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Nothing that is fuzzed needs as much at once. A reader that asks for it gets nothing, which ends the process with a message that
/// libFuzzer takes for a finding, while Linux would grant it and end something else later.
const REFUSED: usize = 1 << 30;

thread_local! {
    /// Bytes that this thread has allocated, without those that it has released. What one thread allocates and another one
    /// releases makes it negative there.
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// The most bytes that this thread had at once while a function ran, beyond those that it had before.
pub fn most_while(run: impl FnOnce()) -> usize {
    let before = NOW.get();
    MOST.set(before);
    run();
    MOST.get().saturating_sub(before).try_into().unwrap_or_default()
}

fn count(allocated: usize, released: usize) {
    // No layout is larger than isize::MAX.
    let change = allocated.cast_signed().wrapping_sub(released.cast_signed());
    // A thread that ends has no more such variables, and goes on without being counted.
    let _ = NOW.try_with(|now| {
        now.set(now.get().wrapping_add(change));
        MOST.try_with(|most| most.set(most.get().max(now.get())))
    });
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all memory is the system's allocator's, which gets the same layouts; counting allocates nothing and does not unwind, and
// a null pointer is how an allocator refuses.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= REFUSED {
            return ptr::null_mut();
        }
        count(layout.size(), 0);
        // SAFETY: the caller keeps this function's contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= REFUSED {
            return ptr::null_mut();
        }
        count(layout.size(), 0);
        // SAFETY: as in alloc.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as in alloc.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size >= REFUSED {
            return ptr::null_mut();
        }
        count(size, layout.size());
        // SAFETY: as in alloc.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_a_thread_has_at_once_is_counted_and_not_what_it_had_before_or_others_have() {
        let before = vec![0_u8; 1 << 20];
        let most = most_while(|| {
            drop(vec![1_u8; 5000]);
            drop(vec![1_u8; 70_000]);
            std::thread::spawn(|| drop(vec![1_u8; 1 << 22])).join().unwrap();
            drop(vec![1_u8; 6000]);
        });
        drop(before);
        assert!((70_000..80_000).contains(&most), "{most}");
    }
}
