//! `GET /v1/streams/{name}/snapshot.jpg`: the stream's last frame, encoded for each request.

use std::ops::RangeInclusive;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::answer::{Query, Refused};
use super::shared::{Control, ControlState, blocking};
use super::streams::{known, no_frame};
use crate::output::{WIDTHS, jpeg};

/// The query.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// Width of the picture in pixels; that of the frame if not given.
    width: Option<u32>,
    /// Whether results are drawn; true if not given.
    overlay: Option<bool>,
}

/// Refuses a width of a picture that is not within these.
pub(super) fn check_width(width: u32, widths: &RangeInclusive<u32>) -> Result<(), Refused> {
    let sentence =
        || format!("width={width} is out of range: expected {} to {}", widths.start(), widths.end());
    widths.contains(&width).then_some(()).ok_or_else(|| Refused::new(StatusCode::BAD_REQUEST, sentence()))
}

pub async fn snapshot(
    State(control): ControlState,
    Path(name): Path<String>,
    Query(look): Query<Look>,
) -> Result<Response, Refused> {
    look.width.map_or(Ok(()), |width| check_width(width, &WIDTHS))?;
    known(&control, &name)?;
    let bug = |_| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "no picture can be made any more");
    let _turn = control.pictures.acquire().await.map_err(bug)?;
    let of = Arc::clone(&control);
    let overlay = look.overlay.unwrap_or(true);
    let stream = name.clone();
    let made = blocking(move || picture(&of, &stream, look.width, overlay)).await?;
    match made {
        None => Err(no_frame(&name)),
        Some(Err(sentence)) => Err(Refused::new(StatusCode::INTERNAL_SERVER_ERROR, sentence)),
        Some(Ok(bytes)) => Ok(([(CONTENT_TYPE, "image/jpeg")], bytes).into_response()),
    }
}

/// The picture; none if there is no frame.
fn picture(
    control: &Control,
    name: &str,
    width: Option<u32>,
    overlay: bool,
) -> Option<Result<Vec<u8>, String>> {
    let sample = control.fleet.last_sample(name)?;
    Some(jpeg(&sample, width, overlay))
}
