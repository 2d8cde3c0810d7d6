//! The kinds of records.

#![expect(missing_docs, reason = "the macro for flags drops the comments")]

use gst::glib;

/// Which kinds of records are written.
#[glib::flags(name = "GstCudaInferPublishSend")]
pub enum RecordKinds {
    /// One for each frame.
    #[flags_value(name = "A record for each frame, or as interval says", nick = "frames")]
    FRAMES = 0b0001,
    /// One for each event of zonecount.
    #[flags_value(name = "A record for each event of zonecount", nick = "events")]
    EVENTS = 0b0010,
    /// One for each track that has ended.
    #[flags_value(name = "A record for each track, when it has ended", nick = "tracks")]
    TRACKS = 0b0100,
    /// One for each frame in which something has changed.
    #[flags_value(name = "A record for each frame in which something has changed", nick = "changes")]
    CHANGES = 0b1000,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A frame.
    Frames,
    /// An event of zonecount.
    Events,
    /// A track that has ended.
    Tracks,
    /// A frame in which something has changed.
    Changes,
    /// The header of a table.
    Header,
}

impl RecordKind {
    /// As `{kind}` of a topic, and as `send` has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Frames => "frames",
            Self::Events => "events",
            Self::Tracks => "tracks",
            Self::Changes => "changes",
            Self::Header => "header",
        }
    }

    /// Whether it belongs to one frame, so that it is made again where that frame is.
    pub fn is_of_frame(self) -> bool {
        matches!(self, Self::Frames | Self::Changes)
    }
}
