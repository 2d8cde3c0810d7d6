//! Golden results: what each pipeline file makes of a small video, as files in tests/golden/results, one for each pipeline. `UPDATE_GOLDEN=1`
//! writes them again.
//!
//! A file has, for each record that is published, its numbers with a fraction and a CRC of the rest, and a CRC of each frame where it
//! leaves our elements. The video and the models are made by the tests, so nothing in it depends on a decoder, a font of the system
//! or a download. What must be the same to the bit on every CPU with every GStreamer: the frames, and everything in the records but
//! numbers with a fraction. Those are compared with a tolerance ([`ON_CPU`]), because ONNX Runtime adds up in another order from
//! release to release.

pub mod cases;
mod film;
mod records;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use gst::prelude::*;
use gst_video::prelude::*;
use gst_video::{VideoFrameRef, VideoInfo};
use serde_json::{Value, json};

use crate::pipeline_file::launch;
use crate::{TestPipeline, files_below, root, scratch};

pub use records::{Record, crc};

/// By how much confidences and lengths may differ between runtimes on the CPU: one step of the last digit that is
/// written of each, 0.0001 and 0.01, and half a step more.
pub const ON_CPU: [f64; 2] = [1.5e-4, 0.015];

/// The same between CPU and GPU: convolutions and means are added up in other orders, which moves a confidence by some 1e-4, and
/// edges by a few hundredths of a pixel of a frame that is three times as large as the tensor (as tests/gpu/pipelines has it).
pub const ON_GPU: [f64; 2] = [1e-3, 0.1];

/// What came out of a pipeline.
pub struct Outcome {
    /// The records that were published.
    pub records: Vec<Record>,
    /// The bytes of the frames, for each pad at which frames leave our elements.
    pub frames: Vec<Vec<Vec<u8>>>,
}

/// The names of all pipeline files.
pub fn names() -> Vec<String> {
    let files = files_below(&root().join("pipelines"), &[".launch"]);
    let own =
        files.into_iter().filter(|file| file.parent().is_some_and(|folder| folder.ends_with("pipelines")));
    own.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

/// Runs a pipeline file. With `device`, all elements that have the property work there.
pub fn outcome(name: &str, device: Option<&str>) -> Outcome {
    let folder = scratch(&format!("golden-{name}"));
    let text = std::fs::read_to_string(root().join("pipelines").join(format!("{name}.launch"))).unwrap();
    let has = |key: &str| text.contains(&format!("\n# {key}="));
    let mut values = cases::values(name, &folder);
    let film = film::film().display().to_string();
    let videos = ["video", "video1", "video2", "video3", "video4"];
    values.extend(videos.into_iter().filter(|key| has(key)).map(|key| (key, film.clone())));
    let published = folder.join("published.jsonl");
    for (key, file) in
        [("json", "published.jsonl"), ("labels", "published.jsonl"), ("output", "output"), ("matte", "matte")]
    {
        if has(key) {
            values.push((key, folder.join(file).display().to_string()));
        }
    }
    let values: Vec<_> = values.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let pipeline = TestPipeline::new(&launch(name, &values));
    let frames: Vec<_> = prepare(&pipeline, device);
    pipeline.play();
    pipeline.wait().succeeds();
    pipeline.stop();
    let lines = std::fs::read_to_string(published).unwrap_or_default();
    Outcome {
        records: lines.lines().map(Record::of).collect(),
        frames: frames.into_iter().map(|frames| std::mem::take(&mut *frames.lock().unwrap())).collect(),
    }
}

type Frames = Arc<Mutex<Vec<Vec<u8>>>>;

/// Sets what must be the same everywhere, and collects the frames at each pad of ours to which another plugin's element is linked.
fn prepare(pipeline: &gst::Pipeline, device: Option<&str>) -> Vec<Frames> {
    let mut elements: Vec<gst::Element> = pipeline.iterate_recurse().into_iter().flatten().collect();
    // A bin lists the element first that was added last.
    elements.reverse();
    let is_ours = |element: &gst::Element| element.type_().name().starts_with("GstCudaInfer");
    let mut ends = Vec::new();
    for element in elements.iter().filter(|element| is_ours(element)) {
        if element.has_property("font") {
            element.set_property("font", "built-in");
        }
        if let Some(device) = device.filter(|_| element.has_property("device")) {
            element.set_property("device", device);
        }
        let Some(pad) = element.static_pad("src") else { continue };
        let next = pad.peer().and_then(|peer| peer.parent_element());
        if next.is_some_and(|next| !is_ours(&next)) {
            ends.push(watch(&pad));
        }
    }
    ends
}

fn watch(pad: &gst::Pad) -> Frames {
    let frames = Frames::default();
    let seen = Arc::clone(&frames);
    pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        if let Some(buffer) = info.buffer() {
            let info = VideoInfo::from_caps(&pad.current_caps().unwrap()).unwrap();
            let frame = VideoFrameRef::from_buffer_ref_readable(buffer, &info).unwrap();
            seen.lock().unwrap().push(dense(&frame));
        }
        gst::PadProbeReturn::Ok
    });
    frames
}

