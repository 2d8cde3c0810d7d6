//! `GET /v1/configuration.toml`: pipelines and sources as they are now, as a configuration file has them.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;

use super::answer::Refused;
use super::shared::{ControlState, blocking};

pub async fn configuration(State(control): ControlState) -> Result<impl IntoResponse, Refused> {
    let fleet = control.fleet.clone();
    let text = blocking(move || fleet.configuration()).await?;
    let text = text.map_err(|sentence| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, sentence))?;
    let headers = [
        (CONTENT_TYPE, "application/toml"),
        (CONTENT_DISPOSITION, "attachment; filename=\"cudainfer-serve.toml\""),
    ];
    Ok((headers, text))
}
