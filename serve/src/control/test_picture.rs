//! `POST /v1/test-picture`: the first picture of a source that is no stream yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::Value;

use super::answer::{Body, Refused};
use super::shared::{ControlState, blocking_for};
use crate::config::{Scalar, Uri, read_json};
use crate::output::jpeg;

/// How long the answer may take: longer than a source has for its first frame.
const LIMIT: Duration = Duration::from_secs(25);

/// Width of the picture in pixels.
const WIDTH: u32 = 640;

/// The body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestPictureRequest {
    uri: Uri,
    /// Properties of the source element, as in a source.
    #[serde(default)]
    source: BTreeMap<String, Scalar>,
}

pub async fn test_picture(
    State(control): ControlState,
    Body(body): Body<Value>,
) -> Result<impl IntoResponse, Refused> {
    let TestPictureRequest { uri, source } =
        read_json(body).map_err(|e| Refused::new(StatusCode::BAD_REQUEST, e))?;
    let turn = Arc::clone(&control.trials).try_acquire_owned().map_err(|_| {
        let sentence =
            "two other sources are being tried: try again when they have given a picture or have failed";
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
    })?;
    let fleet = control.fleet.clone();
    let made = blocking_for(LIMIT, move || {
        let _turn = turn;
        let sample = fleet.first_frame(uri, source)?;
        Ok::<_, crate::fleet::Refusal>(jpeg(&sample, Some(WIDTH), false))
    });
    let jpeg = made.await??.map_err(|sentence| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, sentence))?;
    Ok(([(CONTENT_TYPE, "image/jpeg")], jpeg))
}
