//! HLS: a folder with a playlist and its segments, of which the last minute is kept.

use std::path::Path;

use gst::prelude::*;

use super::fed::FedPipeline;
use super::feed::{self, Feed};

/// Name of the playlist in the stream's folder.
pub const PLAYLIST: &str = "index.m3u8";

/// Writes a stream's HLS until it is dropped.
#[derive(Debug)]
pub struct Hls(FedPipeline);

impl Hls {
    /// Segments of two seconds, of which thirty stay on the disk and six in the playlist.
    ///
    /// # Errors
    /// A sentence: an element is missing, or the folder cannot be made.
    pub fn start(folder: &Path, encoder: &str, drawn: bool, feed: &Feed) -> Result<Self, String> {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
        let line = format!(
            "{} {} ! {encoder} ! h264parse ! hlssink2 name=hls target-duration=2 playlist-length=6 max-files=30",
            feed::SOURCE,
            feed::before_encoder(drawn)
        );
        let said = |why| format!("HLS cannot be written into {}: {why}", folder.display());
        let pipeline = FedPipeline::new(&line).map_err(said)?;
        let sink = pipeline.element::<gst::Element>("hls").map_err(said)?;
        sink.set_property("location", folder.join("segment%06d.ts").to_string_lossy().as_ref());
        sink.set_property("playlist-location", folder.join(PLAYLIST).to_string_lossy().as_ref());
        pipeline.play().map_err(said)?;
        feed.add(pipeline.source.clone());
        Ok(Self(pipeline))
    }

    /// Why nothing is written any more.
    pub fn failure(&self) -> Option<String> {
        Some(format!("HLS has ended: {}", self.0.failure()?))
    }

    /// No frames come any more.
    pub fn stop(&self, feed: &Feed) {
        feed.remove(&self.0.source);
    }
}
