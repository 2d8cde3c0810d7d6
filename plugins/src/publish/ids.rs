//! Names of messages.

/// Names messages: a random word that no other start of the element has, and how many there were before.
#[derive(Debug)]
pub(crate) struct Ids {
    start: String,
    made: u64,
}

impl Default for Ids {
    /// Of a start of the element.
    fn default() -> Self {
        Self { start: glib::uuid_string_random().to_string(), made: 0 }
    }
}

impl Ids {
    /// One that no message has.
    pub fn next(&mut self) -> String {
        let id = format!("{}-{}", self.start, self.made);
        self.made += 1;
        id
    }
}
