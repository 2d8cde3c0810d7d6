//! One MP4 file of encoded frames.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use cudainfer_files::{Access, Folder};
use gst::prelude::*;

use super::super::fed::{FRAMES, FedPipeline};
use super::about::About;
use super::ring::Unit;
use crate::retention::restore::restore_one;
use crate::retention::unfinished::{UNFINISHED, about, name_free, unfinished};

/// How long the completion of a file may take after its last frame.
const COMPLETION: gst::ClockTime = gst::ClockTime::from_seconds(30);

/// The formats that MP4 files can hold, with the elements that parse and write them. Only QuickTime's variant of these files
/// holds JPEG.
const FORMATS: [(&str, &str, &str); 5] = [
    ("video/x-h264", "h264parse", "mp4mux"),
    ("video/x-h265", "h265parse", "mp4mux"),
    ("video/x-av1", "av1parse", "mp4mux"),
    ("video/mpeg", "mpeg4videoparse", "mp4mux"),
    ("image/jpeg", "jpegparse", "qtmux"),
];

/// # Errors
/// A sentence, if frames of these caps do not go into MP4 files.
pub fn check(caps: &gst::CapsRef) -> Result<(), String> {
    elements(caps).map(|_| ())
}

/// The parser and the muxer.
fn elements(caps: &gst::CapsRef) -> Result<[&'static str; 2], String> {
    let name = caps.structure(0).map_or("frames without caps", |structure| structure.name().as_str());
    let format = FORMATS.iter().find(|(format, ..)| *format == name);
    format.map(|(_, parser, muxer)| [*parser, *muxer]).ok_or_else(|| {
        let known = FORMATS.map(|(format, ..)| format).join(", ");
        format!("{name} cannot be recorded in MP4 files, which hold {known}; set the camera to one of them, or leave out record")
    })
}

/// A file that is being written. It has another name until it is complete. An incomplete file that a crash leaves plays up to
/// the last second before the crash.
#[derive(Debug)]
pub struct Writer {
    pipeline: FedPipeline,
    caps: gst::Caps,
    folder: Folder,
    name: String,
    file: PathBuf,
    /// The open file, by whose descriptor filesink writes: so no link can take its place.
    _open: File,
    first: Option<gst::ClockTime>,
}

/// What has become of a file.
#[derive(Debug)]
pub struct Finished {
    /// Its path, also that of an incomplete file that plays.
    pub file: Option<PathBuf>,
    /// Why it is incomplete or has not got its name; a sentence.
    pub wrong: Option<String>,
}

impl Writer {
    /// # Errors
    /// A sentence: caps that cannot be recorded, an element that is missing, a file that cannot be made.
    pub fn begin(folder: Folder, name: &str, caps: &gst::Caps) -> Result<Self, String> {
        let [parser, muxer] = elements(caps)?;
        let file = folder.path().join(name);
        // What filesink has not written yet, 64 KiB as a rule, would be lost with the process: seconds of a quiet picture.
        let description = format!(
            "{FRAMES} ! {parser} \
             ! {muxer} fragment-duration=1000 fragment-mode=first-moov-then-finalise \
             ! filesink name=file async=false buffer-mode=unbuffered"
        );
        let failed = |why| format!("{} cannot be written: {why}", file.display());
        let pipeline = FedPipeline::new(&description).map_err(failed)?;
        let sink = pipeline.element::<gst::Element>("file").map_err(failed)?;
        let open =
            folder.file(&format!("{name}{UNFINISHED}"), Access::New).map_err(|e| failed(e.to_string()))?;
        sink.set_property("location", format!("/proc/self/fd/{}", open.as_raw_fd()));
        pipeline.play().map_err(failed)?;
        Ok(Self {
            pipeline,
            caps: caps.clone(),
            folder,
            name: name.to_owned(),
            file,
            _open: open,
            first: None,
        })
    }

    /// Writes into its folder which frames it has, in case the process is killed.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn describe(&self, about: &About) -> std::io::Result<()> {
        about.write(&self.folder, &self.name)
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
        if self.pipeline.push(buffer, &self.caps).is_err()
            && let Some(why) = self.pipeline.failure()
        {
            return Err(self.incomplete(&why));
        }
        Ok(())
    }

    /// Completes the file and gives it its name; waits for the disk.
    pub fn finish(self) -> Finished {
        let ended = self.pipeline.end(COMPLETION);
        self.pipeline.stop();
        let finished = match ended {
            Ok(()) => match name_free(&unfinished(&self.file), &self.file) {
                Ok(file) => Finished { file: Some(file), wrong: None },
                Err(error) => {
                    let why = format!("{} cannot be given its name: {error}", self.file.display());
                    Finished { file: None, wrong: Some(why) }
                }
            },
            Err(why) => Finished {
                file: restore_one(&unfinished(&self.file), &self.file),
                wrong: Some(self.incomplete(&why)),
            },
        };
        // There is none if no frame was written.
        let _ = std::fs::remove_file(about(&self.file));
        finished
    }

    fn incomplete(&self, why: &str) -> String {
        format!("{} is incomplete: {why}", self.file.display())
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_files::Readers;

    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_recording_is_not_written_through() {
        gst::init().unwrap();
        let root = tempfile::tempdir().unwrap();
        let outside = root.path().join("outside");
        std::fs::write(&outside, "precious").unwrap();
        let folder = Folder::open(&root.path().join("door"), Readers::Umask).unwrap();
        std::os::unix::fs::symlink(&outside, folder.path().join("a.mp4.part")).unwrap();
        let caps = gst::Caps::builder("image/jpeg").build();
        let open = || Folder::open(folder.path(), Readers::Umask).unwrap();
        let error = Writer::begin(open(), "a.mp4", &caps).unwrap_err();
        assert!(error.contains("a.mp4 cannot be written"), "{error}");
        assert_eq!(std::fs::read(&outside).unwrap(), b"precious");
        drop(Writer::begin(open(), "b.mp4", &caps).unwrap());
        assert!(folder.path().join("b.mp4.part").is_file());
    }
}
