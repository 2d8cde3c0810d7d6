//! What a delivery lets its user know.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::threads::{now, since};

/// How often what lasts is reported again.
pub(crate) const REMIND: Duration = Duration::from_secs(60);

/// Something about a delivery that the user should know; each is a sentence or two.
#[derive(Debug)]
pub enum Report {
    /// It is well again.
    Info(String),
    /// Messages wait or are lost.
    Warning(String),
}

/// Takes reports, from several threads.
pub(crate) type Reporter = Arc<dyn Fn(Report) + Send + Sync>;

/// Something that may last: reported when it begins, and again after a while.
#[derive(Debug, Default)]
pub(crate) struct Reminder {
    /// When it was last reported, while it lasts.
    reported: Option<Instant>,
}

impl Reminder {
    /// Whether it lasts.
    pub fn is_on(&self) -> bool {
        self.reported.is_some()
    }

    /// It lasts. Returns whether to report it now.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.reported.is_none_or(|at| since(at) >= REMIND);
        if is_due {
            self.reported = Some(now());
        }
        is_due
    }

    /// It is over. Returns whether there was anything.
    pub fn end(&mut self) -> bool {
        self.reported.take().is_some()
    }
}
