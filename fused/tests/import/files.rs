//! Files as a whole: inputs, outputs, types, external weights, and what is wrong with them.

use std::path::Path;

use cudainfer_fused::graph::Elements;
use cudainfer_fused::{FusedError, import};
use cudainfer_kernels::tensor::TensorType;
use cudainfer_model::onnx::proto::{Entry, Graph, Model, OperatorSet, Tensor};
use cudainfer_model::onnx::samples;
use prost::Message;

use crate::case::{Case, floats, floats_of, integers, node, tensor};

/// A model that adds the tensor `k` to `x`, whose dimensions are these.
fn sum(dims: &[&str], k: Tensor) -> Model {
    let graph = Graph {
        nodes: vec![node("Add", &["x", "k"], &["y"], Vec::new())],
        initializers: vec![Tensor { name: Some("k".into()), ..k }],
        inputs: vec![samples::tensor_value("x", 1, dims)],
        outputs: vec![samples::tensor_value("y", 1, dims)],
        ..Graph::default()
    };
    let opset = OperatorSet { domain: String::new(), version: 13 };
    Model { opset_import: vec![opset.encode_to_vec()], graph: Some(graph), ..Model::default() }
}

/// The elements of a constant, as the file has it.
fn constant(tensor: Tensor) -> (TensorType, Elements) {
    // A constant alone, as an output: types that nothing computes with stay so.
    let mut model = sum(&["1"], tensor);
    let graph = model.graph.as_mut().unwrap();
    graph.nodes = vec![node("Identity", &["k"], &["y"], Vec::new())];
    graph.outputs = vec![samples::tensor_value("y", 0, &["1"])];
    let graph = import::read(&model.encode_to_vec(), Path::new(""), &[]).unwrap();
    let value = graph.value(graph.outputs[0]);
    (value.ty, cudainfer_fused::graph::run(&graph, &[Elements::Floats(vec![0.0])]).unwrap().remove(0))
}

fn typed(data_type: i32, dims: &[i64]) -> Tensor {
    Tensor { dims: dims.to_vec(), data_type: Some(data_type), ..Tensor::default() }
}

#[test]
fn constants_of_all_types_are_read_from_bytes_and_from_fields() {
    let bytes =
        |data_type, raw: &[u8], count| Tensor { raw_data: Some(raw.to_vec()), ..typed(data_type, &[count]) };
    let floats = |values: &[f32]| Elements::Floats(values.to_vec());
    let whole = |values: &[i64]| Elements::Integers(values.to_vec());
    let words = |values: &[i32]| values.to_vec();
    for (tensor, ty, wanted) in [
        (bytes(1, &1.5f32.to_le_bytes(), 1), TensorType::Float32, floats(&[1.5])),
        (Tensor { float_data: vec![2.5], ..typed(1, &[1]) }, TensorType::Float32, floats(&[2.5])),
        (bytes(10, &[0x00, 0x3e], 1), TensorType::Float16, floats(&[1.5])),
        (Tensor { int32_data: words(&[0x3e00]), ..typed(10, &[1]) }, TensorType::Float16, floats(&[1.5])),
        (bytes(11, &0.25f64.to_le_bytes(), 1), TensorType::Float32, floats(&[0.25])),
        (Tensor { double_data: vec![0.5], ..typed(11, &[1]) }, TensorType::Float32, floats(&[0.5])),
        (bytes(16, &[0xc0, 0x3f], 1), TensorType::Float32, floats(&[1.5])),
        (Tensor { int32_data: words(&[0x3fc0]), ..typed(16, &[1]) }, TensorType::Float32, floats(&[1.5])),
        (bytes(2, &[200], 1), TensorType::UInt8, whole(&[200])),
        (Tensor { int32_data: words(&[200]), ..typed(2, &[1]) }, TensorType::UInt8, whole(&[200])),
        (bytes(3, &[200], 1), TensorType::Int8, whole(&[-56])),
        (Tensor { int32_data: words(&[-3]), ..typed(3, &[1]) }, TensorType::Int8, whole(&[-3])),
        (bytes(4, &[1, 2], 1), TensorType::Int64, whole(&[513])),
        (bytes(5, &[0xff, 0xff], 1), TensorType::Int64, whole(&[-1])),
        (bytes(6, &(-7i32).to_le_bytes(), 1), TensorType::Int32, whole(&[-7])),
        (Tensor { int32_data: words(&[-7]), ..typed(6, &[1]) }, TensorType::Int32, whole(&[-7])),
        (bytes(7, &i64::MAX.to_le_bytes(), 1), TensorType::Int64, whole(&[i64::MAX])),
        (Tensor { int64_data: vec![i64::MIN], ..typed(7, &[1]) }, TensorType::Int64, whole(&[i64::MIN])),
        (bytes(9, &[0, 1, 2], 3), TensorType::Bool, whole(&[0, 1, 1])),
        (Tensor { int32_data: words(&[1, 0]), ..typed(9, &[2]) }, TensorType::Bool, whole(&[1, 0])),
        (bytes(12, &u32::MAX.to_le_bytes(), 1), TensorType::Int64, whole(&[i64::from(u32::MAX)])),
        (Tensor { uint64_data: vec![9], ..typed(13, &[1]) }, TensorType::Int64, whole(&[9])),
    ] {
        assert_eq!(constant(tensor.clone()), (ty, wanted), "{tensor:?}");
    }
}

