//! Libraries that run models at the end of the process. The C library calls the destructors of ONNX Runtime or OpenVINO while other
//! threads still load and run models, which then crash in released memory. So calls into them are counted: before its destructors are called, the calls in
//! progress are waited for, and no other begins.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::inference::InferenceError;
use crate::log::ENGINE as CAT;
use crate::sync::lock;

/// How long the end of the process waits for calls in progress: longer than a model of usual size takes to load.
const PATIENCE: Duration = Duration::from_secs(10);

struct Calls {
    under_way: usize,
    /// No other call may begin.
    ending: bool,
}

static CALLS: Mutex<Calls> = Mutex::new(Calls { under_way: 0, ending: false });
static IDLE: Condvar = Condvar::new();

fn calls() -> MutexGuard<'static, Calls> {
    lock(&CALLS)
}

/// A call into a library that runs models, until it is dropped.
#[derive(Debug)]
pub(super) struct Call(());

/// Begins a call.
///
/// # Errors
/// The process is ending.
pub(super) fn begin() -> Result<Call, InferenceError> {
    let mut calls = calls();
    if calls.ending {
        return Err(InferenceError::Run("the process is ending".into()));
    }
    calls.under_way += 1;
    Ok(Call(()))
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut calls = calls();
        calls.under_way = calls.under_way.saturating_sub(1);
        IDLE.notify_all();
    }
}

/// The number of sessions after which the function is registered again: by then the library has made what it makes when it is
/// first needed.
const MOST: usize = 64;

/// Called when such a library is open, and again after each session that it has made: functions that are registered later
/// are called earlier, and the library registers destructors of its own whenever it needs something for the first time.
pub(super) fn register() {
    static REGISTERED: AtomicUsize = AtomicUsize::new(0);
    if REGISTERED.fetch_add(1, Ordering::Relaxed) >= MOST {
        REGISTERED.store(MOST, Ordering::Relaxed);
        return;
    }
    // SAFETY: the function is there as long as the process: GStreamer never unloads plugins.
    if unsafe { libc::atexit(end) } != 0 {
        gst::warning!(CAT, "the end of the process will not wait for models that load or run then");
    }
}

extern "C" fn end() {
    let mut calls = calls();
    calls.ending = true;
    let idle = IDLE.wait_timeout_while(calls, PATIENCE, |calls| calls.under_way > 0);
    drop(idle);
}
