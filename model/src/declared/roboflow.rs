//! Roboflow's packages of models: `environment.json` (`CLASS_MAP`, and `PREPROCESSING`, which may be text in JSON, with
//! `resize.format`), and `class_names.txt`, one name a line.

use cudainfer_kernels::preproc::{Padding, Resize};
use serde_json::Value;

use super::statements::Declared;
use super::values::names;
use crate::origin::OriginKind;

pub(super) fn read(environment: Option<&Value>, class_names: Option<&str>) -> Option<Declared> {
    let mut declared = Declared::new(OriginKind::FileBeside, "environment.json, Roboflow");
    let lines = class_names.map(|text| text.trim_end().lines().collect::<Vec<_>>().into());
    let listed = lines.as_ref().and_then(names);
    if listed.is_some() {
        declared.origin.maker = "class_names.txt".into();
    }
    let map = environment.and_then(|all| names(all.get("CLASS_MAP")?));
    declared.words.output.labels = listed.or(map).unwrap_or_default();
    let processing = environment.and_then(|all| match all.get("PREPROCESSING")? {
        Value::String(text) => serde_json::from_str(text).ok(),
        other => Some(other.clone()),
    });
    let resize = processing.as_ref().and_then(|all| all.get("resize")?.get("format")?.as_str());
    let input = &mut declared.words.input;
    (input.resize, input.padding) = match resize {
        Some("Stretch to") => (Some(Resize::Stretch), None),
        Some("Fit (black edges) in") => (Some(Resize::Letterbox), Some(Padding::Pixel(0))),
        Some("Fit (white edges) in") => (Some(Resize::Letterbox), Some(Padding::Pixel(255))),
        _ => (None, None),
    };
    Some(declared)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_the_way_to_resize_are_read() {
        let environment = json!({"CLASS_MAP": {"0": "cup", "1": "plate"}, "PREPROCESSING": "{\"resize\": {\"format\": \"Fit (white edges) in\"}}"});
        let words = read(Some(&environment), None).unwrap().words;
        assert_eq!(words.output.labels, ["cup", "plate"]);
        assert_eq!(
            (words.input.resize, words.input.padding),
            (Some(Resize::Letterbox), Some(Padding::Pixel(255)))
        );
        let listed = read(Some(&environment), Some("mug\ndish\n\n")).unwrap().words;
        assert_eq!(listed.output.labels, ["mug", "dish"]);
        let stretched = json!({"PREPROCESSING": {"resize": {"format": "Stretch to"}}});
        assert_eq!(read(Some(&stretched), None).unwrap().words.input.resize, Some(Resize::Stretch));
    }

    #[test]
    fn hostile_values_are_left_out() {
        for wrong in [
            json!([]),
            json!({"CLASS_MAP": [], "PREPROCESSING": "{"}),
            json!({"CLASS_MAP": {"x": 1}, "PREPROCESSING": {"resize": 5}}),
        ] {
            let words = read(Some(&wrong), Some("")).unwrap().words;
            assert!(words.output.labels.is_empty() && words.input.resize.is_none(), "{wrong}");
        }
    }
}
