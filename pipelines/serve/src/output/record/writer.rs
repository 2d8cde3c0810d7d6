//! One MP4 file of encoded frames.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gst::prelude::*;
use gst_app::AppSrc;

use super::ring::Unit;

/// How long a file may take to be completed when its last frame is in.
const COMPLETION: Duration = Duration::from_secs(30);

/// What a file that is not complete yet is called behind its name.
pub const UNFINISHED: &str = ".part";

/// The formats that MP4 files can hold, with the element that prepares them.
const PARSERS: [(&str, &str); 5] = [
    ("video/x-h264", "h264parse"),
    ("video/x-h265", "h265parse"),
    ("video/x-av1", "av1parse"),
    ("video/mpeg", "mpeg4videoparse"),
    ("image/jpeg", "jpegparse"),
];

/// # Errors
/// A sentence, if frames of these caps do not go into MP4 files.
pub fn check(caps: &gst::CapsRef) -> Result<(), String> {
    parser(caps).map(|_| ())
}

fn parser(caps: &gst::CapsRef) -> Result<&'static str, String> {
    let name = caps.structure(0).map_or("frames without caps", |structure| structure.name().as_str());
    PARSERS.iter().find(|(format, _)| *format == name).map(|(_, parser)| *parser).ok_or_else(|| {
        let known = PARSERS.map(|(format, _)| format).join(", ");
        format!("{name} cannot be recorded in MP4 files, which hold {known}; set the camera to one of them, or leave out record")
    })
}

/// A file that is being written. It has another name until it is complete; what a crash leaves under that one plays up to the last
/// second before it.
#[derive(Debug)]
pub struct Writer {
    pipeline: gst::Pipeline,
    source: AppSrc,
    file: PathBuf,
    first: Option<gst::ClockTime>,
}

impl Writer {
    /// # Errors
    /// A sentence: caps that cannot be recorded, an element that is missing, a file that cannot be made.
    pub fn begin(file: &Path, caps: &gst::Caps) -> Result<Self, String> {
        let parser = parser(caps)?;
        let line = format!(
            "appsrc name=frames format=time ! {parser} \
             ! mp4mux fragment-duration=1000 fragment-mode=first-moov-then-finalise ! filesink name=file async=false"
        );
        let pipeline = gst::parse::launch(&line)
            .map_err(|error| format!("recordings cannot be written: {}", error.message()))?;
        let pipeline =
            pipeline.downcast::<gst::Pipeline>().map_err(|_| "recordings need a pipeline".to_owned())?;
        let source =
            pipeline.by_name("frames").and_downcast::<AppSrc>().ok_or("recordings need an appsrc")?;
        source.set_caps(Some(caps));
        let sink = pipeline.by_name("file").ok_or("recordings need a filesink")?;
        sink.set_property("location", unfinished(file).to_string_lossy().as_ref());
        let writer = Self { pipeline, source, file: file.to_owned(), first: None };
        if writer.pipeline.set_state(gst::State::Playing).is_err() {
            return Err(writer.failure().unwrap_or_else(|| format!("{} cannot be written", file.display())));
        }
        Ok(writer)
    }

    /// Appends a frame; its memory is shared, not copied.
    ///
    /// # Errors
    /// A sentence, if the file cannot be written any more.
    pub fn write(&mut self, unit: Unit<gst::Buffer>) -> Result<(), String> {
        let mut buffer = unit.payload;
        let first = *self.first.get_or_insert_with(|| {
            let time = gst::ClockTime::from_nseconds(unit.time);
            buffer.dts().map_or(time, |dts| dts.min(time))
        });
        {
            let buffer = buffer.make_mut();
            let (pts, dts) = (buffer.pts(), buffer.dts());
            buffer.set_pts(pts.map(|time| time.saturating_sub(first)));
            buffer.set_dts(dts.map(|time| time.saturating_sub(first)));
        }
        if self.source.push_buffer(buffer).is_err()
            && let Some(failure) = self.failure()
        {
            return Err(failure);
        }
        Ok(())
    }

    /// Completes the file and gives it its name; waits for the disk.
    ///
    /// # Errors
    /// A sentence; the incomplete file stays under its other name.
    pub fn finish(self) -> Result<PathBuf, String> {
        let ended = self.source.end_of_stream().is_ok().then(|| {
            let bus = self.pipeline.bus()?;
            let wait = gst::ClockTime::try_from(COMPLETION).ok()?;
            bus.timed_pop_filtered(wait, &[gst::MessageType::Eos, gst::MessageType::Error])
        });
        match ended.flatten().as_ref().map(|message| message.view()) {
            Some(gst::MessageView::Eos(_)) => {
                // The state change closes the file.
                let _ = self.pipeline.set_state(gst::State::Null);
                std::fs::rename(unfinished(&self.file), &self.file)
                    .map_err(|error| format!("{} cannot be given its name: {error}", self.file.display()))?;
                Ok(self.file.clone())
            }
            Some(gst::MessageView::Error(error)) => {
                Err(format!("{} is incomplete: {}", self.file.display(), error.error()))
            }
            _ => Err(format!(
                "{} is incomplete: it was not finished within {} seconds",
                self.file.display(),
                COMPLETION.as_secs()
            )),
        }
    }

    fn failure(&self) -> Option<String> {
        let message = self.pipeline.bus()?.pop_filtered(&[gst::MessageType::Error])?;
        match message.view() {
            gst::MessageView::Error(error) => {
                Some(format!("{} is incomplete: {}", self.file.display(), error.error()))
            }
            _ => None,
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}
