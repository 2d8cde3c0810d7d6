//! `GET /v1/counts`: what the zones of all streams have counted.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::answer::Refused;
use super::shared::{ControlState, blocking};

pub async fn counts(State(control): ControlState) -> Result<Json<Value>, Refused> {
    let fleet = control.fleet.clone();
    let streams = blocking(move || fleet.counts()).await?;
    Ok(Json(json!({ "streams": streams })))
}
