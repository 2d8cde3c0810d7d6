//! A span: work that was done for a frame, from when to when.

/// The identity of a span, everywhere and forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanId {
    /// The same for all spans of a frame; random, and not 0.
    pub trace: u128,
    /// Random, and not 0.
    pub span: u64,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A span that has ended.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub id: SpanId,
    /// The span that it is a part of.
    pub parent: Option<u64>,
    pub name: String,
    /// ns since 1970.
    pub began: u64,
    /// ns since 1970.
    pub ended: u64,
    pub attributes: Vec<(&'static str, Value)>,
    /// Other frames that were processed together with this one.
    pub links: Vec<SpanId>,
}
