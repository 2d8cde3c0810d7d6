//! `GET /v1/streams/{name}/live.jpg` and `GET /v1/live`: the newest frames, small, for pages that ask for them again and again.
//!
//! A picture is made only for a request, and other requests for the same picture at that time get the same one. The pipeline that
//! draws, scales and encodes stays while it is asked for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;

use super::answer::{Query, Refused};
use super::live_pictures::{IDLE, Last, Slot, View};
use super::shared::{Control, ControlState, blocking};
use super::snapshot::check_width;
use super::streams::{known, no_frame};
use crate::output::{Drawn, Painter};

/// The widths that a request may have, in pixels. They are rounded up to a multiple of `STEP`, so that pages of several sizes share
/// pictures.
const WIDTHS: std::ops::RangeInclusive<u32> = 16..=1920;
const STEP: u32 = 160;
const DEFAULT_WIDTH: u32 = 320;

/// For how long a picture serves those who ask after it was begun: whatever the number of clients, a stream has at most ten a second
/// of one size.
const SHARED: Duration = Duration::from_millis(100);

/// The most pictures in one answer.
const MOST: usize = 64;

/// The query of one picture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// Width of the picture in pixels.
    width: Option<u32>,
    /// Whether results are drawn; true if not given.
    overlay: Option<bool>,
    /// Whether zones are drawn with them; true if not given.
    zones: Option<bool>,
}

/// The query of several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookAtMany {
    /// The streams, with commas between them, each with `:TAG` after it if the client has its picture.
    pictures: String,
    /// As in [`Look`].
    width: Option<u32>,
    /// As in [`Look`].
    overlay: Option<bool>,
    /// As in [`Look`].
    zones: Option<bool>,
}

/// What is drawn, and the width that streams have in common.
fn asked(width: Option<u32>, overlay: Option<bool>, zones: Option<bool>) -> Result<(u32, Drawn), Refused> {
    let width = width.unwrap_or(DEFAULT_WIDTH);
    check_width(width, &WIDTHS)?;
    Ok((width.next_multiple_of(STEP), Drawn::asked(overlay, zones)))
}

pub async fn live(
    State(control): ControlState,
    Path(name): Path<String>,
    Query(look): Query<Look>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let (width, drawn) = asked(look.width, look.overlay, look.zones)?;
    let client =
        headers.get(IF_NONE_MATCH).and_then(|tag| tag.to_str().ok()).map(|tag| tag.trim_matches('"'));
    let Seen { tag, jpeg } = newest(&control, View { stream: name, width, drawn }, client).await?;
    let mut response = match jpeg {
        None => StatusCode::NOT_MODIFIED.into_response(),
        Some(jpeg) => ([(CONTENT_TYPE, "image/jpeg")], jpeg).into_response(),
    };
    if let Some(tag) = tag.and_then(|tag| format!("\"{tag}\"").parse().ok()) {
        response.headers_mut().insert(ETAG, tag);
    }
    Ok(response)
}

/// Pictures of several streams in one answer: a line of JSON, and after it the pictures in its order.
pub async fn many(State(control): ControlState, Query(look): Query<LookAtMany>) -> Result<Response, Refused> {
    let (width, drawn) = asked(look.width, look.overlay, look.zones)?;
    let pictures: Vec<&str> = look.pictures.split(',').filter(|picture| !picture.is_empty()).collect();
    if pictures.len() > MOST {
        let sentence = format!("{} pictures are asked for: expected {MOST} at most", pictures.len());
        return Err(Refused::new(StatusCode::BAD_REQUEST, sentence));
    }
    let mut making = Vec::new();
    for picture in pictures {
        let (stream, tag) =
            picture.split_once(':').map_or((picture, None), |(stream, tag)| (stream, Some(tag)));
        let (control, stream, tag) = (Arc::clone(&control), stream.to_owned(), tag.map(str::to_owned));
        let view = View { stream: stream.clone(), width, drawn };
        // All at once: a stream whose picture takes long holds up no other one's.
        making.push((stream, tokio::spawn(async move { newest(&control, view, tag.as_deref()).await })));
    }
    let (mut list, mut body) = (Vec::new(), Vec::new());
    for (stream, made) in making {
        let bug = |_| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "no picture was made");
        list.push(match made.await.map_err(bug).flatten() {
            Ok(Seen { tag, jpeg: None }) => json!({ "stream": stream, "tag": tag }),
            Ok(Seen { tag, jpeg: Some(jpeg) }) => {
                body.extend_from_slice(&jpeg);
                json!({ "stream": stream, "tag": tag, "size": jpeg.len() })
            }
            Err(refused) => {
                json!({ "stream": stream, "status": refused.status.as_u16(), "error": refused.sentence })
            }
        });
    }
    let mut whole = Value::Array(list).to_string().into_bytes();
    whole.push(b'\n');
    whole.append(&mut body);
    Ok(([(CONTENT_TYPE, "application/octet-stream")], whole).into_response())
}

