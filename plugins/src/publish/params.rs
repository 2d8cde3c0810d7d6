//! Which records are made of frames, and how messages are written.

use std::sync::Arc;

use cudainfer_brokers::Message;

use super::format::Format;
use super::kind::{RecordKind, RecordKinds};
use super::second_pass::PassParams;
use super::selection::Selection;
use super::topic::Topic;

/// The name of a source or stream that has none.
pub(super) const UNKNOWN: &str = "unknown";

/// What messages are made.
#[derive(Debug)]
pub(crate) struct PublishParams {
    /// Which.
    pub kinds: RecordKinds,
    /// How frames are written.
    pub format: Format,
    /// Under which topic.
    pub topic: Topic,
    /// The camera's name; that of the stream, if there is none.
    pub source: Option<String>,
    /// Which objects.
    pub selection: Selection,
    /// At most one record of frames in that many ns; 0 for all.
    pub interval: u64,
    /// For how many ns a track that is not seen goes on.
    pub patience: u64,
    /// How tracks are gone over again when a stream has ended; not at all, if there is nothing.
    pub second_pass: Option<PassParams>,
}

impl PublishParams {
    pub(super) fn has(&self, kind: RecordKinds) -> bool {
        self.kinds.contains(kind)
    }

    /// The name that stands for the camera in records of this stream.
    pub fn source<'a>(&'a self, stream: Option<&'a str>) -> &'a str {
        self.source.as_deref().or(stream).unwrap_or(UNKNOWN)
    }
}

/// What may change while frames flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Details {
    /// Records have the stream-id.
    pub stream_ids: bool,
    /// Objects have their embeddings.
    pub embeddings: bool,
}

/// The records to send, in this order.
pub(crate) type Messages = Vec<(RecordKind, Arc<Message>)>;
