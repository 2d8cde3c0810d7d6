//! What is kept about a recording while it is written: enough to link events with it if the process is killed meanwhile.

use std::io::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

use cudainfer_files::{Access, Folder};
use serde::{Deserialize, Serialize};

use crate::history::{History, PipelineRun};
use crate::retention::restore::Restored;
use crate::retention::unfinished::{ABOUT, UNFINISHED};

/// Which frames a recording has, as far as that is known when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    /// The run of the pipeline.
    pub run: PipelineRun,
    /// The time of its first frame in nanoseconds.
    pub first: u64,
    /// The time of the frame that had come last then.
    pub last: u64,
    /// When that was, in milliseconds since 1970.
    pub began: i64,
}

impl About {
    /// Writes it into the folder of the recording `name`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, folder: &Folder, name: &str) -> std::io::Result<()> {
        let mut file = folder.file(&format!("{name}{ABOUT}{UNFINISHED}"), Access::New)?;
        file.write_all(&serde_json::to_vec(self)?)
    }

    /// The times of the first and the last frame and of the clock of a recording that was written to last at a time in milliseconds since
    /// 1970. Frames come as fast as time passes, which a camera's do, but for at most as long as the last second, which is not in the file.
    fn covered(&self, until: i64) -> ([u64; 2], [i64; 2]) {
        let milliseconds = |nanoseconds: u64| i64::try_from(nanoseconds / 1_000_000).unwrap_or(i64::MAX);
        let passed = u64::try_from(until.saturating_sub(self.began)).unwrap_or(0);
        let last = self.last.max(self.first).saturating_add(passed.saturating_mul(1_000_000));
        let before = milliseconds(self.last.saturating_sub(self.first));
        ([self.first, last], [self.began.saturating_sub(before), until.max(self.began)])
    }
}

/// Links a recording that was restored with the events of its frames.
pub(in crate::output) fn link(restored: &Restored, history: &History) {
    // Without it, and with one that is cut off, it is not known of which frames the recording is.
    let about = restored.about.as_ref().and_then(|text| serde_json::from_str::<About>(text).ok());
    let text = |path: Option<&std::ffi::OsStr>| path.and_then(|name| name.to_str()).map(str::to_owned);
    let stream = text(restored.file.parent().and_then(Path::file_name));
    let (Some(about), Some(stream), Some(file)) = (about, stream, text(restored.file.file_name())) else {
        return;
    };
    let changed = restored.file.metadata().and_then(|about| about.modified()).ok();
    let until = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    let Some(until) = until.and_then(|until| i64::try_from(until.as_millis()).ok()) else { return };
    let (pts, time) = about.covered(until);
    history.restored(&stream, about.run, file, pts, time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_covers_the_frames_before_its_begin_and_those_until_it_was_written_last() {
        let about =
            About { run: PipelineRun::default(), first: 5_000_000_000, last: 8_000_000_000, began: 100_000 };
        assert_eq!(about.covered(102_500), ([5_000_000_000, 10_500_000_000], [97_000, 102_500]));
        // A clock that was set back.
        assert_eq!(about.covered(1), ([5_000_000_000, 8_000_000_000], [97_000, 100_000]));
        let text = serde_json::to_string(&about).unwrap();
        assert_eq!(serde_json::from_str::<About>(&text).unwrap(), about);
        assert!(serde_json::from_str::<About>(&text[..text.len() - 1]).is_err());
    }
}
