//! `/v1/streams/{name}/whep`: live video by WebRTC (WHEP, draft-ietf-wish-whep, which is RFC 9725 for clients that receive).
//!
//! The answer has all addresses of the service, so clients need not send theirs later: there is no PATCH.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::answer::{Query, Refused};
use super::shared::{Control, ControlState, blocking};
use super::streams::{known, no_frame};
use crate::output::Drawn;
use crate::output::webrtc::{Ended, LiveVideoError, OfferError, Opened};

/// How often it is looked whether a client is still there.
const LOOK: Duration = Duration::from_secs(1);

const SDP: &str = "application/sdp";

/// The query.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// Whether results are drawn; true if not given.
    overlay: Option<bool>,
    /// Whether zones are drawn with them; true if not given.
    zones: Option<bool>,
}

impl From<LiveVideoError> for Refused {
    fn from(error: LiveVideoError) -> Self {
        let (status, sentence) = match error {
            LiveVideoError::Missing(sentence) => (StatusCode::NOT_IMPLEMENTED, sentence),
            LiveVideoError::Offer(OfferError::Malformed(sentence)) => (StatusCode::BAD_REQUEST, sentence),
            LiveVideoError::Offer(OfferError::NoCodec(sentence)) => (StatusCode::NOT_ACCEPTABLE, sentence),
            LiveVideoError::NoFrame(stream) => return no_frame(&stream),
            LiveVideoError::Busy(sentence) => (StatusCode::SERVICE_UNAVAILABLE, sentence),
            LiveVideoError::Failed(sentence) => (StatusCode::INTERNAL_SERVER_ERROR, sentence),
        };
        Self::new(status, sentence)
    }
}

pub async fn open(
    State(control): ControlState,
    Path(name): Path<String>,
    Query(look): Query<Look>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(SDP) {
        let sentence = format!("expected the offer of an RTCPeerConnection: set Content-Type: {SDP}");
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, sentence));
    }
    let offer = String::from_utf8(body.into())
        .map_err(|_| Refused::new(StatusCode::BAD_REQUEST, "the body is no SDP: it is no text"))?;
    known(&control, &name)?;
    let runtime = tokio::runtime::Handle::current();
    let opening = move || {
        let opened = opened(&control, &name, &look, &offer)?;
        // Here, so that also a client is looked after that has not waited for its answer.
        runtime.spawn(look_after(control, opened.id.clone()));
        Ok::<_, LiveVideoError>(opened)
    };
    let Opened { id, answer } = blocking(opening).await??;
    let place = format!("whep/{id}");
    // Relative, so that it is right for whom a proxy has the service under another path.
    Ok((StatusCode::CREATED, [(CONTENT_TYPE, SDP.to_owned()), (LOCATION, place)], answer).into_response())
}

fn opened(control: &Arc<Control>, stream: &str, look: &Look, offer: &str) -> Result<Opened, LiveVideoError> {
    let drawn = Drawn::asked(look.overlay, look.zones).unless(control.fleet.draws(stream));
    let outputs = control.fleet.outputs(stream);
    let outputs =
        outputs.ok_or_else(|| LiveVideoError::Busy(format!("stream '{stream}' has not been started yet")))?;
    let (fleet, of) = (control.fleet.clone(), stream.to_owned());
    control.video.open(stream, &outputs, drawn, Box::new(move || fleet.last_sample(&of)), offer)
}

pub async fn close(
    State(control): ControlState,
    Path((name, id)): Path<(String, String)>,
) -> Result<StatusCode, Refused> {
    known(&control, &name)?;
    let ended = control.video.close(&name, &id).ok_or_else(|| {
        Refused::new(
            StatusCode::NOT_FOUND,
            "there is no such session: it may have ended because its client was gone",
        )
    })?;
    end(ended).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a client whose connection fails, or whose stream is gone.
async fn look_after(control: Arc<Control>, id: String) {
    while control.video.has(&id) {
        tokio::time::sleep(LOOK).await;
        if let Some(ended) = control.video.take_over(&id) {
            end(ended).await;
        }
    }
}

/// Stopping a pipeline takes time, which the thread that answers requests does not have.
async fn end(ended: Ended) {
    let _ = tokio::task::spawn_blocking(move || drop(ended)).await;
}
