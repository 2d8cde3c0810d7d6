//! What is written beside the results of a video: its summary, which says that they are complete, or its error.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::videos::Video;

/// Which video it was, and of what configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Origin {
    /// Its path or URI, without a URI's user and query.
    pub video: String,
    /// Its size in bytes; `null` for a URI, or if it is missing.
    pub size: Option<u64>,
    /// When it was changed, in nanoseconds since 1970; `null` likewise.
    pub modified: Option<i64>,
    /// The digest of the configuration.
    pub configuration: String,
    /// The digests of files of its own.
    pub files: BTreeMap<String, String>,
}

impl Origin {
    /// Of a video as it is now.
    ///
    /// # Errors
    /// A sentence.
    pub fn of(video: &Video, plan: &Plan) -> Result<Self, String> {
        let found = if video.is_uri() { None } else { std::fs::metadata(&video.location).ok() };
        let nanoseconds = |file: &std::fs::Metadata| {
            file.mtime().saturating_mul(1_000_000_000).saturating_add(file.mtime_nsec())
        };
        Ok(Self {
            video: video.shown(),
            size: found.as_ref().map(std::fs::Metadata::len),
            modified: found.as_ref().map(nanoseconds),
            configuration: plan.configuration.digest.clone(),
            files: plan.own_files(video)?,
        })
    }

    /// Whether it is the same video and configuration. Where the video lies does not matter.
    pub fn is_same(&self, other: &Self) -> bool {
        let place = |origin: &Self| (origin.size.is_none()).then(|| origin.video.clone());
        Self { video: String::new(), ..self.clone() } == Self { video: String::new(), ..other.clone() }
            && place(self) == place(other)
    }
}

/// What is said of the frames.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Frames {
    /// How many were decoded.
    pub decoded: u64,
    /// How many the container's duration and frame rate let expect, an estimate; `null` if it has none.
    pub expected: Option<u64>,
    /// Seconds from the start of the pipeline to its end.
    pub seconds: f64,
    /// Decoded frames in a second, in that time.
    pub per_second: f64,
    /// Seconds from the last frame to the end of the pipeline, when all files were closed.
    pub seconds_after_last: f64,
}

/// What was measured of the GPU.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GpuShare {
    /// The GPU's time for this video, in parts of the whole time; `null` if it was not measured.
    pub share: Option<f64>,
    /// How it was measured, or why it was not.
    pub reason: String,
}

/// The results of a video, complete.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    /// Of this file's format: 1.
    pub version: u32,
    /// Which program.
    pub program: String,
    /// Of what.
    #[serde(flatten)]
    pub origin: Origin,
    /// The files and their sizes in bytes.
    pub results: BTreeMap<String, u64>,
    /// The frames.
    pub frames: Frames,
    /// The GPU.
    pub gpu: GpuShare,
    /// The digests of the model's files, by key and name.
    pub models: BTreeMap<String, BTreeMap<String, String>>,
    /// What elements have warned about, each sentence once.
    pub warnings: Vec<String>,
}

/// Why a video has no results.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failed {
    /// Of this file's format: 1.
    pub version: u32,
    /// Which program.
    pub program: String,
    /// Of what.
    #[serde(flatten)]
    pub origin: Origin,
    /// The sentence.
    pub error: String,
    /// Whether it would fail again: only then the next run leaves it out.
    pub permanent: bool,
    /// Frames that were decoded before.
    pub frames: u64,
}

/// The program, as files name it.
pub fn program() -> String {
    concat!("cudainfer-batch ", env!("CARGO_PKG_VERSION")).to_owned()
}
