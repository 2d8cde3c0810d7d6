//! `/v1/events/live`: events as they come, as server-sent events (WHATWG HTML, 9.2). Nobody waits for a client that is slow.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use http_body::{Body as HttpBody, Frame};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::answer::{Query, Refused};
use super::events::{given, number, read};
use super::shared::ControlState;
use crate::history::{Event, LiveEvent, LiveEvents};

/// How often something is sent, so that a connection that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events that are sent at most to a client that resumes.
const MOST_RESUMED: usize = 1000;
/// Texts that wait for the socket; more wait as events, of which there is a limit.
const WAITING: usize = 16;

/// The query. An empty value is as none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveQuery {
    stream: Option<String>,
    after: Option<String>,
}

pub async fn live(
    State(control): ControlState,
    headers: HeaderMap,
    Query(query): Query<LiveQuery>,
) -> Result<Response, Refused> {
    let last = headers.get("last-event-id").map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let after = number("after", query.after)?.or(number("Last-Event-ID", last)?);
    let stream = given(query.stream);
    // Before older ones are read, so that none is between them.
    let events = control.fleet.history().live()?;
    let of = stream.clone();
    let missed = match after {
        Some(id) => {
            read(&control, move |reader| reader.events_after(id, of.as_deref(), MOST_RESUMED)).await?
        }
        None => Vec::new(),
    };
    let (texts, body) = channel(WAITING);
    tokio::spawn(async move {
        tokio::select! {
            _ = send(events, missed, stream, &texts) => (),
            () = texts.closed() => (),
        }
    });
    // A proxy of nginx's kind would hold it back until a buffer is full.
    let headers = [(CONTENT_TYPE, "text/event-stream"), (HeaderName::from_static("x-accel-buffering"), "no")];
    Ok((headers, Body::new(Texts(body))).into_response())
}

/// Sends events until the service ends, or the client has gone.
async fn send(
    mut events: LiveEvents,
    missed: Vec<Event>,
    stream: Option<String>,
    texts: &Sender<Bytes>,
) -> Option<()> {
    let mut last = missed.last().map_or(0, |event| event.id);
    // Headers are sent with the first bytes.
    texts.send(Bytes::from_static(b": events\n\n")).await.ok()?;
    for event in missed {
        texts.send(text(Some(event.id), "event", &event)).await.ok()?;
    }
    let wanted = |event: &Event| stream.as_ref().is_none_or(|stream| *stream == event.stream);
    loop {
        let sent = match tokio::time::timeout(KEEP_ALIVE, events.next()).await {
            Err(_) => Bytes::from_static(b":\n\n"),
            Ok(event) => match event? {
                LiveEvent::New(event) if event.id > last && wanted(&event) => {
                    last = event.id;
                    text(Some(event.id), "event", &*event)
                }
                // Without an id: one that resumes would get again what came since.
                LiveEvent::Update(event) if wanted(&event) => text(None, "update", &*event),
                LiveEvent::New(_) | LiveEvent::Update(_) => continue,
                LiveEvent::Lost(count) => text(None, "lost", &json!({ "lost": count })),
            },
        };
        texts.send(sent).await.ok()?;
    }
}

/// An event of the stream of events. JSON has no line breaks, which would end it.
fn text(id: Option<i64>, kind: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {kind}\ndata: {data}\n\n").into()
}

/// The body: texts as they come.
struct Texts(Receiver<Bytes>);

impl HttpBody for Texts {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|text| text.map(|text| Ok(Frame::data(text))))
    }
}