/// Why a model is refused.
fn problem(model: &Model, folder: &Path) -> String {
    import::read(&model.encode_to_vec(), folder, &[]).unwrap_err().to_string()
}

#[test]
fn weights_may_be_in_a_file_of_the_folder_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let raw: Vec<u8> = [9.0f32, 1.0, 2.0, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    std::fs::write(folder.path().join("inner/weights.bin"), raw).unwrap();
    std::fs::write(folder.path().join("secret.bin"), [0; 64]).unwrap();
    let entry = |key: &str, value: &str| Entry { key: key.into(), value: value.into() }.encode_to_vec();
    let external = |location: &str, offset: &str, length: &str| {
        let external_data =
            vec![entry("location", location), entry("offset", offset), entry("length", length)];
        sum(&["3"], Tensor { external_data, data_location: Some(1), ..typed(1, &[3]) })
    };
    let model = external("inner/weights.bin", "4", "12");
    let graph = import::read(&model.encode_to_vec(), folder.path(), &[]).unwrap();
    let constant = graph.values.iter().find_map(|value| value.constant.clone()).unwrap();
    assert_eq!(constant, Elements::Floats(vec![1.0, 2.0, 3.0]));
    let absolute = folder.path().join("secret.bin").display().to_string();
    for location in ["../secret.bin", "inner/../../secret.bin", &absolute] {
        let text = problem(&external(location, "0", "12"), &folder.path().join("inner"));
        assert!(text.contains("outside of the model's folder"), "{text}");
    }
    for (location, offset, length, word) in [
        ("inner/weights.bin", "8", "12", "has 2 elements"),
        ("inner/weights.bin", "4", "8", "has 2 elements"),
        ("inner/absent.bin", "0", "12", "absent.bin"),
        ("inner/weights.bin", "-1", "12", "offset"),
    ] {
        let text = problem(&external(location, offset, length), folder.path());
        assert!(text.contains(word), "{text}");
    }
    let nowhere = sum(&["3"], Tensor { external_data: vec![entry("offset", "0")], ..typed(1, &[3]) });
    assert!(problem(&nowhere, folder.path()).contains("names no file"));
}

