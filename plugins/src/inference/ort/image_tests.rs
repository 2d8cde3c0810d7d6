//! The channels-last form, run by ONNX Runtime on the CPU.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use half::f16;

use crate::inference::cache::Cache;
use crate::inference::image::ImageOrder;
use crate::inference::ort::runtime_library;
use crate::inference::ort::session::OrtSession;
use crate::inference::ort::variant::{INPUT, PLAIN, Variant};
use crate::inference::{Config, FrameTensors, InferenceError, Precision, Provider, RunShape, Session};
use crate::model::onnx::samples::{convolution_file, written};

fn open(config: &Config, variant: &Variant) -> Result<OrtSession, InferenceError> {
    let environment = runtime_library::environment(None, runtime_library::Preferred::First).unwrap();
    OrtSession::open(environment, config, Provider::Cpu, None, variant, &mut Cache::off())
}

/// A shape of frames of this type for the model, in batches of up to three.
fn shape(session: &OrtSession, given: TensorType) -> Arc<RunShape> {
    let tensors = FrameTensors {
        image: TensorDesc::fixed("image", TensorType::Float32, &[1, 3, 6, 5]),
        joined: None,
        earlier: Vec::new(),
        batched: true,
        given,
        constants: Vec::new(),
        fed: Vec::new(),
        outputs: session.outputs().to_vec(),
        fixed: None,
    };
    Arc::new(RunShape::new(tensors, 3).unwrap())
}

/// Frames that differ from each other.
fn frames(given: TensorType) -> Vec<gst::Buffer> {
    let frame = |row: u16| {
        let values = (0..90u16).map(|i| f32::from((i * 71 + row * 29) % 97) / 97.0);
        match given {
            TensorType::Float16 => values.flat_map(|v| f16::from_f32(v).to_ne_bytes()).collect::<Vec<u8>>(),
            _ => values.flat_map(f32::to_ne_bytes).collect(),
        }
    };
    (0..3).map(|row| gst::Buffer::from_slice(frame(row))).collect()
}

/// The outputs, as names with dimensions, and bytes.
fn run(session: &mut OrtSession, shape: &Arc<RunShape>, frames: &[gst::Buffer]) -> Vec<(String, Vec<u8>)> {
    let images: Vec<&gst::BufferRef> = frames.iter().map(AsRef::as_ref).collect();
    let outputs = session.run(shape, &images, &[]).unwrap();
    outputs.iter().map(|o| (o.desc.to_string(), o.data.map_readable().unwrap().to_vec())).collect()
}

fn compare(model: &Path, precision: Precision) {
    let config = Config { provider: Provider::Cpu, precision, ..Config::new(model) };
    let (mut plain, mut input) = (open(&config, &PLAIN).unwrap(), open(&config, &INPUT).unwrap());
    assert_eq!(input.inputs(), plain.inputs(), "it is described as the model has it");
    assert_eq!(input.outputs(), plain.outputs());
    for given in [TensorType::Float32, TensorType::Float16] {
        let (shape, frames) = (shape(&plain, given), frames(given));
        for count in [1, 3, 2] {
            let [wanted, got] = [&mut plain, &mut input].map(|s| run(s, &shape, &frames[..count]));
            assert_eq!(got, wanted, "{precision:?}, {count} frames of {given}");
            assert!(wanted[0].0.starts_with(&format!("y:float32:{count}x4x4x3")), "{}", wanted[0].0);
            assert!(wanted[0].1.iter().any(|byte| *byte != 0));
        }
    }
}

#[test]
fn outputs_are_the_same_to_the_bit_also_of_graphs_inside_of_nodes_and_in_float16() {
    gst::init().unwrap();
    let branching = written("channels-last-branching.onnx", &convolution_file(true, false));
    compare(&branching, Precision::Model);
    let simple = written("channels-last-simple.onnx", &convolution_file(false, false));
    compare(&simple, Precision::Float16);
    [branching, simple].iter().for_each(|model| std::fs::remove_file(model).unwrap());
}

#[test]
fn a_model_without_such_an_image_is_refused_with_the_reason() {
    gst::init().unwrap();
    let path = written("channels-last-refused.onnx", &convolution_file(false, true));
    let config = Config { provider: Provider::Cpu, ..Config::new(&path) };
    let refusal = open(&config, &INPUT).unwrap_err().to_string();
    assert!(refusal.contains("2 of its inputs have four dimensions"), "{refusal}");
    open(&config, &PLAIN).unwrap();
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_image_is_bound_by_its_other_name_and_dimensions_and_described_by_its_own() {
    let tensors = FrameTensors {
        image: TensorDesc::fixed("images", TensorType::Float16, &[1, 3, 48, 64]),
        joined: None,
        earlier: Vec::new(),
        batched: true,
        given: TensorType::Float16,
        constants: Vec::new(),
        fed: Vec::new(),
        outputs: Vec::new(),
        fixed: None,
    };
    let shape = RunShape::new(tensors, 4).unwrap();
    let (name, dims) = ImageOrder::ChannelsLast.bound(&shape, 4);
    assert_eq!((&*name, &dims[..]), ("images/channels-last", &[4, 48, 64, 3][..]));
    assert_eq!(ImageOrder::AsModel.bound(&shape, 4), (Cow::Borrowed("images"), vec![4, 3, 48, 64]));
    // What frames bring is never it, although the type is.
    assert!(ImageOrder::AsModel.is_given(&shape) && !ImageOrder::ChannelsLast.is_given(&shape));
    let mut input: TensorDesc = "images/channels-last:float16:?x48x64x3".parse().unwrap();
    ImageOrder::ChannelsLast.describe(&mut input);
    assert_eq!(input.to_string(), "images:float16:?x3x48x64");
    let other = "sizes:int64:?x2".parse::<TensorDesc>().unwrap();
    let mut described = other.clone();
    ImageOrder::ChannelsLast.describe(&mut described);
    assert_eq!(described, other);
}
