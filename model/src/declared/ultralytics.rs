//! Ultralytics' exporter writes Python's text of each value: `task`, `names`, `imgsz` (height, width), `stride`, `head`,
//! `end2end`, `args` (with `nms`), for poses `kpt_shape` (points, numbers a point) and `kpt_names` (by class). Their predictor
//! letterboxes with bars of 114, crops for classifiers, stretches for RT-DETR, and divides by 255. RT-DETR's outputs are rows of
//! centre, size and the probability of each class, from `version` 8.4.51 on of the strongest class and its number instead.
//! YOLOv5's own exporter writes `stride` and `names`, and its outputs have another layout than those of the same name by
//! Ultralytics, so that only the shapes tell which.
//!
//! Of models of open size (`dynamic` in `args`) their predictor leaves out as many whole strides of the bars as there are
//! (`LetterBox(auto=True)` in engine/predictor.py): 1920x1080 becomes 640x384, not 640x640.

use cudainfer_kernels::detect::{self, BoxFormat, DecoderKind};
use cudainfer_kernels::preproc::{ChannelOrder, Interpolation, Padding, Resize};
use serde_json::Value;

use super::python::literal;
use super::statements::Declared;
use super::values::{brief, height_and_width, names, normalize, size};
use crate::Skeleton;
use crate::onnx::Metadata;
use crate::origin::OriginKind;

/// Pixel value of the bars.
const BARS: u8 = 114;

pub(super) fn read(metadata: &Metadata) -> Option<Declared> {
    let value = |key| metadata.get(key).and_then(literal);
    let task = metadata.get("task");
    // Other exporters write `task` and `names`, too.
    let ours = metadata.get("stride").is_some() && metadata.get("model_family").is_none();
    let labels = value("names").as_ref().and_then(names).filter(|_| ours)?;
    let mut declared =
        Declared::new(OriginKind::Metadata, if task.is_some() { "Ultralytics" } else { "YOLOv5" });
    let words = &mut declared.words;
    words.output.labels = labels;
    let input = &mut words.input;
    normalize(input, 1.0 / 255.0, None, None);
    if value("channels").is_none_or(|channels| channels == 3) {
        input.channels = Some(ChannelOrder::Rgb);
    }
    if let Some([height, width]) = value("imgsz").as_ref().and_then(height_and_width) {
        (input.width, input.height) = (Some(width), Some(height));
    }
    if task == Some("classify") {
        input.resize = Some(Resize::CenterCrop);
        input.interpolation = Some(Interpolation::PilBilinear);
        // The exported head ends with a softmax.
        words.classify.activation = Some(detect::Activation::None);
        return Some(declared);
    }
    input.resize = Some(Resize::Letterbox);
    input.padding = Some(Padding::Pixel(BARS));
    let Some(task) = task else { return Some(declared) };
    let is_true = |value: Option<Value>| value == Some(Value::Bool(true));
    let args = value("args");
    let argument = |name| args.as_ref().and_then(|args| args.get(name).cloned());
    let suppressed = is_true(value("end2end")) || is_true(argument("nms"));
    if is_true(argument("dynamic")) {
        input.bars_modulo = value("stride").as_ref().and_then(size);
    }
    let is_query = metadata.get("head") == Some("RTDETRDecoder")
        || metadata.get("description").is_some_and(|text| text.to_ascii_lowercase().contains("rtdetr"));
    let output = &mut words.output;
    match task {
        "detect" if is_query => {
            (input.resize, input.padding, input.bars_modulo) = (Some(Resize::Stretch), None, None);
            if ranks_queries(metadata) {
                output.decoder = Some(DecoderKind::EndToEnd);
                output.box_format = Some(BoxFormat::CenterSize);
                output.normalized = Some(true);
            } else {
                output.decoder = Some(DecoderKind::Queries);
            }
        }
        "detect" => {
            output.decoder = Some(if suppressed { DecoderKind::EndToEnd } else { DecoderKind::Yolov8 })
        }
        "segment" => output.decoder = Some(DecoderKind::YoloSeg),
        "obb" => output.decoder = Some(DecoderKind::YoloObb),
        "pose" => {
            output.decoder = Some(DecoderKind::YoloPose);
            let shape = value("kpt_shape");
            let points =
                shape.as_ref().and_then(|shape| shape.get(0)?.as_u64()).and_then(|n| usize::try_from(n).ok());
            output.keypoints = points.filter(|n| (1..=MOST_POINTS).contains(n));
            // The points' names are those of the first class; a skeleton has one list of them.
            let named = value("kpt_names").and_then(|all| names(all.get("0")?));
            if let Some(points) = named.filter(|named| Some(named.len()) == output.keypoints) {
                words.skeleton = Skeleton::of_points(points).unwrap_or_default();
            }
        }
        other => declared.unsupported = Some(format!("task '{}'", brief(other))),
    }
    Some(declared)
}

