//! What ONNX Runtime says of its failures.

use crate::inference::InferenceError;

/// ONNX Runtime's failure of a run.
pub(super) fn failed(error: ort::Error) -> InferenceError {
    let words = words(&error);
    let memory = [
        "allocate memory",
        "out of memory",
        "smaller than requested",
        "bad_alloc",
        "cudaErrorMemoryAllocation",
    ];
    if memory.iter().any(|part| words.contains(part)) {
        return InferenceError::Memory(words);
    }
    InferenceError::Run(words)
}

/// ONNX Runtime's own words, without the place in its sources and the code before them.
pub(super) fn words(error: &ort::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit("[ONNXRuntimeError] : ").next().unwrap_or_default();
    // What is left begins with a number and a name: `1 : FAIL : `.
    let said = text.splitn(3, " : ").last().unwrap_or(text);
    said.trim().to_owned()
}

/// ONNX Runtime's refusal, with what it usually means.
pub(super) fn load_failure(error: &ort::Error) -> String {
    let words = words(error);
    let says = ["Protobuf parsing failed", "ModelProto does not have a graph", "No graph was found"];
    if says.iter().any(|part| words.contains(part)) {
        return format!("it is not an ONNX model, or it was cut off ({words})");
    }
    words
}