/// The newest picture of a view: its tag, if the frame has a name, and its bytes, unless the client has them.
struct Seen {
    tag: Option<String>,
    jpeg: Option<Bytes>,
}

/// The newest picture of a view for a client that has the one with the tag `client`.
async fn newest(control: &Arc<Control>, view: View, client: Option<&str>) -> Result<Seen, Refused> {
    known(control, &view.stream)?;
    let asked = Instant::now();
    let (slot, is_new) = control.live.slot(&view);
    if is_new {
        tokio::spawn(forget_when_idle(Arc::clone(control), view.clone()));
    }
    let mut slot = slot.lock_owned().await;
    if slot.last.as_ref().is_none_or(|last| last.begun + SHARED < asked) {
        let Some(sample) = control.fleet.last_sample(&view.stream) else {
            return Err(no_frame(&view.stream));
        };
        let tag = tag(&sample);
        if tag.is_some() && client == tag.as_deref() {
            return Ok(Seen { tag, jpeg: None });
        }
        let is_same = tag.is_some() && slot.last.as_ref().is_some_and(|last| last.tag == tag);
        if !is_same {
            slot = made(control, slot, view, sample, tag).await?;
        }
    }
    let Some(Last { tag, jpeg, .. }) = &slot.last else {
        return Err(Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "no picture was made"));
    };
    let has = tag.is_some() && client == tag.as_deref();
    Ok(Seen { tag: tag.clone(), jpeg: (!has).then(|| jpeg.clone()) })
}

/// Makes the picture of a frame.
async fn made(
    control: &Arc<Control>,
    mut slot: OwnedMutexGuard<Slot>,
    view: View,
    sample: gst::Sample,
    tag: Option<String>,
) -> Result<OwnedMutexGuard<Slot>, Refused> {
    let bug = |_| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "no picture can be made any more");
    let _turn = control.pictures.acquire().await.map_err(bug)?;
    let drawn = view.drawn.unless(control.fleet.draws(&view.stream));
    let (slot, made) = blocking(move || {
        let begun = Instant::now();
        let made = Painter::picture(&mut slot.painter, &sample, view.width, drawn);
        let made = made.map(|jpeg| slot.last = Some(Last { begun, tag, jpeg: jpeg.into() }));
        (slot, made)
    })
    .await?;
    made.map_err(|sentence| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, sentence))?;
    Ok(slot)
}

/// What names a frame: its buffer and its time. A buffer is used again for a later frame, which has another time. A frame without a
/// time has no name.
fn tag(sample: &gst::Sample) -> Option<String> {
    let buffer = sample.buffer()?;
    Some(format!("{:x}-{:x}", buffer.pts()?.nseconds(), buffer.as_ptr().addr()))
}

/// Waits until nobody asks for a view any more, and stops its pipeline.
async fn forget_when_idle(control: Arc<Control>, view: View) {
    loop {
        tokio::time::sleep(IDLE).await;
        if let Some(slot) = control.live.take_idle(&view) {
            // Stopping a pipeline takes time, which the thread that answers requests does not have.
            let _ = tokio::task::spawn_blocking(move || drop(slot)).await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(pts: Option<u64>) -> gst::Sample {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::with_size(4).unwrap();
        buffer.get_mut().unwrap().set_pts(pts.map(gst::ClockTime::from_nseconds));
        gst::Sample::builder().buffer(&buffer).build()
    }

    #[test]
    fn a_frame_has_one_name_and_another_frame_another() {
        let (one, two) = (sample(Some(1)), sample(Some(2)));
        assert_eq!(tag(&one), tag(&one.clone()));
        assert_ne!(tag(&one), tag(&two));
        assert_eq!(tag(&sample(None)), None, "a frame without a time may be any");
    }
}
