//! The thread in which an asynchronous client works.

use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::contract::{Failure, TIMEOUT, timed_out};

/// A runtime with one thread, which goes on while nobody waits for it: clients keep their connection alive in it. It ends without
/// being waited for.
pub(super) struct OwnRuntime {
    handle: Handle,
    /// The thread ends when this does.
    _end: oneshot::Sender<()>,
}

impl OwnRuntime {
    /// The thread is ours: where there is none, tokio's own would panic.
    pub fn start() -> Result<Self, Failure> {
        let lost = |e: std::io::Error| Failure::Lost(format!("there is no thread for its client: {e}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(lost)?;
        let (handle, (end, ended)) = (runtime.handle().clone(), oneshot::channel::<()>());
        let work = move || {
            // An error, as nothing is ever sent.
            let _ = runtime.block_on(ended);
            runtime.shutdown_background();
        };
        std::thread::Builder::new().name("publish-client".to_owned()).spawn(work).map_err(lost)?;
        Ok(Self { handle, _end: end })
    }

    /// Waits for a future, for [`TIMEOUT`] at most.
    pub fn wait<T>(&self, future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        self.wait_for(TIMEOUT, future)
    }

    fn wait_for<T>(
        &self,
        most: Duration,
        future: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.handle
            .block_on(async { tokio::time::timeout(most, future).await.unwrap_or_else(|_| Err(timed_out())) })
    }
}