/// Whether RT-DETR's export has chosen the strongest pairs of query and class itself.
fn ranks_queries(metadata: &Metadata) -> bool {
    // Only later versions write this key.
    if metadata.get("head").is_some() {
        return true;
    }
    let version = metadata.get("version").unwrap_or_default();
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let version = [numbers.next(), numbers.next(), numbers.next()].map(Option::flatten);
    matches!(version, [Some(major), Some(minor), Some(patch)] if [major, minor, patch] > [8, 4, 50])
}

/// Most points of an object that are accepted.
const MOST_POINTS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(entries: &[(&str, &str)]) -> Metadata {
        let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Metadata { entries, ..Metadata::default() }
    }

    fn declared(task: &str, more: &[(&str, &str)]) -> Declared {
        let all = [
            &[
                ("task", task),
                ("stride", "32"),
                ("names", "{0: 'person', 1: 'car'}"),
                ("imgsz", "[480, 640]"),
            ],
            more,
        ]
        .concat();
        read(&metadata(&all)).unwrap()
    }

    #[test]
    fn a_detector_is_letterboxed_and_of_yolov8s_layout_unless_it_suppresses_itself() {
        let plain = declared("detect", &[("args", "{'batch': 1, 'nms': False}"), ("end2end", "False")]);
        assert_eq!(plain.origin.to_string(), "the file's metadata (Ultralytics)");
        let words = plain.words;
        assert_eq!(words.output.labels, ["person", "car"]);
        assert_eq!((words.input.height, words.input.width), (Some(480), Some(640)));
        assert_eq!(
            (words.input.resize, words.input.padding),
            (Some(Resize::Letterbox), Some(Padding::Pixel(114)))
        );
        assert_eq!((words.input.scale, words.input.channels), (Some(1.0 / 255.0), Some(ChannelOrder::Rgb)));
        assert_eq!(words.output.decoder, Some(DecoderKind::Yolov8));
        for more in [("args", "{'nms': True}"), ("end2end", "True")] {
            assert_eq!(
                declared("detect", &[more]).words.output.decoder,
                Some(DecoderKind::EndToEnd),
                "{more:?}"
            );
        }
    }

    #[test]
    fn bars_of_models_of_open_size_are_shortened_by_whole_strides() {
        let dynamic = ("args", "{'batch': 1, 'dynamic': True, 'nms': False}");
        assert_eq!(declared("detect", &[dynamic]).words.input.bars_modulo, Some(32));
        assert_eq!(declared("pose", &[dynamic]).words.input.bars_modulo, Some(32));
        for (task, more) in [
            ("detect", [("args", "{'dynamic': False}")]),
            ("detect", [("args", "{}")]),
            ("classify", [dynamic]),
        ] {
            assert_eq!(declared(task, &more).words.input.bars_modulo, None, "{task} {more:?}");
        }
        assert_eq!(declared("detect", &[dynamic, ("head", "RTDETRDecoder")]).words.input.bars_modulo, None);
    }

    #[test]
    fn other_tasks_have_decoders_of_their_own_or_say_that_there_is_none() {
        assert_eq!(declared("segment", &[]).words.output.decoder, Some(DecoderKind::YoloSeg));
        let pose = declared("pose", &[("kpt_shape", "[2, 3]"), ("kpt_names", "{0: ['head', 'tail']}")]).words;
        assert_eq!((pose.output.decoder, pose.output.keypoints), (Some(DecoderKind::YoloPose), Some(2)));
        assert_eq!(pose.skeleton.points, ["head", "tail"]);
        let classifier = declared("classify", &[]);
        assert_eq!(classifier.words.classify.activation, Some(detect::Activation::None));
        assert_eq!(classifier.words.input.resize, Some(Resize::CenterCrop));
        assert_eq!(classifier.words.input.interpolation, Some(Interpolation::PilBilinear));
        assert_eq!(declared("obb", &[]).words.output.decoder, Some(DecoderKind::YoloObb));
        let other = declared("track", &[]);
        assert!(other.unsupported.is_some() && other.words.output.decoder.is_none());
    }

    #[test]
    fn rt_detr_is_stretched_and_its_rows_are_those_of_the_version() {
        let description = ("description", "Ultralytics rtdetr-l model trained on coco.yaml");
        for (more, ranked) in [
            (&[("head", "RTDETRDecoder"), ("version", "8.4.190")][..], true),
            (&[description, ("version", "8.4.51")], true),
            (&[description, ("version", "9.0.0")], true),
            (&[description, ("version", "8.4.50")], false),
            (&[description, ("version", "8.3.200")], false),
            (&[description], false),
            (&[description, ("version", "8.x")], false),
        ] {
            let found = declared("detect", more);
            assert_eq!(found.unsupported, None);
            let (input, output) = (found.words.input, found.words.output);
            assert_eq!((input.resize, input.padding, input.mean), (Some(Resize::Stretch), None, None));
            let expected = if ranked {
                (Some(DecoderKind::EndToEnd), Some(BoxFormat::CenterSize), Some(true))
            } else {
                (Some(DecoderKind::Queries), None, None)
            };
            assert_eq!((output.decoder, output.box_format, output.normalized), expected, "{more:?}");
        }
    }

    #[test]
    fn yolov5s_own_exporter_leaves_the_layout_to_the_shapes() {
        let v5 = read(&metadata(&[("stride", "32"), ("names", "{0: 'person'}")])).unwrap();
        assert_eq!(v5.origin.maker, "YOLOv5");
        assert_eq!((v5.words.output.decoder, v5.words.output.labels.len()), (None, 1));
        assert!(read(&metadata(&[("names", "{0: 'person'}")])).is_none());
        assert!(read(&metadata(&[])).is_none());
    }

    #[test]
    fn hostile_words_are_left_out() {
        for more in [
            ("imgsz", "[-1, 640]"),
            ("imgsz", "[99999999999, 1]"),
            ("imgsz", "640 640"),
            ("imgsz", "[[640], [640]]"),
            ("imgsz", "None"),
        ] {
            let all = [("task", "detect"), ("stride", "x"), ("names", "['a']"), more];
            let words = read(&metadata(&all)).unwrap().words;
            assert_eq!((words.input.width, words.input.height), (None, None), "{more:?}");
        }
        for shape in ["[0, 3]", "[-17, 3]", "[1000000000000, 3]", "'17'", "[]", "{"] {
            assert_eq!(declared("pose", &[("kpt_shape", shape)]).words.output.keypoints, None, "{shape}");
        }
        assert!(
            declared("pose", &[("kpt_shape", "[2, 3]"), ("kpt_names", "{0: ['a', 'a']}")])
                .words
                .skeleton
                .points
                .is_empty()
        );
        for names in ["{0: 'a'", "{'a': 'b'}", "{-1: 'a'}", "{4000000000: 'a'}", "[[['a']]]", "None", ""] {
            assert!(
                read(&metadata(&[("task", "detect"), ("stride", "32"), ("names", names)])).is_none(),
                "{names}"
            );
        }
    }
}
