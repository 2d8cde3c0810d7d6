//! The log: one line for each event, on the standard error, with priorities if journald reads it, and else with times.

use std::fmt::Display;
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gst::glib::DateTime;

/// systemd sets this variable if journald reads the standard error. journald strips the priority from each line.
static PRIORITIES: LazyLock<bool> = LazyLock::new(|| std::env::var_os("JOURNAL_STREAM").is_some());

/// Whether lines begin with the time.
static TIMES: AtomicBool = AtomicBool::new(false);

/// From now on, lines have their time, unless journald adds it.
pub fn with_times() {
    TIMES.store(true, Ordering::Relaxed);
}

/// Logs what needs an operator now.
pub fn error(text: impl Display) {
    line(3, &text);
}

/// Logs what went wrong and is handled.
pub fn warning(text: impl Display) {
    line(4, &text);
}

/// Logs what has changed.
pub fn info(text: impl Display) {
    line(6, &text);
}

#[cfg(test)]
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, nothing is logged: a simulation has thousands of events.
#[cfg(test)]
pub(crate) fn quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

fn line(priority: u8, text: &dyn Display) {
    #[cfg(test)]
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    // A line break in the text would begin a line without a priority.
    let text = crate::config::redacted(&text.to_string()).replace('\n', " ");
    let line = if *PRIORITIES {
        format!("<{priority}>{text}\n")
    } else {
        let word = match priority {
            ..=3 => "ERROR: ",
            4 => "WARNING: ",
            _ => "",
        };
        format!("{}cudainfer-serve: {word}{text}\n", time().unwrap_or_default())
    };
    // One write, so that lines of several threads do not mix. If it fails, there is nowhere to report that.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// The time in UTC, and a space; nothing where lines have none.
fn time() -> Option<String> {
    let now = TIMES.load(Ordering::Relaxed).then(DateTime::now_utc)?.ok()?;
    Some(format!("{} ", now.format("%Y-%m-%dT%H:%M:%SZ").ok()?))
}
