//! What a server answers: the text of the first choice, or what was found instead. Nothing here trusts it.

use serde_json::Value;

/// Characters of what was found that a sentence shows.
const SHOWN: usize = 120;

/// The words of an answer without this key, with at most as many characters, and how many there were if that is more.
///
/// # Errors
/// What is there instead; for the end of a sentence.
pub fn words(body: &[u8], most: usize, key: Option<&str>) -> Result<(String, Option<usize>), String> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| {
        let begin = shown(&String::from_utf8_lossy(body), key);
        if begin.is_empty() {
            "its answer is empty".to_owned()
        } else {
            format!("its answer is no JSON: it begins with '{begin}'")
        }
    })?;
    let message = answer.pointer("/choices/0/message");
    let content = message.and_then(|message| message.get("content"));
    let text = match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(part).collect(),
        Some(Value::Null) | None => return Err(instead(&answer, message, key)),
        Some(other) => return Err(format!("its choices[0].message.content is {}", kind(other))),
    };
    let text = plain(&text, key);
    if text.is_empty() {
        return Err("its text is empty".to_owned());
    }
    let count = text.chars().count();
    if count <= most {
        return Ok((text, None));
    }
    let cut: String = text.chars().take(most.saturating_sub(1)).collect();
    Ok((format!("{}…", cut.trim_end()), Some(count)))
}

/// What a server answers with a status that is no success, without this key; nothing if it does not say.
pub fn complaint(body: &[u8], key: Option<&str>) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    // As OpenAI, as llama.cpp and vLLM, and as Ollama's own errors.
    let found = [answer.pointer("/error/message"), answer.get("message"), answer.get("error")];
    let text = found.into_iter().flatten().find_map(Value::as_str)?;
    Some(shown(text, key)).filter(|text| !text.is_empty())
}

/// A part of a text that comes in parts.
fn part(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| part.get("text")?.as_str())
}

/// What an answer without a text has.
fn instead(answer: &Value, message: Option<&Value>, key: Option<&str>) -> String {
    if let Some(refusal) = message.and_then(|message| message.get("refusal")?.as_str()) {
        return format!("its model refuses: '{}'", shown(refusal, key));
    }
    if let Some(error) = answer.pointer("/error/message").or(answer.get("error")).and_then(Value::as_str) {
        return format!("it answers with an error: '{}'", shown(error, key));
    }
    match answer {
        Value::Object(keys) if keys.is_empty() => "its answer is an empty object".to_owned(),
        Value::Object(keys) => {
            let mut names: Vec<_> = keys.keys().take(8).map(String::as_str).collect();
            names.sort_unstable();
            format!("its answer has no choices[0].message.content, but {}", shown(&names.join(", "), key))
        }
        other => format!("its answer is {} and no object", kind(other)),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A text in one line, without characters that control a terminal or turn the direction of what follows, and without the key: a
/// server that sends it back must not have it shown.
fn plain(text: &str, key: Option<&str>) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let plain: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !turns(*c))
        .collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match key {
        Some(key) if plain.contains(key) => plain.replace(key, "***"),
        _ => plain,
    }
}

