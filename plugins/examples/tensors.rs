//! Writes the network's input tensors of frames that are evenly spread over a video: what `scripts/quantize` calibrates
//! with.
//!
//! ```text
//! cargo run --release -p gst-plugin-cudainfer --example tensors -- VIDEO MODEL.onnx FRAMES FOLDER
//! ```
//!
//! They are what fusedpreproc hands to trtinfer. Each goes to FOLDER/NUMBER.raw, NUMBER being the frame's from 0 on;
//! standard output gets one line of JSON: `{"name", "type", "dims"}`. How long the video is shows only at its end, so
//! between FRAMES and twice as many are left there, of a shorter video all.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gst::prelude::*;
use gstcudainfer::meta::tensor::TensorSet;
use serde_json::json;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [video, model, frames, folder] => run(video, model, frames, Path::new(folder)),
        _ => Err("usage: tensors VIDEO MODEL.onnx FRAMES FOLDER".into()),
    };
    if let Err(error) = done {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run(video: &str, model: &str, frames: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let wanted = frames.parse().ok().filter(|n| *n > 0);
    let wanted = wanted.ok_or_else(|| format!("'{frames}' is no number of frames: give one from 1 on"))?;
    gst::init()?;
    gstcudainfer::plugin_register_static()?;
    let line = "filesrc name=video ! decodebin ! videoconvert ! fusedpreproc name=preproc device=cpu \
                ! trtinfer name=infer provider=cpu ! fakesink sync=false";
    let line = gst::parse::launch(line)?.downcast::<gst::Bin>().map_err(|_| "the line is no bin")?;
    let element = |name| line.by_name(name).ok_or(format!("the line has no {name}"));
    let sink = |name| element(name)?.static_pad("sink").ok_or(format!("{name} has no sink pad"));
    element("video")?.set_property("location", video);
    element("infer")?.set_property("model", model);

    let kept = Arc::new(Mutex::new(Kept::new(folder, wanted)));
    let spread = Arc::clone(&kept);
    // Frames that will not be kept are not prepared either.
    sink("preproc")?.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        if lock(&spread).next() { gst::PadProbeReturn::Ok } else { gst::PadProbeReturn::Handled }
    });
    let writer = Arc::clone(&kept);
    // trtinfer only states what its model wants: nothing is inferred.
    sink("infer")?.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let mut kept = lock(&writer);
        if let Some(Err(error)) = info.buffer().map(|buffer| kept.keep(buffer)) {
            kept.failure.get_or_insert(error.to_string());
        }
        gst::PadProbeReturn::Handled
    });

    let bus = line.bus().ok_or("the line has no bus")?;
    // Where it does not even start, the reason is on the bus already.
    let patience = line.set_state(gst::State::Playing).is_err().then_some(gst::ClockTime::SECOND);
    let message = bus.timed_pop_filtered(patience, &[gst::MessageType::Eos, gst::MessageType::Error]);
    line.set_state(gst::State::Null)?;
    match message.as_ref().map(|message| message.view()) {
        Some(gst::MessageView::Error(error)) => return Err(error.error().to_string().into()),
        Some(_) => {}
        None => return Err("the line does not start".into()),
    }
    let kept = lock(&kept);
    if let Some(failure) = &kept.failure {
        return Err(failure.as_str().into());
    }
    let tensor =
        kept.tensor.as_ref().ok_or(format!("no frame came out of {video}: has it a video stream?"))?;
    println!("{tensor}");
    Ok(())
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every `step`th frame of those so far; the step doubles when they become too many.
struct Kept {
    folder: PathBuf,
    wanted: usize,
    step: u64,
    seen: u64,
    files: Vec<PathBuf>,
    tensor: Option<serde_json::Value>,
    failure: Option<String>,
}

impl Kept {
    fn new(folder: &Path, wanted: usize) -> Self {
        let folder = folder.to_path_buf();
        Self { folder, wanted, step: 1, seen: 0, files: Vec::new(), tensor: None, failure: None }
    }

    /// Counts a frame and returns whether to keep it.
    fn next(&mut self) -> bool {
        self.seen += 1;
        (self.seen - 1).is_multiple_of(self.step)
    }

    fn keep(&mut self, buffer: &gst::BufferRef) -> Result<(), Box<dyn Error>> {
        let sets = TensorSet::of(buffer).ok_or("fusedpreproc has left no tensor on the frame")?;
        let tensor = sets
            .first()
            .and_then(|set| set.tensors.first())
            .ok_or("fusedpreproc has left no tensor on the frame")?;
        let desc = &tensor.desc;
        let dims: Option<Vec<usize>> = desc.dims.iter().copied().collect();
        self.tensor = Some(json!({ "name": desc.name, "type": desc.ty.name(), "dims": dims }));
        let file = self.folder.join(format!("{:06}.raw", self.seen - 1));
        std::fs::write(&file, tensor.data.map_readable()?.as_slice())
            .map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
        self.files.push(file);
        if self.files.len() == 2 * self.wanted {
            for file in self.files.iter().skip(1).step_by(2) {
                std::fs::remove_file(file)?;
            }
            let mut even = false;
            self.files.retain(|_| {
                even = !even;
                even
            });
            self.step *= 2;
        }
        Ok(())
    }
}
