//! The thread in which an asynchronous client works.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::contract::{Failure, TIMEOUT, timed_out};

/// A runtime with one thread, which goes on while nobody waits for it: clients keep their connection alive in it. It ends without
/// being waited for.
pub(super) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub fn start() -> Result<Self, Failure> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("publish-client").enable_all().build();
        runtime.map(|runtime| Self(Some(runtime))).map_err(|e| Failure::Lost(e.to_string()))
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
        let Some(runtime) = &self.0 else { return Err(timed_out()) };
        runtime
            .block_on(async { tokio::time::timeout(most, future).await.unwrap_or_else(|_| Err(timed_out())) })
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
