//! Whether the process is alive, whether it is ready, and how many streams play.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::answer::Refused;
use super::shared::{ControlState, blocking};
use super::streams::all;
use crate::fleet::FleetStatus;
use crate::stream::StreamStatus;
use crate::stream::supervisor::State as Playing;

/// The answer of a process that is alive.
pub(super) const ALIVE: &str = r#"{"status":"ok"}"#;

/// The process answers.
pub async fn livez() -> impl axum::response::IntoResponse {
    ([(axum::http::header::CONTENT_TYPE, "application/json")], ALIVE)
}

/// Ready: all streams play, or have ended as files do. Without streams, the service is ready to get some.
pub async fn readyz(State(control): ControlState) -> Result<(StatusCode, Json<Value>), Refused> {
    Ok(counted(&all(&control).await?, 1.0))
}

/// Healthy: at least one stream plays, if there are any. One dead camera is no reason to restart all.
pub async fn healthz(State(control): ControlState) -> Result<(StatusCode, Json<Value>), Refused> {
    let streams = all(&control).await?;
    Ok(counted(&streams, f64::MIN_POSITIVE))
}

/// 200 if the part of the streams that play is at least `least`.
fn counted(streams: &[StreamStatus], least: f64) -> (StatusCode, Json<Value>) {
    let well = streams.iter().filter(|s| matches!(s.state, Playing::Playing | Playing::Ended)).count();
    #[expect(clippy::cast_precision_loss, reason = "there are not as many streams")]
    let enough = streams.is_empty() || well as f64 / streams.len() as f64 >= least;
    let (status, word) =
        if enough { (StatusCode::OK, "ok") } else { (StatusCode::SERVICE_UNAVAILABLE, "waiting") };
    (status, Json(json!({ "status": word, "playing": well, "streams": streams.len() })))
}

pub async fn status(State(control): ControlState) -> Result<Json<FleetStatus>, Refused> {
    let fleet = control.fleet.clone();
    Ok(Json(blocking(move || fleet.status()).await?))
}
