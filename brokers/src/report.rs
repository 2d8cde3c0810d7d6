//! What is reported to the user about a delivery.

/// Something that the user should know; each is a sentence or two.
#[derive(Debug)]
pub enum Report {
    /// It is well again.
    Info(String),
    /// Messages wait or are lost.
    Warning(String),
}
