//! Topics: `cams/{source}/{kind}`.

use super::kind::RecordKind;

/// What a placeholder stands for, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Source,
    Kind,
    Stream,
}

const PLACEHOLDERS: [(&str, Placeholder); 3] =
    [("source", Placeholder::Source), ("kind", Placeholder::Kind), ("stream", Placeholder::Stream)];

#[derive(Clone, Debug, PartialEq, Eq)]
enum TopicPart {
    Text(String),
    Value(Placeholder),
}

/// A topic with placeholders. An empty one means the destination's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topic(Vec<TopicPart>);

impl Topic {
    /// Reads `text`.
    ///
    /// # Errors
    /// A placeholder that is none, or a brace that has no other.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            let end = from.find('}').filter(|_| from.starts_with('{'));
            let Some((name, after)) = end.and_then(|end| Some((from.get(1..end)?, from.get(end + 1..)?)))
            else {
                return Err(format!("has a brace without the other one at '{from}'. Write {}", known()));
            };
            let Some((_, value)) = PLACEHOLDERS.iter().find(|(known, _)| *known == name) else {
                return Err(format!("has the unknown placeholder '{{{name}}}'. Write {}", known()));
            };
            parts.extend([TopicPart::Text(before.to_owned()), TopicPart::Value(*value)]);
            rest = after;
        }
        parts.push(TopicPart::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// With the placeholders replaced. What would be a level, a wildcard or a space of a broker's topic becomes `_` there.
    pub fn fill(&self, source: &str, kind: RecordKind, stream: &str) -> String {
        let part = |part: &TopicPart| match part {
            TopicPart::Text(text) => text.clone(),
            TopicPart::Value(Placeholder::Source) => level(source),
            TopicPart::Value(Placeholder::Kind) => kind.word().to_owned(),
            TopicPart::Value(Placeholder::Stream) => level(stream),
        };
        self.0.iter().map(part).collect()
    }
}

fn known() -> String {
    let [first, second, third] = PLACEHOLDERS.map(|(name, _)| format!("{{{name}}}"));
    format!("{first}, {second} or {third}")
}

/// A value as one level of a topic.
fn level(value: &str) -> String {
    let forbidden =
        |c: char| matches!(c, '/' | '+' | '#' | '*' | '>' | '$') || c.is_whitespace() || c.is_control();
    value.chars().map(|c| if forbidden(c) { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_by_one_level_each() {
        for (text, wanted) in [
            ("", ""),
            ("all", "all"),
            ("cams/{source}/{kind}", "cams/gate_1_/events"),
            ("{kind}{source}", "eventsgate_1_"),
            ("a/{stream}/b", "a/video_0_1/b"),
        ] {
            assert_eq!(Topic::parse(text).unwrap().fill("gate 1#", RecordKind::Events, "video/0\n1"), wanted);
        }
    }

    #[test]
    fn what_is_no_placeholder_is_an_error_that_names_those_there_are() {
        for (text, part) in [
            ("cams/{sorce}", "unknown placeholder '{sorce}'"),
            ("{}", "unknown placeholder '{}'"),
            ("a{source", "without the other one at '{source'"),
            ("a}b{kind}", "without the other one at '}b{kind}'"),
            ("{kind}}", "without the other one at '}'"),
        ] {
            let error = Topic::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
            assert!(error.ends_with("Write {source}, {kind} or {stream}"), "{error}");
        }
    }

    #[test]
    fn fuzz_topic() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "topic")
            .with_ratio(40) // a placeholder is a part of the topic, and so is the text before it
            .run_text(|text| {
                if let Ok(topic) = Topic::parse(text) {
                    topic.fill("a/b#", RecordKind::Frames, "s s");
                }
            });
    }
}
