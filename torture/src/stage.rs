//! The thread on which everything runs that is made to fail.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::system_calls;

type Work = Box<dyn FnOnce() + Send>;

/// A thread whose calls of the system, and those of all that it starts, are answered by another one. There is one in a process, because
/// what GStreamer and other libraries start once is started there.
pub(crate) struct Stage(Mutex<Sender<Work>>);

impl Stage {
    /// The one of this process, which begins with the first call.
    ///
    /// # Errors
    /// The kernel, or the container, has no such filter.
    pub fn get() -> Result<&'static Self, String> {
        static STAGE: OnceLock<Result<Stage, String>> = OnceLock::new();
        STAGE.get_or_init(Self::start).as_ref().map_err(Clone::clone)
    }

    fn start() -> Result<Self, String> {
        let ((listens, listener), (work, todo)) = (channel(), channel::<Work>());
        std::thread::Builder::new()
            .name("stage".to_owned())
            .spawn(move || {
                let filter = system_calls::install_filter();
                let installed = filter.is_ok();
                if listens.send(filter).is_ok() && installed {
                    todo.iter().for_each(|work| work());
                }
            })
            .map_err(|e| e.to_string())?;
        let listener = listener.recv().map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
        std::thread::Builder::new()
            .name("supervisor".to_owned())
            .spawn(move || system_calls::supervise(&listener))
            .map_err(|e| e.to_string())?;
        Ok(Self(Mutex::new(work)))
    }

    /// Has work done there. Nothing, if that takes longer than `limit`: it goes on then, and nothing else can be done there.
    ///
    /// # Panics
    /// The work has.
    pub fn perform<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, result) = channel();
        let work = move || {
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).send(Box::new(work)).ok()?;
        match result.recv_timeout(limit) {
            Ok(Ok(result)) => Some(result),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}
