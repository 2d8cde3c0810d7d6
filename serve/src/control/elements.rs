//! `GET /v1/streams/{name}/elements`: how a stream's models are read, and what clients may set while it plays.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::answer::Refused;
use super::shared::{ControlState, blocking};
use super::streams::known;

pub async fn elements(
    State(control): ControlState,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refused> {
    known(&control, &name)?;
    let fleet = control.fleet.clone();
    let elements = blocking(move || fleet.elements(&name)).await?;
    Ok(Json(json!({ "elements": elements })))
}