/// The begin of a text, for a sentence.
fn shown(text: &str, key: Option<&str>) -> String {
    plain(text, key).chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn of(content: Value) -> Vec<u8> {
        json!({"choices": [{"message": {"role": "assistant", "content": content}}]}).to_string().into_bytes()
    }

    #[test]
    fn the_text_is_that_of_the_first_choice_without_characters_that_control_anything() {
        let text = |content: Value| words(&of(content), 1000, None).unwrap().0;
        assert_eq!(text(json!("A dog.")), "A dog.");
        assert_eq!(
            text(json!("\n A\u{1b}[31m <script>dog</script>\r\n\u{0}\u{202e} ran.\u{7f}")),
            "A[31m <script>dog</script> ran."
        );
        let parts = json!([{"type": "text", "text": "A "}, {"type": "image"}, "dog", 7]);
        assert_eq!(text(parts), "A dog");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = of(json!("ö".repeat(1001)));
        let (text, count) = words(&long, 1000, None).unwrap();
        assert_eq!((text.chars().count(), text.ends_with("ö…"), count), (1000, true, Some(1001)));
        assert_eq!(words(&of(json!("ö".repeat(1000))), 1000, None).unwrap().1, None);
    }

    #[test]
    fn what_is_no_answer_is_named() {
        for (body, found) in [
            ("", "its answer is empty"),
            ("<!DOCTYPE html>\n<b>x", "its answer is no JSON: it begins with '<!DOCTYPE html> <b>x'"),
            ("{}", "its answer is an empty object"),
            ("[1]", "its answer is an array and no object"),
            ("7", "its answer is a number and no object"),
            (r#"{"id": 1, "choices": []}"#, "has no choices[0].message.content, but choices, id"),
            (r#"{"choices": {"0": 1}}"#, "has no choices[0].message.content, but choices"),
            (r#"{"choices": "x"}"#, "has no choices[0].message.content, but choices"),
            (r#"{"choices": [{"message": {"content": null}}]}"#, "has no choices[0].message.content"),
            (r#"{"choices": [{"message": {"content": 7}}]}"#, "content is a number"),
            (r#"{"choices": [{"message": {"content": {"a": 1}}}]}"#, "content is an object"),
            (r#"{"choices": [{"message": {"content": ""}}]}"#, "its text is empty"),
            (r#"{"choices": [{"message": {"content": " \n\u0000"}}]}"#, "its text is empty"),
            (r#"{"choices": [{"message": {"content": []}}]}"#, "its text is empty"),
            (
                r#"{"choices": [{"message": {"content": null, "refusal": "No\n."}}]}"#,
                "its model refuses: 'No .'",
            ),
            (r#"{"error": {"message": "no such model"}}"#, "it answers with an error: 'no such model'"),
            (r#"{"error": "no such model"}"#, "it answers with an error: 'no such model'"),
        ] {
            let why = words(body.as_bytes(), 1000, None).unwrap_err();
            assert!(why.contains(found), "{body}: {why}");
        }
        let deep = "[".repeat(100_000);
        assert!(words(deep.as_bytes(), 1000, None).unwrap_err().len() < 1000);
    }

    #[test]
    fn a_key_that_is_sent_back_is_not_shown() {
        let key = Some("sk-secret");
        assert_eq!(words(&of(json!("it is sk-\u{0}secret!")), 1000, key).unwrap().0, "it is ***!");
        // Not a part of it either, where the text is cut.
        assert_eq!(words(&of(json!("it is sk-secret")), 9, key).unwrap().0, "it is ***");
        for body in ["sk-secret", r#"{"error": "sk-secret"}"#, r#"{"sk-secret": 1}"#] {
            let why = words(body.as_bytes(), 1000, key).unwrap_err();
            assert!(why.contains("***") && !why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn a_complaint_is_short_and_shows_no_key() {
        let body = json!({"error": {"message": format!("Incorrect key: sk-secret {}", "x".repeat(1000))}})
            .to_string();
        let text = complaint(body.as_bytes(), Some("sk-secret")).unwrap();
        assert!(text.starts_with("Incorrect key: *** xxx") && text.chars().count() == SHOWN, "{text}");
        assert_eq!(complaint(br#"{"error": "no such model"}"#, None).as_deref(), Some("no such model"));
        assert_eq!(complaint(br#"{"message": "overloaded"}"#, None).as_deref(), Some("overloaded"));
        for none in ["", "<html>", "{}", r#"{"error": 7}"#, r#"{"error": ""}"#] {
            assert_eq!(complaint(none.as_bytes(), None), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_answered_is_words_within_the_limit_or_a_sentence(text in "\\PC*|.*", most in 1_usize..50) {
            for body in [text.clone().into_bytes(), of(json!(text))] {
                match words(&body, most, None) {
                    Ok((words, _)) => {
                        prop_assert!(words.chars().count() <= most);
                        prop_assert!(!words.chars().any(char::is_control));
                    }
                    Err(why) => prop_assert!(why.chars().count() < 300 && !why.contains('\n')),
                }
            }
        }
    }

    #[test]
    fn fuzz_chat() {
        // A value of JSON takes 32 bytes where the text has two, in a vector that grows by doubling.
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "chat").with_ratio(100).run(|bytes| {
            if let Ok((words, _)) = words(bytes, 40, Some("sk-secret")) {
                assert!(words.chars().count() <= 40 && !words.contains("sk-secret"), "{words}");
            }
            complaint(bytes, Some("sk-secret"));
        });
    }
}
