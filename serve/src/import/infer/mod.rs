//! nvinfer: `[primary-gie]` and `[secondary-gie0]`… of the application, each with a file of its own.

mod clustering;
mod labels;
mod parsers;
mod sidecar;
mod task;

use std::path::{Path, PathBuf};

use cudainfer_model::onnx;

use super::document::Document;
use super::element::Element;
use super::report::{
    Report,
    Verdict::{Differs, NotNeeded, NotTranslated},
};
use super::section::{Reasons, Section, repeated};

pub(super) use task::Task;

/// One network of the configuration.
#[derive(Debug)]
pub(super) struct ImportedNetwork {
    /// `gie-unique-id`, by which secondary networks name it.
    pub(super) id: i64,
    pub(super) task: Task,
    /// The ONNX file; none if the configuration names only formats that ONNX Runtime does not read.
    pub(super) model: Option<PathBuf>,
    /// The text of its sidecar.
    pub(super) sidecar: String,
    /// Names of its classes; none if the file of labels could not be read.
    pub(super) labels: Vec<String>,
    /// For a secondary network: the network whose objects it works on, and their classes.
    pub(super) operates_on: Option<(i64, Vec<i64>)>,
    /// For a secondary network: the least width and height of an object.
    pub(super) min_size: i64,
    /// Frames between two that the network sees, or between two in which it sees the same object.
    pub(super) interval: i64,
    /// The trtinfer, with all properties but the model.
    pub(super) engine: Element,
    /// The elements that read the outputs.
    pub(super) decoder: Vec<Element>,
}

const GIE: Reasons = &[
    (&["nvbuf-memory-type", "plugin-type"], NotNeeded, "memory and elements are chosen by caps"),
    (&["bbox-border-color*", "bbox-bg-color*"], NotTranslated, "inferoverlay chooses the colours"),
    (&["infer-raw-output-dir"], NotTranslated, "the network's outputs are not written to files"),
    (
        &["model-engine-file"],
        NotNeeded,
        "the ONNX file is read, and engines are kept in trtinfer's engine-cache",
    ),
    (
        &["input-tensor-meta", "input-tensor-from-meta"],
        NotTranslated,
        "there is no element like nvdspreprocess; fusedpreproc roi=list cuts regions out",
    ),
    (&["gpu-id"], NotTranslated, "the GPU is chosen by its load; device=cuda:N of the elements pins it"),
];

/// All networks: the primary one first, then the secondary ones in the order of their numbers.
pub(super) fn translate(document: &Document, report: &Report) -> Vec<ImportedNetwork> {
    let number = |name: &str| match name {
        "primary-gie" => Some(-1),
        _ => name
            .strip_prefix("secondary-gie")
            .and_then(|n| if n.is_empty() { Some(0) } else { n.parse::<i64>().ok() }),
    };
    let mut groups: Vec<_> = document.groups.iter().filter_map(|g| Some((number(&g.name)?, g))).collect();
    groups.sort_by_key(|(number, _)| *number);
    let sections = groups.into_iter().map(|(number, group)| (number, Section { document, group, report }));
    sections
        .filter_map(|(number, section)| section.enabled().then(|| network(section, number < 0))?)
        .collect()
}

/// One group of the application with its file.
fn network(gie: Section<'_>, primary: bool) -> Option<ImportedNetwork> {
    let left_out = |key, reason: String| {
        gie.note(key, NotTranslated, format!("this network is left out: {reason}"));
        gie.group.pass_over();
        None
    };
    if gie.integer("plugin-type") == Some(1) {
        let reason = "it is nvinferserver's, whose file is Triton's; only nvinfer's is translated";
        return left_out("plugin-type", reason.into());
    }
    let Some(path) = gie.path("config-file") else {
        return left_out("config-file", "it names no config-file".into());
    };
    let document = match Document::open(&path) {
        Ok(document) => document,
        Err(e) => return left_out("config-file", e.to_string()),
    };
    let Some(property) = Section::find(&document, "property", gie.report) else {
        return left_out("config-file", "the file has no group [property], so it is not nvinfer's".into());
    };
    let network = of_file(gie, property, primary);
    for key in &document.repeated {
        repeated(&document, key, gie.report);
    }
    gie.finish(GIE);
    Some(network)
}

