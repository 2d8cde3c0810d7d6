//! Where the files of a stream are, below `[server] state`.

use std::path::{Path, PathBuf};

/// The folders of a stream's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// MP4 files.
    pub recordings: PathBuf,
    /// JPEG files, each with a JSON file.
    pub snapshots: PathBuf,
    /// JPEG files: the pictures of the frames of events.
    pub events: PathBuf,
    /// A dataset. It is no part of what is kept within `[retention]`, because a dataset without its oldest pictures is another one.
    pub samples: PathBuf,
    /// Playlist and segments.
    pub hls: PathBuf,
}

/// The folders that are kept within `[retention]`.
pub fn kept_folder(state: &Path) -> PathBuf {
    state.join("kept")
}

impl Folders {
    /// The folders of the stream `name` below `state`.
    pub fn of(state: &Path, name: &str) -> Self {
        let kept = kept_folder(state);
        Self {
            recordings: kept.join("recordings").join(name),
            snapshots: kept.join("snapshots").join(name),
            events: kept.join("events").join(name),
            samples: state.join("samples").join(name),
            hls: hls_folder(state).join(name),
        }
    }
}

/// The folder with those of all streams that have HLS.
pub fn hls_folder(state: &Path) -> PathBuf {
    state.join("hls")
}
