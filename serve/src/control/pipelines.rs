//! `/v1/pipelines`: the pipelines that streams run, and another model for one of them. `/v1/models`: which models there are.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Body, Refused};
use super::shared::{ControlState, blocking, blocking_for};
use crate::config::read_json;
use crate::fleet::Models;

/// How long a model may take to be loaded and warmed up: a little longer than the fleet waits.
pub const MODEL_LIMIT: Duration = Duration::from_secs(1860);

/// The body of `PUT /v1/pipelines/{name}/model`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRequest {
    model: String,
}

pub async fn list(State(control): ControlState) -> Result<Json<Value>, Refused> {
    let fleet = control.fleet.clone();
    let pipelines = blocking(move || fleet.pipelines()).await?;
    Ok(Json(json!({ "pipelines": pipelines })))
}

pub async fn models(State(control): ControlState) -> Result<Json<Models>, Refused> {
    let fleet = control.fleet.clone();
    Ok(Json(blocking(move || fleet.models()).await?))
}

pub async fn model(
    State(control): ControlState,
    Path(name): Path<String>,
    Body(body): Body<Value>,
) -> Result<impl IntoResponse, Refused> {
    let ModelRequest { model } = read_json(body).map_err(|e| Refused::new(StatusCode::BAD_REQUEST, e))?;
    let fleet = control.fleet.clone();
    let change = blocking_for(MODEL_LIMIT, move || fleet.set_model(&name, &model)).await??;
    Ok(Json(change))
}