fn of_file(gie: Section<'_>, property: Section<'_>, primary: bool) -> ImportedNetwork {
    // The application's group overrides the file.
    let either = |key| {
        let own = property.integer(key);
        gie.integer(key).or(own)
    };
    let id = either("gie-unique-id").unwrap_or(if primary { 1 } else { 2 });
    let task = Task::of(property);
    let secondary = match property.integer("process-mode") {
        Some(mode) => mode == 2,
        None => !primary,
    };
    let ids = |s: Section<'_>| -> Vec<i64> {
        s.list("operate-on-class-ids").iter().filter_map(|n| n.parse().ok()).collect()
    };
    let mut classes = ids(gie);
    let in_file = ids(property);
    if classes.is_empty() {
        classes = in_file;
    }
    classes.retain(|id| *id >= 0);
    let upstream = either("operate-on-gie-id").filter(|id| *id >= 0).unwrap_or(1);
    let min_size = [property.integer("input-object-min-width"), property.integer("input-object-min-height")];
    if let [Some(a), Some(b)] = min_size
        && a != b
    {
        property.note(
            "input-object-min-width",
            Differs,
            "min-size of fusedpreproc is one number for width and height: the smaller one",
        );
    }
    let labels = labels::read(gie, property, task);
    let reading = parsers::find(property, task);
    let decoder = match task {
        Task::Detection | Task::Instances => {
            let nms = clustering::gpunms(property, &labels.names);
            if task == Task::Instances { vec![nms, Element::new("segmask")] } else { vec![nms] }
        }
        Task::Classification => match &property.list("output-blob-names")[..] {
            outputs @ [_, _, ..] => {
                outputs.iter().map(|o| Element::new("classify").with("output", o)).collect()
            }
            _ => vec![Element::new("classify")],
        },
        Task::Segmentation => vec![Element::new("segmask")],
        Task::Other => {
            property.note(
                "network-type",
                NotTranslated,
                "the outputs are read by an application's own code: see docs/your-own-decoder.md",
            );
            Vec::new()
        }
    };
    let model = model(property);
    let network = ImportedNetwork {
        id,
        task,
        model: model.clone(),
        sidecar: sidecar::text(property, task, &labels, reading),
        labels: labels.names,
        operates_on: secondary.then_some((upstream, classes)),
        min_size: min_size.into_iter().flatten().filter(|n| *n > 0).min().unwrap_or(0),
        interval: if secondary {
            // nvinfer counts from one look to the next.
            property.integer("secondary-reinfer-interval").map_or(0, |frames| frames.saturating_sub(1))
        } else {
            either("interval").unwrap_or(0)
        },
        engine: engine(property, batch(gie, property, model.as_deref())),
        decoder,
    };
    property.finish(PROPERTY);
    network
}

/// The batch, if the configuration sets one that the ONNX file can take. A file with a fixed batch takes that one alone.
fn batch(gie: Section<'_>, property: Section<'_>, model: Option<&Path>) -> Option<i64> {
    let in_file = property.integer("batch-size");
    let (section, batch) = match gie.integer("batch-size") {
        Some(batch) => (gie, batch),
        None => (property, in_file?),
    };
    let Some(fixed) = model.and_then(onnx::fixed_batch) else { return Some(batch) };
    if i64::try_from(fixed) != Ok(batch) {
        section.note(
            "batch-size",
            Differs,
            format!(
                "the ONNX file's batch is fixed at {fixed}, so batch-size is left out and a run takes {fixed}. Export the model with \
                 an open batch, as dynamic axis 0, and set batch-size={batch}"
            ),
        );
    }
    None
}

