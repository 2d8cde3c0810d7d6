//! The body of an answer, whose request is under way until it has been sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::table::UnderWay;

/// A body whose request is under way until the socket has taken all of it, or the connection is gone.
pub(super) struct Sent {
    pub(super) body: Body,
    pub(super) request: Arc<UnderWay>,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        // hyper drops a part when it has been written.
        let part = |bytes| Bytes::from_owner(SentPart { bytes, _request: Arc::clone(&self.request) });
        polled.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Some of the bytes, until they have been written.
struct SentPart {
    bytes: Bytes,
    _request: Arc<UnderWay>,
}

impl AsRef<[u8]> for SentPart {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
