//! Recordings, pictures of tracks, and frames for training with their labels.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cudainfer_serve::config::{RecordingSettings, RetentionSettings, SampleSettings, Size, SnapshotSettings};
use cudainfer_serve::folders::Folders;
use cudainfer_serve::output::{Outputs, SharedOutputs, Wanted};
use cudainfer_serve::retention::Retention;
use cudainfer_tests::scratch;
use cudainfer_torture::{Ran, Scenario, Seam, disarm, torture};
use gst::prelude::*;
use gst_app::AppSink;

use super::logged::new_lines;

/// How long a file may take until it is written, or counted as failed.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Kept {
    state: PathBuf,
    encoded: Vec<(gst::Buffer, gst::Caps)>,
    /// Files of the last run that were counted as written, by their folder.
    acknowledged: Vec<(PathBuf, &'static str, u64)>,
}

/// The buffers of a pipeline, and their caps.
fn buffers(description: &str) -> Vec<(gst::Buffer, gst::Caps)> {
    let pipeline = gst::parse::launch(&format!("{description} ! appsink name=out sync=false")).unwrap();
    let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
    let sink = pipeline.by_name("out").and_downcast::<AppSink>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let mut all = Vec::new();
    while let Ok(sample) = sink.pull_sample() {
        all.push((sample.buffer_owned().unwrap(), sample.caps_owned().unwrap()));
    }
    pipeline.set_state(gst::State::Null).unwrap();
    all
}

/// A frame with an object of a track, of which the model is not sure; or with none.
fn frame(number: u64, seen: bool) -> (gst::Buffer, gst::Caps) {
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::Rgb, 64, 48).build().unwrap();
    let mut buffer = gst::Buffer::from_mut_slice(vec![100_u8; info.size()]);
    let frame = buffer.get_mut().unwrap();
    frame.set_pts(gst::ClockTime::from_mseconds(100 * number));
    if seen {
        let mut region = gst_video::VideoRegionOfInterestMeta::add(frame, "person", (20, 10, 20, 20));
        let detection = gst::Structure::builder("detection").field("x", 20.0).field("y", 10.0);
        let detection = detection.field("w", 20.0).field("h", 20.0).field("confidence", 0.5);
        region.add_param(detection.field("label-id", 0_u32).build());
        region.add_param(gst::Structure::builder("tracking").field("id", 7_u64).build());
    }
    (buffer, info.to_caps().unwrap())
}

fn files(folder: &Path, ending: &str) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let whole = |path: PathBuf| {
        path.to_string_lossy().ends_with(ending) && path.metadata().is_ok_and(|found| found.len() > 0)
    };
    entries.filter(|entry| whole(entry.path())).count() as u64
}

fn wait(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Scenario for Kept {
    fn name(&self) -> &'static str {
        "outputs"
    }

    fn seams(&self) -> &'static [Seam] {
        use Seam::{Folder, Open, Remove, Rename, Sync, Thread, Write};
        &[Open, Write, Rename, Sync, Folder, Remove, Thread]
    }

    fn prepare(&mut self, folder: &Path) {
        cudainfer_tests::init();
        self.state = folder.to_owned();
        self.encoded = buffers(
            "videotestsrc num-buffers=40 pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=10/1 \
             ! x264enc key-int-max=10 speed-preset=ultrafast threads=1 ! h264parse",
        );
        new_lines();
    }

    fn run(&mut self) -> Ran {
        let mut ran = Ran::default();
        let settings = RetentionSettings { min_free: Size(0), ..RetentionSettings::default() };
        let retention = match Retention::start(self.state.join("kept"), settings) {
            Ok(retention) => retention,
            Err(why) => {
                ran.errors.push(why);
                return ran;
            }
        };
        let shared = SharedOutputs {
            state: Some((self.state.clone(), retention.room().clone())),
            ..SharedOutputs::default()
        };
        let wanted = Wanted {
            record: Some(RecordingSettings { on: Vec::new(), pre: 1.0, post: 1.0, most: 100.0 }),
            snapshots: Some(SnapshotSettings { margin: 0.0, ..SnapshotSettings::default() }),
            sample: Some(SampleSettings { most: 2, most_per_hour: 3600, ..SampleSettings::default() }),
            ..Wanted::default()
        };
        let outputs = Outputs::new("door", &wanted, &shared);
        for (number, (buffer, caps)) in self.encoded.iter().enumerate() {
            outputs.encoded(buffer, caps);
            if number == 15
                && let Err(why) = outputs.begin_recording()
            {
                ran.errors.push(why);
            }
        }
        let (seen, caps) = frame(0, true);
        outputs.results(&seen, &caps);
        let counts = || {
            let status = outputs.status();
            (status.recordings.unwrap(), status.snapshots.unwrap(), status.samples.unwrap())
        };
        let threads = |lines: &[String]| lines.iter().any(|line| line.contains("want of a thread"));
        ran.remarks.append(&mut new_lines());
        if threads(&ran.remarks) {
            std::thread::sleep(Duration::from_millis(200));
        } else {
            wait(|| {
                let (recordings, _, samples) = counts();
                recordings.written + recordings.failed + recordings.refused > 0
                    && samples.frames + samples.failed + samples.skipped > 0
            });
            // The track is in no frame for longer than the patience of three seconds.
            wait(|| {
                let (empty, caps) = frame(50, false);
                outputs.results(&empty, &caps);
                let (_, snapshots, _) = counts();
                snapshots.written + snapshots.failed + snapshots.skipped + snapshots.dropped > 0
            });
        }
        let (recordings, snapshots, samples) = counts();
        let errors = [&recordings.last_error, &snapshots.last_error, &samples.last_error];
        ran.remarks.extend(errors.into_iter().flatten().cloned());
        let counted = [recordings.written, snapshots.written, samples.frames];
        ran.complete = counted == [1, 1, 1];
        let folders = Folders::of(&self.state, "door");
        self.acknowledged = vec![
            (folders.recordings, ".mp4", recordings.written),
            (folders.snapshots, ".jpg", snapshots.written),
            (folders.samples.join("images"), ".jpg", samples.frames),
        ];
        self.acknowledged.push((folders.samples.join("labels"), ".txt", samples.frames));
        drop((outputs, shared, retention));
        disarm();
        ran.remarks.append(&mut new_lines());
        let missing = self.acknowledged.iter().find(|(folder, ending, count)| files(folder, ending) < *count);
        if let Some((folder, ending, count)) = missing {
            ran.errors
                .push(format!("{count} *{ending} were written into {} and are missing", folder.display()));
        }
        let folders = Folders::of(&self.state, "door");
        for folder in [folders.recordings, folders.snapshots, folders.samples] {
            let _ = std::fs::remove_dir_all(folder);
        }
        ran
    }

    fn settle(&mut self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn files_that_the_outputs_have_counted_as_written_are_there_after_a_fault() {
    torture(Kept::default(), &scratch("torture-outputs"));
}
