//! The model's sidecar, from the keys of nvinfer's `[property]` about the network itself.

use std::fmt::Write;

use super::labels::Labels;
use super::parsers::Reading;
use super::task::Task;
use crate::import::report::Verdict::{Differs, NotTranslated};
use crate::import::section::Section;
use crate::import::write::{list, number, text as quote};

/// The text of the sidecar.
pub(super) fn text(property: Section<'_>, task: Task, labels: &Labels, reading: Reading) -> String {
    let mut out = String::from("# Made from nvinfer's configuration by cudainfer-serve import\n\n[input]\n");
    input(property, &mut out);
    out.push_str("\n[output]\n");
    for (key, value) in [("decoder", reading.decoder), ("activation", reading.activation)] {
        if let Some(value) = value {
            let _ = writeln!(out, "{key} = {}", quote(value));
        }
    }
    let outputs = property.list("output-blob-names");
    match (&labels.file, &labels.names[..]) {
        (Some(file), _) => {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            let _ = writeln!(out, "labels-file = {}", quote(&file.to_string_lossy()));
        }
        (None, names) if !names.is_empty() && (outputs.len() < 2 || task != Task::Classification) => {
            let _ = writeln!(out, "labels = {}", list(names.iter().map(|n| quote(n))));
        }
        _ => {}
    }
    match task {
        Task::Classification => classify(property, &outputs, labels, &mut out),
        Task::Segmentation => segment(property, &mut out),
        _ => {}
    }
    out
}

/// nvinfer makes `net-scale-factor * (pixel - offset)` of a pixel; the sidecar's is `(pixel * scale - mean) / std`.
fn input(property: Section<'_>, out: &mut String) {
    let factor = property.number("net-scale-factor").unwrap_or(1.0);
    let offsets = property.numbers("offsets");
    let channels = match property.integer("model-color-format") {
        None | Some(0) => "rgb",
        Some(1) => "bgr",
        Some(2) => "gray",
        Some(_) => {
            property.note(
                "model-color-format",
                NotTranslated,
                "expected 0 (RGB), 1 (BGR) or 2 (gray): rgb is assumed",
            );
            "rgb"
        }
    };
    let _ = writeln!(out, "channels = {}", quote(channels));
    if factor <= 0.0 {
        property.note("net-scale-factor", NotTranslated, "it must be above 0");
    } else if offsets.iter().all(|o| *o == 0.0) {
        let _ = writeln!(out, "scale = {}", number(factor));
    } else {
        let _ = writeln!(out, "scale = 1.0");
        let _ = writeln!(out, "mean = {}", list(offsets.iter().map(|o| number(*o))));
        let _ = writeln!(out, "std = [{}]", number(1.0 / factor));
    }
    let resize = match (property.flag("maintain-aspect-ratio"), property.flag("symmetric-padding")) {
        (false, _) => "stretch",
        (true, true) => "letterbox",
        (true, false) => "letterbox-top-left",
    };
    let _ = writeln!(out, "resize = {}", quote(resize));
    if resize != "stretch" {
        // nvinfer's bars are black.
        let _ = writeln!(out, "padding = 0");
    }
    interpolation(property, out);
    size(property, out);
}

/// The numbers of NvBufSurfTransform_Inter. If none is set, nvinfer takes NvBufSurfTransformInter_Default (6), which is nearest.
fn interpolation(property: Section<'_>, out: &mut String) {
    match property.integer("scaling-filter") {
        Some(0 | 6) | None => out.push_str("interpolation = \"nearest\"\n"),
        Some(1) => out.push_str("interpolation = \"bilinear\"\n"),
        Some(_) => {
            property.note("scaling-filter", Differs, "bilinear is used: the other filters are NVIDIA's own");
            out.push_str("interpolation = \"bilinear\"\n");
        }
    }
}

/// Size and layout; trtinfer ignores them if the ONNX file has them, as it mostly does.
fn size(property: Section<'_>, out: &mut String) {
    let by_height = property.numbers("infer-dims");
    let older = property.numbers("input-dims");
    let uff = property.numbers("uff-input-dims");
    let order = property.integer("network-input-order").or_else(|| property.integer("uff-input-order"));
    let dims = [by_height, older, uff].into_iter().find(|d| d.len() >= 3).unwrap_or_default();
    // infer-dims is channels, height, width; a network of NHWC has the channels last.
    let (height, width) = match (dims.as_slice(), order) {
        ([height, width, c, ..], Some(1)) if *c <= 4.0 => (*height, *width),
        ([_, height, width, ..], _) => (*height, *width),
        _ => return,
    };
    if height >= 1.0 && width >= 1.0 {
        let _ = writeln!(out, "width = {width}\nheight = {height}");
    }
    if order == Some(1) {
        out.push_str("layout = \"nhwc\"\n");
    }
}

/// nvinfer takes a classifier's outputs for probabilities. Of several outputs, each has a table.
fn classify(property: Section<'_>, outputs: &[&str], labels: &Labels, out: &mut String) {
    out.push_str("\n[classify]\nactivation = \"none\"\n");
    if let Some(threshold) = property.number("classifier-threshold") {
        let _ = writeln!(out, "threshold = {}", number(threshold));
    }
    if outputs.len() > 1 {
        for (output, names) in outputs.iter().zip(&labels.outputs) {
            let _ = writeln!(
                out,
                "\n[classify.{}]\nlabels = {}",
                quote(output),
                list(names.iter().map(|n| quote(n)))
            );
        }
    }
}

fn segment(property: Section<'_>, out: &mut String) {
    out.push_str("\n[segment]\n");
    if let Some(threshold) = property.number("segmentation-threshold") {
        property.note(
            "segmentation-threshold",
            Differs,
            "it counts for a network with one channel; with several, each pixel has its best class",
        );
        let _ = writeln!(out, "threshold = {}", number(threshold));
    }
    if property.integer("segmentation-output-order") == Some(1) {
        out.push_str("layout = \"nhwc\"\n");
    }
}
