//! What a delivery lets its user know.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::threads::{now, since};

/// How often what lasts is reported again.
pub(crate) const REMIND: Duration = Duration::from_secs(60);

/// How soon it is reported again if the reason is another one.
const OTHER_REASON: Duration = Duration::from_secs(10);

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

/// Something that may last: reported when it begins, again after a while, and sooner for another reason.
#[derive(Debug, Default)]
pub(crate) struct Reminder {
    /// When it was last reported, and for which reason, while it lasts.
    reported: Option<(Instant, String)>,
}

impl Reminder {
    /// Whether it lasts.
    pub fn is_on(&self) -> bool {
        self.reported.is_some()
    }

    /// It lasts. Returns whether to report it now.
    pub fn is_due(&mut self) -> bool {
        self.is_due_for("")
    }

    /// It lasts for this reason. Returns whether to report it now.
    pub fn is_due_for(&mut self, reason: &str) -> bool {
        let is_due = self
            .reported
            .as_ref()
            .is_none_or(|(at, last)| since(*at) >= if last == reason { REMIND } else { OTHER_REASON });
        if is_due {
            self.reported = Some((now(), reason.to_owned()));
        }
        is_due
    }

    /// It is over. Returns whether there was anything.
    pub fn end(&mut self) -> bool {
        self.reported.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{World, sleep};

    #[test]
    fn what_lasts_is_reported_again_after_a_minute_and_for_another_reason_after_ten_seconds() {
        let (reported, _) = World::run(0, || {
            let mut reminder = Reminder::default();
            let reasons = (0..140).map(|second| if (30..65).contains(&second) { "full" } else { "gone" });
            let mut reported = Vec::new();
            for (second, reason) in reasons.enumerate() {
                if reminder.is_due_for(reason) {
                    reported.push((second, reason));
                }
                sleep(Duration::from_secs(1));
            }
            reported
        });
        assert_eq!(reported, [(0, "gone"), (30, "full"), (65, "gone"), (125, "gone")]);

        // Two reasons in turns are no flood.
        let (reported, _) = World::run(0, || {
            let mut reminder = Reminder::default();
            let is_due = |second: usize| {
                sleep(Duration::from_secs(1));
                reminder.is_due_for(["gone", "full"][second % 2])
            };
            (0..60).map(is_due).filter(|is_due| *is_due).count()
        });
        assert!((2..=6).contains(&reported), "{reported}");
    }
}
