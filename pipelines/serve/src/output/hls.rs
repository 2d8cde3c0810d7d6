//! HLS: a folder with a playlist and its segments, of which the last minute is kept.

use std::path::Path;

use gst::prelude::*;
use gst_app::AppSrc;

use super::feed::{self, Feed};

/// Name of the playlist in the stream's folder.
pub const PLAYLIST: &str = "index.m3u8";

/// Writes a stream's HLS until it is dropped.
#[derive(Debug)]
pub struct Hls {
    pipeline: gst::Pipeline,
    source: AppSrc,
}

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
        let pipeline = gst::parse::launch(&line)
            .map_err(|error| format!("HLS cannot be written: {}", error.message()))?;
        let pipeline = pipeline.downcast::<gst::Pipeline>().map_err(|_| "HLS needs a pipeline".to_owned())?;
        let source = pipeline.by_name("frames").and_downcast::<AppSrc>().ok_or("HLS needs an appsrc")?;
        let sink = pipeline.by_name("hls").ok_or("HLS needs hlssink2")?;
        sink.set_property("location", folder.join("segment%06d.ts").to_string_lossy().as_ref());
        sink.set_property("playlist-location", folder.join(PLAYLIST).to_string_lossy().as_ref());
        pipeline
            .set_state(gst::State::Playing)
            .map_err(|_| format!("HLS cannot be written into {}", folder.display()))?;
        feed.add(source.clone());
        Ok(Self { pipeline, source })
    }

    /// Why nothing is written any more.
    pub fn failure(&self) -> Option<String> {
        let message = self.pipeline.bus()?.pop_filtered(&[gst::MessageType::Error])?;
        match message.view() {
            gst::MessageView::Error(error) => Some(format!("HLS has ended: {}", error.error())),
            _ => None,
        }
    }

    /// No frames come any more.
    pub fn stop(&self, feed: &Feed) {
        feed.remove(&self.source);
    }
}

impl Drop for Hls {
    fn drop(&mut self) {
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}
