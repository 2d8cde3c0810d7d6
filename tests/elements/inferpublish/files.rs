//! Files of inferpublish: cut off by a kill, appended to, rotated, on a disk that is full, and as COCO's array.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use cudainfer_tests::{TestPipeline, run, scratch, until};
use gst::prelude::*;
use serde_json::{Value, json};

use crate::plugin::processes::{command, text};
use crate::zonecount::zones::{FRAMES, play, tracked};

const SMALL: &str = "video/x-raw,format=GRAY8,width=16,height=16";

/// What a file holds: the numbers of the frames of whole lines, and the lines that are no JSON.
fn read(path: &Path) -> (Vec<u64>, Vec<String>) {
    let (mut frames, mut torn) = (Vec::new(), Vec::new());
    for line in std::fs::read_to_string(path).unwrap().lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(record) => frames.push(record["frame"].as_u64().unwrap()),
            Err(_) => torn.push(line.to_owned()),
        }
    }
    (frames, torn)
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |found| found.len())
}

/// A pipeline in a process of its own, which is killed if it still is there at the end.
struct Process(Child);

impl Process {
    /// `before` has the commands that the shell runs before it becomes the pipeline.
    fn start(before: &str, pipeline: &str) -> Self {
        let script = format!("{before}; exec gst-launch-1.0 -e {pipeline}");
        let mut command = command("bash", &[]);
        Self(command.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for its end. Returns its output, and whether it succeeded.
    fn end(mut self) -> (String, bool) {
        let output = [
            self.0.stdout.take().map(|mut pipe| std::io::read_to_string(&mut pipe).unwrap()),
            self.0.stderr.take().map(|mut pipe| std::io::read_to_string(&mut pipe).unwrap()),
        ];
        let ended = self.0.wait().unwrap();
        (output.into_iter().flatten().collect(), ended.success())
    }

    fn do_to(&self, program: &str, arguments: &[&str]) {
        let id = self.0.id().to_string();
        let arguments =
            arguments.iter().map(|argument| if *argument == "PID" { id.as_str() } else { argument });
        let output = std::process::Command::new(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{program}: {}", text(&output.stderr));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_that_a_kill_cuts_off_has_whole_lines_but_the_last_and_can_be_appended_to() {
    for flush in ["frame", "second"] {
        let path = scratch("kill").join("out.jsonl");
        let mut process = Process::start(
            ":",
            &format!(
                "videotestsrc ! {SMALL} ! inferpublish flush={flush} location={} ! fakesink",
                path.display()
            ),
        );
        until("some lines", || size(&path) > 100_000);
        process.0.kill().unwrap();
        process.0.wait().unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        let (frames, torn) = read(&path);
        assert_eq!(frames, (0..frames.len() as u64).collect::<Vec<_>>(), "{flush}");
        assert!(torn.is_empty() || (torn.len() == 1 && !written.ends_with('\n')), "{flush}: {torn:?}");
        // A kill seldom happens during a write; this is the file that it leaves then.
        std::fs::write(&path, &written[..written.len() - 10]).unwrap();
        let pipeline = TestPipeline::start(&format!(
            "videotestsrc num-buffers=3 ! {SMALL} ! inferpublish name=publish append=true flush={flush} location={} ! fakesink",
            path.display()
        ));
        let report = pipeline.wait().succeeds();
        let [warning] = &report.warnings[..] else { panic!("{report:?}") };
        assert!(warning.contains("ended in the middle of a line"), "{warning}");
        let stats = pipeline.element("publish").property::<gst::Structure>("stats");
        assert_eq!((stats.get("torn"), stats.get("written")), (Ok(1u64), Ok(3u64)));
        pipeline.stop();
        let (after, torn) = read(&path);
        assert_eq!(torn.len(), 1, "{torn:?}");
        assert_eq!(after[after.len() - 3..], [0, 1, 2]);
        assert!(after.len() - 3 >= frames.len() - 1);
    }
}

/// The files of a location in the order in which they were written.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|file| (file == path, file.clone()));
    files
}

#[test]
fn rotation_loses_no_line() {
    for (properties, most, least) in [("max-size=10000", 10_000, 5), ("max-age=1", 100_000, 3)] {
        let path = scratch("rotation").join("out.jsonl");
        let pipeline = TestPipeline::start(&format!(
            "videotestsrc num-buffers=300 ! {SMALL} ! inferpublish name=publish {properties} location={} ! fakesink",
            path.display()
        ));
        pipeline.wait().succeeds();
        let stats = pipeline.element("publish").property::<gst::Structure>("stats");
        pipeline.stop();
        let files = files(&path);
        assert!(files.len() > least, "{files:?}");
        assert_eq!(stats.get("rotated"), Ok(files.len() as u64 - 1));
        let mut frames = Vec::new();
        for file in &files {
            assert!(size(file) <= most, "{file:?}");
            let (whole, torn) = read(file);
            assert!(torn.is_empty(), "{torn:?}");
            frames.extend(whole);
        }
        assert_eq!(frames, (0..300).collect::<Vec<_>>(), "{properties}");
        assert!(files[0].ends_with("out.000001.jsonl"), "{files:?}");
    }
}

#[test]
fn only_max_files_are_kept_and_numbers_go_on_after_a_restart() {
    let path = scratch("retention").join("out.jsonl");
    let pipeline = format!(
        "videotestsrc num-buffers=200 ! {SMALL} ! inferpublish max-size=5000 max-files=3 location={} ! fakesink",
        path.display()
    );
    let mut last = BTreeSet::new();
    for _ in 0..2 {
        run(&pipeline).succeeds();
        let files = files(&path);
        assert_eq!(files.len(), 4, "{files:?}");
        assert_eq!(read(&path).0.last(), Some(&199));
        assert!(last.insert(files[2].clone()), "{files:?}");
    }
}

#[test]
fn on_a_full_disk_the_stream_goes_on_and_every_line_is_whole_and_every_loss_counted() {
    let path = scratch("full").join("out.jsonl");
    // The limit of the process stands for a full disk: writing beyond it fails in the same way.
    let full = "trap '' XFSZ; ulimit -S -f 20";
    let pipeline_of = |properties: &str| {
        format!(
            "videotestsrc num-buffers=500 ! {SMALL} ! inferpublish {properties} location={} ! fakesink",
            path.display()
        )
    };
    for append in ["", "append=true"] {
        let (said, succeeded) = Process::start(full, &pipeline_of(append)).end();
        assert!(succeeded, "{said}");
        assert!(said.contains("is full (File too large") && said.contains("disk-full=stop"), "{said}");
        let (frames, torn) = read(&path);
        assert!(torn.is_empty() && size(&path) <= 20 * 1024, "{torn:?}");
        let written = if append.is_empty() { frames.len() } else { 0 };
        let lost = format!("{} of 500 records could not be written", 500 - written);
        assert!(said.contains(&lost), "{lost}: {said}");
    }
    let (said, succeeded) = Process::start(full, &pipeline_of("disk-full=stop")).end();
    assert!(!succeeded && said.contains("cannot be written: File too large"), "{said}");
    assert!(read(&path).1.is_empty());
}

#[test]
fn when_there_is_room_again_records_are_written_again() {
    let path = scratch("room").join("out.jsonl");
    let process = Process::start(
        "trap '' XFSZ; ulimit -S -f 20",
        &format!("videotestsrc ! {SMALL} ! inferpublish location={} ! fakesink", path.display()),
    );
    let full = 20 * 1024;
    until("it is full", || size(&path) > full - 1000);
    process.do_to("prlimit", &["--pid", "PID", "--fsize=unlimited:"]);
    until("there is more", || size(&path) > full + 10_000);
    process.do_to("kill", &["-INT", "PID"]);
    let (said, succeeded) = process.end();
    assert!(succeeded, "{said}");
    let (frames, torn) = read(&path);
    assert!(torn.is_empty(), "{torn:?}");
    assert!(frames.windows(2).all(|pair| pair[0] < pair[1]), "in order");
}

#[test]
fn detections_are_one_array_as_the_tools_of_coco_read_it() {
    let folder = scratch("coco");
    for limit in ["", "max-size=1000"] {
        let path = folder.join(format!("{}.json", limit.len()));
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=20 ! {FRAMES} ! identity name=scene \
             ! inferpublish format=coco {limit} location={} ! fakesink",
            path.display()
        ));
        play(&pipeline, |frame| {
            if frame % 5 == 4 { vec![] } else { vec![tracked(1, frame as f32), tracked(2, 40.0)] }
        });
        pipeline.play();
        pipeline.wait().succeeds();
        let mut all = Vec::new();
        let files = files(&path)
            .into_iter()
            .filter(|file| file.file_name().unwrap().to_string_lossy().starts_with(&limit.len().to_string()));
        for file in files {
            let results: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
            all.extend(results);
        }
        pipeline.stop();
        assert_eq!(all.len(), 32);
        assert_eq!(
            all[3],
            json!({ "image_id": 1, "category_id": 0, "bbox": [35.0, 30.0, 10.0, 20.0], "score": 0.9 })
        );
        let images: BTreeSet<_> = all.iter().map(|result| result["image_id"].as_u64().unwrap()).collect();
        assert_eq!(images.len(), 16);
    }
}
