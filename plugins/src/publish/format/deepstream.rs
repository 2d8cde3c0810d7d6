//! The minimal payload of DeepStream's nvmsgconv: a frame's objects as strings, their fields separated by bars.
//!
//! Fields and their order are those of `generate_dsmeta_message_minimal` in libs/nvmsgconv of DeepStream 6 and 7; an object is
//! `identity|left|top|right|bottom|label`, and downstream of a classifier also `|#|class|...|confidence`, as DeepStream has it.

use std::fmt::Write;

use serde::Serialize;

use crate::publish::clock::WallTime;
use crate::publish::record::{DetectedRecord, Head, ObjectRecord};

/// What objects without an identity have in its place.
const UNTRACKED: &str = "-1";

#[derive(Serialize)]
struct Payload<'a> {
    version: &'static str,
    id: String,
    #[serde(rename = "@timestamp")]
    timestamp: String,
    #[serde(rename = "sensorId")]
    sensor: &'a str,
    objects: Vec<String>,
}

/// A frame as JSON.
///
/// # Errors
/// None that these types can make.
pub(crate) fn deepstream(
    head: &Head<'_>,
    taken: WallTime,
    objects: &[ObjectRecord],
) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Payload {
        version: "4.0",
        id: head.frame.to_string(),
        timestamp: taken.milliseconds(),
        sensor: head.source,
        objects: objects.iter().filter_map(fields).collect(),
    })
}

/// An object's; none of one without a box.
fn fields(object: &ObjectRecord) -> Option<String> {
    let tracked = object.track.as_ref();
    let rect = object.rect.as_ref().map(DetectedRecord::outline).or(tracked.map(|track| track.rect))?;
    let identity = tracked.map_or_else(|| UNTRACKED.to_owned(), |track| track.id.to_string());
    let mut text =
        [&identity, &number(rect.x), &number(rect.y), &number(rect.x + rect.w), &number(rect.y + rect.h)]
            .map(String::as_str)
            .join("|");
    let _ = write!(text, "|{}", word(&object.label));
    let all = object.classifications.iter().map(|one| &one.classes);
    let only = object.classification.iter().filter(|_| object.classifications.is_empty());
    let classes: Vec<_> = all.chain(only).filter_map(|classes| classes.first()).collect();
    if !classes.is_empty() {
        text.push_str("|#");
        classes.iter().for_each(|class| text.extend(["|", &word(&class.label)]));
        // DeepStream's own value where the detector gave none.
        let _ = write!(text, "|{}", object.confidence.unwrap_or(-0.1));
    }
    Some(text)
}

/// To a hundredth.
fn number(value: f64) -> String {
    ((value * 100.0).round() / 100.0).to_string()
}

/// A label as one field.
fn word(label: &str) -> String {
    label.replace('|', " ")
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::{ClassificationParam, DetectionParam, Object, TrackingParam};
    use crate::publish::clock::Clock;

    #[test]
    fn a_frame_is_as_nvmsgconv_writes_it() {
        let rect = Rect { x: 570.0, y: 478.37, w: 39.0, h: 29.347 };
        let detection = Some(DetectionParam { rect, confidence: 0.75, label_id: 2 });
        let class = |label: &str| ClassificationParam {
            labels: vec![label.into(), "other".into()],
            label_ids: vec![1, 2],
            confidence: vec![0.5, 0.4],
            ..ClassificationParam::default()
        };
        let car = Object { label: "car|van".into(), detection, ..Object::default() };
        let tracking = TrackingParam { id: 957, state: "tracked".into(), rect, ..TrackingParam::default() };
        let tracked = Object { label: "car".into(), tracking: Some(tracking), ..car.clone() };
        let of_one = Object { classifications: vec![class("sedan")], ..tracked.clone() };
        let of_two = Object { classifications: vec![class("sedan"), class("blue")], ..tracked.clone() };
        let lost = Object { detection: None, ..tracked.clone() };
        let points = Object { label: "keypoints".into(), ..Object::default() };
        let objects: Vec<_> = [car, tracked, of_one, of_two, lost, points].map(ObjectRecord::from).into();
        let taken = WallTime { ns: 1_523_422_799_828_000_000, clock: Clock::Unix };
        let head = Head::for_test("gate", 1440);
        let payload = deepstream(&head, taken, &objects).unwrap();
        assert_eq!(
            String::from_utf8(payload).unwrap(),
            r#"{"version":"4.0","id":"1440","@timestamp":"2018-04-11T04:59:59.828Z","sensorId":"gate","objects":["#.to_owned()
                + r#""-1|570|478.37|609|507.72|car van","957|570|478.37|609|507.72|car","#
                + r#""957|570|478.37|609|507.72|car|#|sedan|0.75","957|570|478.37|609|507.72|car|#|sedan|blue|0.75","#
                + r#""957|570|478.37|609|507.72|car"]}"#
        );
    }
}
