//! `/v1/streams`: list, add, change, remove, restart.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::answer::{Body, Refused};
use super::pipelines::MODEL_LIMIT;
use super::shared::{Control, ControlState, blocking, blocking_for};
use crate::config::{SourceConfig, read_json};
use crate::fleet::{Fleet, Refusal};
use crate::output::webrtc::LiveVideo;
use crate::stream::StreamStatus;

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let status = match &refusal {
            Refusal::NotFound(_) => StatusCode::NOT_FOUND,
            Refusal::Exists(_) | Refusal::Conflict(_) => StatusCode::CONFLICT,
            Refusal::Invalid(_) => StatusCode::BAD_REQUEST,
            Refusal::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, refusal.to_string())
    }
}

/// Calls the fleet in a thread of its own.
///
/// # Errors
/// The fleet refuses it, or it takes too long.
pub async fn ask<T: Send + 'static>(
    control: &Arc<Control>,
    work: impl FnOnce(&Fleet) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refused> {
    let fleet = control.fleet.clone();
    Ok(blocking(move || work(&fleet)).await??)
}

/// The state of all streams.
///
/// # Errors
/// It takes too long.
pub async fn all(control: &Arc<Control>) -> Result<Vec<StreamStatus>, Refused> {
    let fleet = control.fleet.clone();
    blocking(move || fleet.status().streams).await
}

/// The state of one stream.
///
/// # Errors
/// There is none of that name.
pub fn known(control: &Control, name: &str) -> Result<StreamStatus, Refused> {
    control.fleet.stream(name).ok_or_else(|| absent(name))
}

/// The answer if a stream has no frame that could be shown.
pub fn no_frame(name: &str) -> Refused {
    Refused::new(
        StatusCode::SERVICE_UNAVAILABLE,
        format!("the stream '{name}' has no frame yet: GET /v1/streams/{name} says what it waits for"),
    )
}

/// The answer if there is no such stream.
pub fn absent(name: &str) -> Refused {
    Refused::new(
        StatusCode::NOT_FOUND,
        format!("there is no stream '{name:.128}': GET /v1/streams lists them"),
    )
}

/// Whether live video is possible here, so that a page does not ask for it in vain.
fn live_video(video: &LiveVideo) -> Value {
    match video.encoders() {
        Ok(encoders) => json!({ "encoders": encoders }),
        Err(missing) => json!({ "missing": missing }),
    }
}

pub async fn list(State(control): ControlState) -> Result<Json<Value>, Refused> {
    let streams = all(&control).await?;
    Ok(Json(json!({ "streams": streams, "webrtc": live_video(&control.video) })))
}

pub async fn one(
    State(control): ControlState,
    Path(name): Path<String>,
) -> Result<Json<StreamStatus>, Refused> {
    Ok(Json(known(&control, &name)?))
}

pub async fn add(
    State(control): ControlState,
    Body(body): Body<Value>,
) -> Result<impl IntoResponse, Refused> {
    let source: SourceConfig = read_json(body).map_err(|e| Refused::new(StatusCode::BAD_REQUEST, e))?;
    let place = format!("/v1/streams/{}", source.name);
    let fleet = control.fleet.clone();
    // The source may choose a model, which is loaded first.
    let added = blocking_for(MODEL_LIMIT, move || fleet.add(source)).await??;
    let kept = control.fleet.keeps();
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(json!({ "kept": kept, "stream": added }))))
}

pub async fn change(
    State(control): ControlState,
    Path(name): Path<String>,
    Body(patch): Body<Value>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(changed(&control, name, patch).await?))
}

/// Changes a stream by a merge patch. Returns the answer: how the change took effect, and the stream's state.
///
/// # Errors
/// The fleet refuses it.
pub async fn changed(control: &Arc<Control>, name: String, patch: Value) -> Result<Value, Refused> {
    let fleet = control.fleet.clone();
    let change = blocking_for(MODEL_LIMIT, move || fleet.change(&name, &patch)).await??;
    Ok(json!({ "applied": change.applied, "kept": control.fleet.keeps(), "stream": change.stream }))
}

pub async fn remove(
    State(control): ControlState,
    Path(name): Path<String>,
) -> Result<impl IntoResponse, Refused> {
    ask(&control, move |fleet| fleet.remove(&name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn restart(
    State(control): ControlState,
    Path(name): Path<String>,
) -> Result<impl IntoResponse, Refused> {
    Ok(Json(ask(&control, move |fleet| fleet.restart(&name)).await?))
}
