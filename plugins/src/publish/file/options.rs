//! How a file is written, and what is counted of it.

use cudainfer_kernels::device::Counter;
use gst::glib;

use super::layout::Layout;
use super::rotation::Limits;

/// When records are written to the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPublishFlush")]
pub enum Flush {
    /// At once.
    #[default]
    #[enum_value(
        name = "At once: a process that is killed loses what still waits in the queue",
        nick = "frame"
    )]
    Frame,
    /// Once a second.
    #[enum_value(
        name = "Once a second, or as soon as there are 64 records: fewer and larger writes, but a process that is killed \
                loses the last second",
        nick = "second"
    )]
    Second,
}

/// What happens to records when the disk is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPublishDiskFull")]
pub enum DiskFull {
    /// They are lost.
    #[default]
    #[enum_value(
        name = "Go on: records are lost, counted as failed, and warned about once a minute",
        nick = "drop"
    )]
    Drop,
    /// The stream ends.
    #[enum_value(name = "End the stream with an ERROR", nick = "stop")]
    Stop,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileOptions {
    /// Goes on after what is there.
    pub append: bool,
    pub flush: Flush,
    pub limits: Limits,
    pub layout: Layout,
    pub disk_full: DiskFull,
}

/// What is counted of files.
#[derive(Debug, Default)]
pub(crate) struct FileCounts {
    /// Lines that had been cut in the middle, after which records were appended.
    pub torn: Counter,
    /// Files that were full or too old, and got another name.
    pub rotated: Counter,
}

impl FileCounts {
    pub fn reset(&self) {
        [&self.torn, &self.rotated].into_iter().for_each(Counter::reset);
    }
}

impl FileOptions {
    /// What a FIFO and the standard output cannot do.
    pub(super) fn needs_regular_file(&self) -> Option<&'static str> {
        if self.limits.any() {
            Some("max-size and max-age are for regular files, and it is none")
        } else if self.layout == Layout::Array {
            Some("format=coco is for regular files, and it is none")
        } else {
            None
        }
    }
}
