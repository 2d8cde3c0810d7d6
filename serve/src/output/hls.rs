//! HLS: a folder with a playlist and its segments, of which the last minute is kept.

use std::path::Path;

use cudainfer_files::{Folder, Readers};
use gst::prelude::*;

use super::fed::FedPipeline;
use super::feed::{self, Feed};
use crate::log;

/// Name of the playlist in the stream's folder.
pub const PLAYLIST: &str = "index.m3u8";

/// The begin and the end of the names of segments; a number is between them.
const SEGMENT: [&str; 2] = ["segment", ".ts"];

/// Removes the HLS folder of a stream that is gone, but no files that [`Hls`] has not written.
pub fn remove(folder: &Path) {
    if !folder.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        return;
    }
    remove_files(folder);
    // The folder stays if it has other files.
    let _ = std::fs::remove_dir(folder);
}

/// Removes the HLS folders of all streams for which `wanted` is false.
pub fn sweep(all: &Path, wanted: impl Fn(&str) -> bool) {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(&wanted) {
            remove(&entry.path());
        }
    }
}

fn remove_files(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(SEGMENT[0])?.strip_suffix(SEGMENT[1]));
        let is_segment =
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
        if (is_segment || name == PLAYLIST)
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            log::warning(format_args!("{} cannot be removed: {error}", entry.path().display()));
        }
    }
}

/// Writes a stream's HLS until it is dropped.
#[derive(Debug)]
pub struct Hls(FedPipeline);

impl Hls {
    /// Segments of two seconds, of which thirty stay on the disk and six in the playlist.
    ///
    /// # Errors
    /// A sentence: an element is missing, or the folder cannot be made.
    pub fn start(folder: &Path, encoder: &str, drawn: bool, feed: &Feed) -> Result<Self, String> {
        Folder::open(folder, Readers::Umask)
            .map_err(|error| format!("the folder {} cannot be used: {error}", folder.display()))?;
        // Segments of the last start: some have numbers that are not written again.
        remove_files(folder);
        let description = format!(
            "{} {} ! {encoder} ! h264parse ! hlssink2 name=hls target-duration=2 playlist-length=6 max-files=30",
            feed::SOURCE,
            feed::before_encoder(drawn)
        );
        let failed = |why| format!("HLS cannot be written into {}: {why}", folder.display());
        let pipeline = FedPipeline::new(&description).map_err(failed)?;
        let sink = pipeline.element::<gst::Element>("hls").map_err(failed)?;
        sink.set_property("location", folder.join(SEGMENT.join("%06d")).to_string_lossy().as_ref());
        sink.set_property("playlist-location", folder.join(PLAYLIST).to_string_lossy().as_ref());
        pipeline.play().map_err(failed)?;
        feed.add(pipeline.source.clone());
        Ok(Self(pipeline))
    }

    /// Why nothing is written any more.
    pub fn failure(&self) -> Option<String> {
        Some(format!("HLS has ended: {}", self.0.failure()?))
    }

    /// Gets no more frames from `feed`, and stops.
    pub fn stop(&self, feed: &Feed) {
        feed.remove(&self.0.source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_hls_writes_is_removed_and_only_of_streams_without_it() {
        let root = tempfile::tempdir().unwrap();
        let all = root.path().join("hls");
        for stream in ["door", "gone", "other"] {
            std::fs::create_dir_all(all.join(stream)).unwrap();
            for name in ["index.m3u8", "segment000007.ts", "segment.ts", "segmentx.ts", "notes.txt"] {
                std::fs::write(all.join(stream).join(name), "x").unwrap();
            }
        }
        for name in ["segment.ts", "segmentx.ts", "notes.txt"] {
            std::fs::remove_file(all.join("gone").join(name)).unwrap();
        }
        let outside = root.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("segment000001.ts"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, all.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.join("segment000001.ts"), all.join("other/segment000009.ts"))
            .unwrap();
        sweep(&all, |stream| stream == "door");
        let names = |folder: &Path| {
            let mut names: Vec<_> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&all), ["door", "link", "other"]);
        assert_eq!(names(&all.join("door")).len(), 5);
        assert_eq!(names(&all.join("other")), ["notes.txt", "segment.ts", "segmentx.ts"]);
        assert!(outside.join("segment000001.ts").exists());
        sweep(&root.path().join("none"), |_| false);
    }
}