/// The properties of trtinfer.
fn engine(property: Section<'_>, batch: Option<i64>) -> Element {
    let element = Element::new("trtinfer").with("model", "{model}");
    let element = element.with_some("batch-size", batch.filter(|n| *n > 1));
    match property.integer("network-mode") {
        Some(1) => {
            property.note(
                "network-mode",
                Differs,
                "float16 is used in the place of INT8, whose calibration is TensorRT's own; scripts/quantize makes an INT8 model",
            );
            element.with("precision", "float16")
        }
        Some(2 | 3) => {
            property.note(
                "network-mode",
                Differs,
                "precision=float16 is for GPUs; on the CPU it is slower: take it out there",
            );
            element.with("precision", "float16")
        }
        _ => element,
    }
}

/// The ONNX file. The name of an engine made by nvinfer is the ONNX file's with `_b1_gpu0_fp16.engine` after it.
fn model(property: Section<'_>) -> Option<PathBuf> {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    if let Some(path) = property.path("onnx-file") {
        return Some(absolute(path));
    }
    let engine = absolute(property.path("model-engine-file")?);
    let name = engine.file_name()?.to_string_lossy().into_owned();
    let stem = name.split_once(".onnx_b").map(|(stem, _)| format!("{stem}.onnx"));
    match stem {
        Some(stem) => {
            property.note(
                "model-engine-file",
                Differs,
                format!("an engine is TensorRT's own; it was made of {stem}, which is taken"),
            );
            Some(engine.with_file_name(stem))
        }
        None => {
            property.note("model-engine-file", NotTranslated, "an engine is TensorRT's own, and no onnx-file is named: put the ONNX file that it was made of in the place that the configuration names");
            None
        }
    }
}

const PROPERTY: Reasons = &[
    (
        &["uff-input-blob-name", "output-blob-names", "num-detected-classes"],
        NotNeeded,
        "the ONNX file says it",
    ),
    (&["classifier-threshold"], NotNeeded, "it is for classifiers"),
    (&["gpu-id"], NotNeeded, "the GPU is chosen by its load; device=cuda:N of the elements pins it"),
    (
        &[
            "model-engine-file",
            "force-implicit-batch-dim",
            "workspace-size",
            "enable-dla",
            "use-dla-core",
            "int8-calib-file",
            "layer-device-precision",
            "auto-inc-mem",
            "max-gpu-mem-per",
            "crop-objects-to-roi-boundary",
        ],
        NotNeeded,
        "it is about building TensorRT's engine; trtinfer keeps its own in engine-cache",
    ),
    (
        &[
            "tlt-encoded-model",
            "tlt-model-key",
            "model-file",
            "proto-file",
            "uff-file",
            "custom-network-config",
        ],
        NotTranslated,
        "only ONNX is read: export the model as ONNX and set model= to it",
    ),
    (
        &["custom-lib-path", "engine-create-func-name", "engine-create-func", "parse-classifier-func-name"],
        NotNeeded,
        "outputs are read by the elements, without a library",
    ),
    (&["mean-file"], NotTranslated, "give one mean for each channel, as mean in [input] of the sidecar"),
    (
        &[
            "classifier-async-mode",
            "classifier-type",
            "disable-output-host-copy",
            "output-tensor-meta",
            "scaling-compute-hw",
            "gie-mode",
            "output-io-formats",
            "use-cuda-graph",
        ],
        NotNeeded,
        "it is decided by caps and metadata",
    ),
    (
        &["input-object-max-width", "input-object-max-height", "filter-out-class-ids"],
        NotTranslated,
        "fusedpreproc and gpunms have no such limit; classes= of gpunms names those to keep",
    ),
    (
        &["segmentation-threshold", "output-instance-mask"],
        NotTranslated,
        "it was not needed for this kind of network",
    ),
    (
        &["input-tensor-from-meta", "tensor-meta-pool-size"],
        NotTranslated,
        "there is no element like nvdspreprocess; fusedpreproc roi=list cuts regions out",
    ),
    (
        &[
            "infer-raw-output-dir",
            "dump-input-tensor",
            "dump-output-tensor",
            "overwrite-input-tensor",
            "ip-tensor-file",
            "dump-ip-tensor",
            "dump-op-tensor",
            "overwrite-ip-tensor",
        ],
        NotTranslated,
        "tensors are not written to files",
    ),
];
