//! A file, a FIFO or the standard output.

mod layout;
mod losses;
mod options;
mod regular;
mod rotation;
mod stream;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudainfer_brokers::{BATCH, CALL_LIMIT, Message, Sink, Written};
use cudainfer_files::is_full;

pub(crate) use layout::Layout;
use losses::Losses;
pub use options::{DiskFull, Flush};
pub(crate) use options::{FileCounts, FileOptions};
use regular::{Failure, RegularFile};
pub(crate) use rotation::Limits;
use stream::Stream;

/// The location that means the standard output.
pub(crate) const STDOUT: &str = "-";
/// The same, as a path. Opened by this path, a file would be cut off under others that write to it, and a socket refuses.
const STDOUT_PATH: &str = "/dev/stdout";
/// How long records are gathered.
const SECOND: Duration = Duration::from_secs(1);

/// Whom sentences for a WARNING go to, without the element's name.
pub(crate) type Warn = Box<dyn Fn(&str) + Send>;

/// Writes records to a file.
pub(crate) struct FileSink {
    location: PathBuf,
    options: FileOptions,
    counts: Arc<FileCounts>,
    warn: Warn,
    target: Option<OpenFile>,
    losses: Losses,
    /// When the records that are offered now were offered first.
    offered: Option<Instant>,
}

enum OpenFile {
    Regular(RegularFile),
    Stream(Stream),
}

impl FileSink {
    pub fn new(location: &Path, options: FileOptions, counts: &Arc<FileCounts>, warn: Warn) -> Self {
        Self {
            location: location.to_owned(),
            options,
            counts: Arc::clone(counts),
            warn,
            target: None,
            losses: Losses::default(),
            offered: None,
        }
    }

    /// How long the records that are offered have to wait for others.
    fn gathers_for(&mut self, count: usize) -> Option<Duration> {
        if self.options.flush == Flush::Frame || count >= BATCH {
            return None;
        }
        let waited = self.offered.get_or_insert_with(Instant::now).elapsed();
        let left = SECOND.checked_sub(waited).filter(|left| !left.is_zero());
        left.map(|left| left.min(CALL_LIMIT))
    }

    /// Counts records that are lost because the disk is full, and warns of them.
    fn lose(&mut self, count: usize, why: &io::Error) {
        if let Some(text) = self.losses.add(count, Instant::now()) {
            (self.warn)(&format!(
                "'{}' is full ({why}): {text}. Make room, or set disk-full=stop to end the stream instead",
                self.location.display()
            ));
        }
    }
}

impl Sink for FileSink {
    fn open(&mut self) -> io::Result<bool> {
        let stdout = [STDOUT, STDOUT_PATH].iter().any(|name| self.location == Path::new(name));
        // Of what is not there, a regular file is made.
        let regular = !stdout && self.location.metadata().map_or(true, |found| found.is_file());
        let target = if regular {
            let file = RegularFile::open(&self.location, &self.options)?;
            if file.torn {
                self.counts.torn.add(1);
                (self.warn)(&format!(
                    "'{}' ended in the middle of a line, which is left as it is: records begin on a new one",
                    self.location.display()
                ));
            }
            OpenFile::Regular(file)
        } else {
            if let Some(need) = self.options.needs_regular_file() {
                return Err(io::Error::new(io::ErrorKind::Unsupported, need));
            }
            let opened = if stdout { Stream::stdout().map(Some) } else { Stream::open(&self.location) };
            let Some(stream) = opened? else { return Ok(false) };
            OpenFile::Stream(stream)
        };
        self.target = Some(target);
        Ok(true)
    }

    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written> {
        if let Some(wait) = self.gathers_for(messages.len()) {
            return Ok(Written::later(wait));
        }
        self.offered = None;
        let result = match &mut self.target {
            Some(OpenFile::Regular(file)) => file.write(messages, &self.counts),
            Some(OpenFile::Stream(stream)) => {
                stream.write(messages).map_err(|error| Failure { written: 0, error })
            }
            None => return Ok(Written::default()),
        };
        match result {
            Ok(accepted) => Ok(Written::accepted(accepted)),
            Err(Failure { written, error })
                if is_full(&error) && self.options.disk_full == DiskFull::Drop =>
            {
                let lost = messages.len() - written;
                self.lose(lost, &error);
                Ok(Written { lost, ..Written::accepted(messages.len()) })
            }
            Err(Failure { written: 0, error }) => Err(error),
            // The others are offered again, and fail then.
            Err(Failure { written, .. }) => Ok(Written::accepted(written)),
        }
    }

    fn gathers_messages(&self) -> bool {
        self.options.flush == Flush::Second
    }
}

#[cfg(test)]
mod tests;
