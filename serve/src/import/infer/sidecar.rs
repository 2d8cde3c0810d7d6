//! The model's sidecar, from the keys of nvinfer's `[property]` about the network itself.

use cudainfer_model::Sidecar;
use cudainfer_model::kernels::detect::Activation;
use cudainfer_model::kernels::preproc::{ChannelOrder, Interpolation, Layout, Padding, Resize};
use cudainfer_model::sidecar::{Classify, Head, Input, Segment};

use super::labels::Labels;
use super::parsers::Reading;
use super::task::Task;
use crate::import::report::Verdict::{Differs, NotTranslated};
use crate::import::section::Section;

/// The text of the sidecar.
pub(super) fn text(property: Section<'_>, task: Task, labels: &Labels, reading: Reading) -> String {
    let mut sidecar = Sidecar { input: input(property), ..Sidecar::default() };
    (sidecar.output.decoder, sidecar.output.activation) = (reading.decoder, reading.activation);
    let outputs = property.list("output-blob-names");
    match &labels.file {
        Some(file) => {
            sidecar.output.labels_file = Some(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
        }
        None if outputs.len() < 2 || task != Task::Classification => {
            sidecar.output.labels.clone_from(&labels.names);
        }
        None => {}
    }
    match task {
        Task::Classification => sidecar.classify = classify(property, &outputs, labels),
        Task::Segmentation => sidecar.segment = segment(property),
        _ => {}
    }
    format!("# Made from nvinfer's configuration by cudainfer-serve import\n\n{}", sidecar.to_toml())
}

/// A number of nvinfer's as the sidecar has them.
#[expect(clippy::cast_possible_truncation, reason = "nvinfer's own are float32, too")]
fn float(number: f64) -> f32 {
    number as f32
}

/// nvinfer makes `net-scale-factor * (pixel - offset)` of a pixel; the sidecar's is `(pixel * scale - mean) / std`.
fn input(property: Section<'_>) -> Input {
    let factor = property.number("net-scale-factor").unwrap_or(1.0);
    let offsets = property.numbers("offsets");
    let channels = match property.integer("model-color-format") {
        None | Some(0) => ChannelOrder::Rgb,
        Some(1) => ChannelOrder::Bgr,
        Some(2) => ChannelOrder::Gray,
        Some(_) => {
            property.note(
                "model-color-format",
                NotTranslated,
                "expected 0 (RGB), 1 (BGR) or 2 (gray): rgb is assumed",
            );
            ChannelOrder::Rgb
        }
    };
    let resize = match (property.flag("maintain-aspect-ratio"), property.flag("symmetric-padding")) {
        (false, _) => Resize::Stretch,
        (true, true) => Resize::Letterbox,
        (true, false) => Resize::LetterboxTopLeft,
    };
    let mut input = Input {
        channels: Some(channels),
        resize: Some(resize),
        // nvinfer's bars are black.
        padding: (resize != Resize::Stretch).then_some(Padding::Pixel(0)),
        ..Input::default()
    };
    if factor <= 0.0 {
        property.note("net-scale-factor", NotTranslated, "it must be above 0");
    } else if offsets.iter().all(|o| *o == 0.0) {
        input.scale = Some(float(factor));
    } else {
        input.scale = Some(1.0);
        input.mean = Some(offsets.into_iter().map(float).collect());
        input.std = Some(vec![float(1.0 / factor)]);
    }
    input.interpolation = Some(interpolation(property));
    size(property, &mut input);
    input
}

/// The numbers of NvBufSurfTransform_Inter. If none is set, nvinfer takes NvBufSurfTransformInter_Default (6), which is nearest.
fn interpolation(property: Section<'_>) -> Interpolation {
    match property.integer("scaling-filter") {
        Some(0 | 6) | None => Interpolation::Nearest,
        Some(1) => Interpolation::Bilinear,
        Some(_) => {
            property.note("scaling-filter", Differs, "bilinear is used: the other filters are NVIDIA's own");
            Interpolation::Bilinear
        }
    }
}

/// Size and layout; trtinfer ignores them if the ONNX file has them, as it mostly does.
fn size(property: Section<'_>, input: &mut Input) {
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
    let side = |side: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in the range")]
        (1.0..=f64::from(u32::MAX)).contains(&side).then_some(side as u32)
    };
    if let Some((width, height)) = side(width).zip(side(height)) {
        (input.width, input.height) = (Some(width), Some(height));
    }
    if order == Some(1) {
        input.layout = Some(Layout::Nhwc);
    }
}

/// nvinfer takes a classifier's outputs for probabilities. Of several outputs, each has a table.
fn classify(property: Section<'_>, outputs: &[&str], labels: &Labels) -> Classify {
    let threshold = property.number("classifier-threshold").map(float);
    let mut classify = Classify { activation: Some(Activation::None), threshold, ..Classify::default() };
    if outputs.len() > 1 {
        let heads = outputs.iter().zip(&labels.outputs);
        let head = |names: &Vec<String>| Head { labels: names.clone(), ..Head::default() };
        classify.heads = heads.map(|(output, names)| ((*output).to_owned(), head(names))).collect();
    }
    classify
}

fn segment(property: Section<'_>) -> Segment {
    let threshold = property.number("segmentation-threshold").map(float);
    if threshold.is_some() {
        property.note(
            "segmentation-threshold",
            Differs,
            "it counts for a network with one channel; with several, each pixel has its best class",
        );
    }
    let layout = (property.integer("segmentation-output-order") == Some(1)).then_some(Layout::Nhwc);
    Segment { threshold, layout, ..Segment::default() }
}
