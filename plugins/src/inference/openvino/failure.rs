//! The errors of OpenVINO.

use crate::inference::InferenceError;
use crate::log::ENGINE as CAT;

/// Characters of OpenVINO's words that an error repeats; the log has all of them.
const LONGEST: usize = 200;

/// OpenVINO's failure of a run.
pub(super) fn failed(error: &openvino::InferenceError) -> InferenceError {
    let words = error.to_string();
    gst::warning!(CAT, "a run failed: {words}");
    if ["bad_alloc", "allocate memory", "out of memory"].iter().any(|part| words.contains(part)) {
        return InferenceError::Memory(brief(&words));
    }
    InferenceError::OpenVino(brief(&words))
}

/// Why OpenVINO does not load a model or a device: its words, shortened, with all of them in the log.
pub(super) fn refused(error: &openvino::InferenceError) -> String {
    let words = error.to_string();
    gst::warning!(CAT, "OpenVINO refuses: {words}");
    brief(&words)
}

/// The essence of OpenVINO's words, in one line without a full stop. It adds a line for each function of its sources that the error
/// passes (`Exception from src/core.cpp:12:`, `Check 'a > b' failed at src/b.cpp:34:`); the reason comes last, and what the graph
/// was after that.
fn brief(words: &str) -> String {
    let is_place = |line: &str| {
        line.starts_with("Exception from ")
            || line.contains(" failed at ")
            || line.contains(": Exception from ")
    };
    let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    let reason: Vec<&str> = lines.filter(|line| !is_place(line)).collect();
    // A place alone is better than nothing.
    let reason = if reason.is_empty() { words.to_owned() } else { reason.join(" ") };
    let mut reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = reason.char_indices().nth(LONGEST) {
        reason.truncate(end);
        reason.push('…');
    }
    reason.trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_kept_and_the_places_in_the_sources_are_not() {
        let words = "general error: Exception from src/inference/src/cpp/core.cpp:97:\nException from \
                     src/inference/src/model_reader.cpp:154:\nUnable to read the model: a.txt Please check that the model \
                     format: txt is supported.\n";
        assert_eq!(
            brief(words),
            "Unable to read the model: a.txt Please check that the model format: txt is supported"
        );
        assert_eq!(brief("general error"), "general error");
        let long = brief(&"ä".repeat(400));
        assert!(long.chars().count() == LONGEST + 1 && long.ends_with('…'));
    }
}