/// The bytes of all planes without what pads their rows.
fn dense(frame: &VideoFrameRef<&gst::BufferRef>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let format = frame.info().format_info();
    for plane in 0..frame.n_planes() {
        let component = (0..frame.n_components()).find(|c| format.plane()[*c as usize] == plane).unwrap();
        let stride = usize::try_from(frame.plane_stride()[plane as usize]).unwrap();
        let pixel = usize::try_from(format.pixel_stride()[component as usize]).unwrap();
        let width = pixel * frame.comp_width(component) as usize;
        let data = frame.plane_data(plane).unwrap();
        for row in 0..frame.comp_height(component) as usize {
            bytes.extend_from_slice(&data[row * stride..row * stride + width]);
        }
    }
    bytes
}

fn path(name: &str) -> PathBuf {
    root().join("tests/golden/results").join(format!("{name}.json"))
}

impl Outcome {
    /// The CRCs of the frames at each pad.
    pub fn crcs(&self) -> Vec<Vec<String>> {
        let crcs = |frames: &Vec<Vec<u8>>| frames.iter().map(|frame| format!("{:08x}", crc(frame))).collect();
        self.frames.iter().map(crcs).collect()
    }

    /// Writes the golden file: a line for each record and each pad.
    pub fn write(&self, name: &str) {
        let line = |record: &Record| json!([format!("{:08x}", record.rest), record.numbers]).to_string();
        let list =
            |lines: Vec<String>| lines.iter().map(|line| format!("\n  {line}")).collect::<Vec<_>>().join(",");
        let text = format!(
            "{{\"records\": [{}],\n \"frames\": [{}]}}\n",
            list(self.records.iter().map(line).collect()),
            list(self.crcs().iter().map(|crcs| json!(crcs).to_string()).collect())
        );
        let path = path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// How the records differ from the golden ones.
    pub fn differences(&self, name: &str, tolerance: [f64; 2]) -> Vec<String> {
        let wanted = golden(name)["records"].as_array().unwrap().clone();
        let mut found = Vec::new();
        if wanted.len() != self.records.len() {
            found.push(format!("{name}: {} records, not {}", self.records.len(), wanted.len()));
        }
        for (number, (record, wanted)) in self.records.iter().zip(&wanted).enumerate() {
            let rest = u32::from_str_radix(wanted[0].as_str().unwrap(), 16).unwrap();
            let numbers: Vec<f64> =
                wanted[1].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
            let difference = record.difference(rest, &numbers, tolerance);
            found.extend(difference.map(|difference| format!("{name}, record {number}: {difference}")));
        }
        found
    }

    /// The frames whose CRCs are not the golden ones.
    pub fn other_frames(&self, name: &str) -> Vec<String> {
        let wanted: Vec<Vec<String>> = serde_json::from_value(golden(name)["frames"].clone()).unwrap();
        let crcs = self.crcs();
        if wanted.iter().map(Vec::len).ne(crcs.iter().map(Vec::len)) {
            return vec![format!("{name}: another number of frames")];
        }
        let pads = wanted.iter().zip(&crcs).enumerate();
        pads.flat_map(|(pad, (wanted, got))| {
            let other = wanted.iter().zip(got).enumerate().filter(|(_, (wanted, got))| wanted != got);
            other.map(move |(frame, _)| format!("{name}, pad {pad}: frame {frame} has other pixels"))
        })
        .collect()
    }
}

fn golden(name: &str) -> Value {
    let path = path(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}. UPDATE_GOLDEN=1 writes it", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Golden files without a pipeline.
pub fn left_over() -> Vec<String> {
    let names = names();
    let files: BTreeMap<String, PathBuf> = files_below(&root().join("tests/golden/results"), &[".json"])
        .into_iter()
        .map(|file| (file.file_stem().unwrap().to_string_lossy().into_owned(), file))
        .collect();
    files.into_keys().filter(|name| !names.contains(name)).collect()
}
