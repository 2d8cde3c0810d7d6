//! The errors of ONNX Runtime.

use crate::inference::InferenceError;
use crate::log::ENGINE as CAT;

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
    gst::warning!(CAT, "a run failed: {words}");
    if memory.iter().any(|part| words.contains(part)) {
        return InferenceError::Memory(brief(&words));
    }
    InferenceError::Failed(brief(&words))
}

/// Characters of ONNX Runtime's words that an error repeats; the log has all of them.
const LONGEST: usize = 200;

/// The essence of ONNX Runtime's words, in one line without a full stop: which node failed, and why, without the name of the
/// function in its sources.
fn brief(words: &str) -> String {
    let between = |begin: &str, end: &str| words.split_once(begin)?.1.split_once(end).map(|(text, _)| text);
    let node = between("while running ", " node").zip(between("Name:'", "'"));
    let why = words.split_once("Status Message: ").map_or(words, |(_, why)| why);
    // `FILE.cc:LINE FUNCTION(ARGUMENTS) CONDITION was false. REASON`
    let why = match why.split_once(" was false. ") {
        Some((_, reason)) => reason,
        None => why.rsplit_once(") ").filter(|_| why.starts_with('/')).map_or(why, |(_, reason)| reason),
    };
    let why: Vec<_> = why.split_whitespace().collect();
    let mut why = why.join(" ");
    if let Some((end, _)) = why.char_indices().nth(LONGEST) {
        why.truncate(end);
        why.push('…');
    }
    let why = why.trim_end_matches(['.', ' ']);
    match node {
        Some((operator, name)) => format!("node '{name}' ({operator}) says '{why}'"),
        None => why.to_owned(),
    }
}

/// ONNX Runtime's own words, without the place in its sources and the code before them.
pub(super) fn words(error: &ort::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit("[ONNXRuntimeError] : ").next().unwrap_or_default();
    // The rest begins with a number and a name: `1 : FAIL : `.
    let reason = text.splitn(3, " : ").last().unwrap_or(text);
    reason.trim().to_owned()
}

/// ONNX Runtime's refusal, with its usual cause.
pub(super) fn load_failure(error: &ort::Error) -> String {
    let words = words(error);
    let says = ["Protobuf parsing failed", "ModelProto does not have a graph", "No graph was found"];
    if says.iter().any(|part| words.contains(part)) {
        gst::warning!(CAT, "{words}");
        return "it is not an ONNX model, or it was cut off. Download or export it again, or correct model"
            .into();
    }
    gst::warning!(CAT, "the model is refused: {words}");
    let words = brief(&words);
    format!(
        "ONNX Runtime refused it ({words}). Export it again for this version, or set onnxruntime to a newer one"
    )
}
