//! What a destination gets.

/// A message on its way to a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What a broker files it under, with all placeholders replaced. Empty where the destination's own is meant: the path of its
    /// URI. Files, webhooks and sockets have no topics.
    pub topic: String,
    /// No other message has it, and the message has it whenever it is sent again: by it a consumer knows one that it has got
    /// before.
    pub id: String,
    /// One JSON object without a line end.
    pub payload: Vec<u8>,
}
