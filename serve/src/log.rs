//! The log: one line for each event, on the standard error, with priorities if journald reads it.

use std::fmt::Display;
use std::io::Write;
use std::sync::LazyLock;

/// systemd sets this variable if journald reads the standard error. journald strips the priority from each line.
static PRIORITIES: LazyLock<bool> = LazyLock::new(|| std::env::var_os("JOURNAL_STREAM").is_some());

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

fn line(priority: u8, text: &dyn Display) {
    // A line break in the text would begin a line without a priority.
    let text = crate::config::redacted(&text.to_string()).replace('\n', " ");
    let line =
        if *PRIORITIES { format!("<{priority}>{text}\n") } else { format!("cudainfer-serve: {text}\n") };
    // One write, so that lines of several threads do not mix. If it fails, there is nowhere to report that.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