#[test]
fn open_dimensions_are_given_and_others_are_not_changed() {
    let model = sum(&["batch", "3"], tensor("k", &floats(&[3]))).encode_to_vec();
    let read = |given: &[(&str, &[usize])]| import::read(&model, Path::new(""), given);
    let graph = read(&[("x", &[4, 3])]).unwrap();
    assert_eq!(graph.value(graph.outputs[0]).dims, [4, 3]);
    for (given, word) in [
        (&[][..], "open dimensions"),
        (&[("x", &[4, 2][..])], "cannot be 4x2"),
        (&[("x", &[4, 3, 1])], "cannot be 4x3x1"),
        (&[("x", &[0, 3])], "cannot be 0x3"),
        (&[("x", &[usize::MAX, 3])], "cannot be"),
        (&[("image", &[4, 3])], "no input 'image'"),
    ] {
        let text = read(given).unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn weights_among_the_inputs_are_weights() {
    let mut model = sum(&["3"], tensor("k", &floats(&[3])));
    model.graph.as_mut().unwrap().inputs.push(samples::tensor_value("k", 1, &["3"]));
    let graph = import::read(&model.encode_to_vec(), Path::new(""), &[]).unwrap();
    assert_eq!(graph.inputs.len(), 1);
}

#[test]
fn files_that_are_no_models_are_refused() {
    let whole = || sum(&["3"], tensor("k", &floats(&[3])));
    let changed = |change: fn(&mut Model)| {
        let mut model = whole();
        change(&mut model);
        problem(&model, Path::new(""))
    };
    let set = |version| vec![OperatorSet { domain: String::new(), version }.encode_to_vec()];
    for (text, word) in [
        (import::read(b"no model", Path::new(""), &[]).unwrap_err().to_string(), "cannot be read"),
        (changed(|model| model.graph = None), "no graph"),
        (changed(|model| model.opset_import.clear()), "version"),
        (problem(&Model { opset_import: set(6), ..whole() }, Path::new("")), "version 6"),
        (problem(&Model { opset_import: set(99), ..whole() }, Path::new("")), "version 99"),
        (
            changed(|model| model.graph.as_mut().unwrap().nodes[0].inputs[1] = "z".into()),
            "'z', which nothing makes",
        ),
        (
            changed(|model| model.graph.as_mut().unwrap().outputs[0].name = "z".into()),
            "nothing makes its output 'z'",
        ),
        (changed(|model| model.graph.as_mut().unwrap().initializers[0].dims = vec![4]), "has 3 elements"),
        (changed(|model| model.graph.as_mut().unwrap().initializers[0].dims = vec![-1]), "dimension is -1"),
        (
            changed(|model| model.graph.as_mut().unwrap().initializers[0].dims = vec![i64::MAX, 2]),
            "too large",
        ),
        (changed(|model| model.graph.as_mut().unwrap().initializers[0].data_type = Some(8)), "string"),
        (
            changed(|model| model.graph.as_mut().unwrap().inputs[0] = samples::tensor_value("x", 11, &["3"])),
            "double",
        ),
        (
            changed(|model| model.graph.as_mut().unwrap().outputs[0] = samples::tensor_value("y", 7, &["3"])),
            "int64",
        ),
    ] {
        assert!(text.contains(word), "'{text}' instead of '{word}'");
    }
}

#[test]
fn everything_that_is_not_known_is_listed() {
    let nodes = vec![
        node("Det", &["x"], &["a"], Vec::new()),
        node("Relu", &["a"], &["b"], Vec::new()),
        node("Unique", &["x"], &["c"], Vec::new()),
        node("Resize", &["x"], &["e"], vec![crate::case::text("mode", "sideways")]),
        node("Add", &["c", "e"], &["y"], Vec::new()),
    ];
    let case = Case::of_nodes(13, nodes, &["y"]).named_input("x", floats_of(&[1], &[1.0]));
    let problems = import::unsupported(&case.file(false), Path::new(""), &[]);
    // A Resize without scales contradicts itself, so the file does.
    assert!(matches!(problems, Err(FusedError::Model(text)) if text.contains("Resize 'e'")));
    let mut case = case;
    case.nodes[3] = node("Pad", &["x", "pads"], &["e"], vec![crate::case::text("mode", "wrap")]);
    let case = case.named_weight("pads", integers(&[1, 1]));
    let problems = import::unsupported(&case.file(false), Path::new(""), &[]).unwrap();
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let wanted = [
        "the operator Det of node 'a' is not supported",
        "the operator Unique of node 'c' is not supported",
        "the operator Pad of node 'e' is not supported: its mode is 'wrap'",
    ];
    assert_eq!(texts, wanted);
    assert_eq!(case.refusal(), problems[0]);
}
