//! What the handlers of requests share, and how they do blocking work.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use tokio::sync::Semaphore;

use super::access::Access;
use super::answer::Refused;
use super::live_pictures::LivePictures;
use crate::fleet::Fleet;
use crate::onvif::Found;
use crate::output::webrtc::LiveVideo;

/// How long the answer to a request may take, unless its handler has a limit of its own.
const LIMIT: Duration = Duration::from_secs(30);

/// What the handlers of requests share.
pub struct Control {
    /// The streams.
    pub fleet: Fleet,
    /// How requests are checked.
    pub access: Access,
    /// How many pictures may be made at a time.
    pub pictures: Semaphore,
    /// Pictures that are asked for again and again.
    pub live: LivePictures,
    /// Video by WebRTC.
    pub video: LiveVideo,
    /// How many sources may be tried at a time. A trial that hangs keeps its turn.
    pub trials: Arc<Semaphore>,
    /// Where probes for cameras are sent.
    pub discovery: Vec<SocketAddr>,
    /// Held by the request that looks for cameras.
    pub discovering: Arc<Semaphore>,
    /// The cameras that may be asked for their streams.
    pub found: Found,
}

/// The argument of handlers.
pub type ControlState = State<Arc<Control>>;

/// Runs blocking work in a thread of its own, for as long as a request may take.
///
/// # Errors
/// The work takes longer, or panics, which is a bug.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refused> {
    blocking_for(LIMIT, work).await
}

/// The same with another limit.
///
/// # Errors
/// As [`blocking`].
pub async fn blocking_for<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    match tokio::time::timeout(limit, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(_)) => Err(Refused::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this is a bug of cudainfer-serve: please report it",
        )),
        Err(_) => Err(Refused::new(
            StatusCode::GATEWAY_TIMEOUT,
            format!(
                "it is still under way after {} s: GET /v1/streams says what came of it",
                limit.as_secs()
            ),
        )),
    }
}
