//! One line for each thing that happens, on the standard error; with journald's priorities where it reads them.

use std::fmt::Display;
use std::io::Write;
use std::sync::LazyLock;

/// journald sets this variable for what it reads; it strips the priority from each line.
static PRIORITIES: LazyLock<bool> = LazyLock::new(|| std::env::var_os("JOURNAL_STREAM").is_some());

/// What somebody has to look at now.
pub fn error(text: impl Display) {
    line(3, &text);
}

/// What went wrong and is dealt with.
pub fn warning(text: impl Display) {
    line(4, &text);
}

/// What has changed.
pub fn info(text: impl Display) {
    line(6, &text);
}

fn line(priority: u8, text: &dyn Display) {
    // Line ends inside would begin lines without a priority.
    let text = crate::config::redacted(&text.to_string()).replace('\n', " ");
    let line =
        if *PRIORITIES { format!("<{priority}>{text}\n") } else { format!("cudainfer-serve: {text}\n") };
    // One write, so that lines of several threads do not mix. Nobody can be told that it failed.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
