//! Memory that may be refused.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::seam::{Answer, Seam, answer};

/// Bytes from which on an allocation is looked at.
const LARGE: usize = 16 << 10;

/// Whether large allocations are looked at, which takes some milliseconds each.
static LOOKED_AT: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread looks at an allocation, which allocates.
    static LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, which refuses what it is made to. What is asked for by `try_reserve` alone counts, by the functions on the
/// stack: without any other the process would end. A test's program has it as its `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

/// Has large allocations looked at from now on, or none.
pub(crate) fn look(at_large: bool) {
    LOOKED_AT.store(at_large, SeqCst);
}

/// Whether an allocation of this size is refused.
fn is_refused(bytes: usize) -> bool {
    // Who panics prints the stack, and holds the lock for that.
    if bytes < LARGE || !LOOKED_AT.load(SeqCst) || std::thread::panicking() {
        return false;
    }
    if !LOOKING.try_with(|looking| !looking.replace(true)).unwrap_or(false) {
        return false;
    }
    let stack = Backtrace::force_capture().to_string();
    let refused =
        stack.contains("try_reserve") && answer(Seam::Memory, || format!("{bytes} bytes")) != Answer::Real;
    LOOKING.with(|looking| looking.set(false));
    refused
}

// SAFETY: all memory is the system allocator's.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above. Nobody can refuse what is asked for in this way.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory is the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_refused(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
