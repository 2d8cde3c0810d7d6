//! Values of JSON as the sidecar's, as far as they are sensible.

use serde_json::Value;

use crate::sidecar::{Input, MAX_SIZE};

/// ImageNet's mean and standard deviation, in 0..1.
pub(super) const IMAGENET_MEAN: [f32; 3] = [0.485, 0.456, 0.406];
pub(super) const IMAGENET_STD: [f32; 3] = [0.229, 0.224, 0.225];

/// Most names of classes; ImageNet-21k has 21841.
const MOST_NAMES: usize = 100_000;

/// Most characters of a word that is repeated in a sentence.
const LONGEST_WORD: usize = 64;

/// A width or height.
pub(super) fn size(value: &Value) -> Option<u32> {
    let size = value.as_u64()?;
    (1..=u64::try_from(MAX_SIZE).ok()?).contains(&size).then(|| u32::try_from(size).ok()).flatten()
}

/// Height and width, from `[height, width]` or one number for both.
pub(super) fn height_and_width(value: &Value) -> Option<[u32; 2]> {
    match value.as_array().map(Vec::as_slice) {
        Some([height, width]) => Some([size(height)?, size(width)?]),
        Some([both]) => Some([size(both)?; 2]),
        Some(_) => None,
        None => size(value).map(|both| [both; 2]),
    }
}

/// A number that float32 has.
pub(super) fn float(value: &Value) -> Option<f32> {
    #[allow(clippy::cast_possible_truncation)] // The result is checked.
    let number = value.as_f64()? as f32;
    number.is_finite().then_some(number)
}

/// One number, or one for each of three channels.
pub(super) fn by_channel(value: &Value) -> Option<Vec<f32>> {
    match value.as_array() {
        Some(list) if matches!(list.len(), 1 | 3) => list.iter().map(float).collect(),
        Some(_) => None,
        None => Some(vec![float(value)?]),
    }
}

/// Sets scale, mean and std, if all of them are usable.
pub(super) fn normalize(input: &mut Input, scale: f32, mean: Option<Vec<f32>>, std: Option<Vec<f32>>) {
    let usable = scale != 0.0 && std.iter().flatten().all(|std| *std != 0.0);
    if usable {
        (input.scale, input.mean, input.std) = (Some(scale), mean, std);
    }
}

/// The highest number of a class, where others are left out, is below this and a multiple of the number of names: a name of some bytes must
/// not take memory for all numbers before it.
const SPARSE: [usize; 2] = [1000, 4];

/// Names in the order of the classes, from a list or from an object with their numbers as keys. Numbers that are left out have
/// names without letters, which nobody has given to a class.
pub(super) fn names(value: &Value) -> Option<Vec<String>> {
    let name = |value: &Value| value.as_str().map(one_line);
    match value {
        Value::Array(list) if list.len() <= MOST_NAMES => list.iter().map(name).collect(),
        Value::Object(numbered) => {
            let mut names = Vec::new();
            let most = MOST_NAMES.min(SPARSE[0] + SPARSE[1] * numbered.len());
            for (key, value) in numbered {
                let index = key.parse::<usize>().ok().filter(|index| *index < most)?;
                if names.len() <= index {
                    names.resize(index + 1, String::new());
                }
                names[index] = name(value)?;
            }
            Some(names)
        }
        _ => None,
    }
    .filter(|names| !names.is_empty())
}

/// A word of another program for a sentence: short, and without control characters.
pub(super) fn brief(word: &str) -> String {
    word.chars().take(LONGEST_WORD).flat_map(char::escape_debug).collect()
}

/// A name without line breaks and other control characters, which would break lines of logs and of labels.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_come_from_lists_and_from_numbered_objects_in_the_order_of_numbers() {
        let strings = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&json!({"10": "k", "2": "c", "0": "a"})).unwrap()[..3], ["a", "", "c"]);
        assert_eq!(names(&json!({"1003": "k"})).unwrap().len(), 1004);
        assert_eq!(names(&json!(["a", " b\n", "c\td"])), strings(&["a", "b", "c d"]));
        for wrong in [
            json!({}),
            json!([]),
            json!("a"),
            json!({"a": "b"}),
            json!({"-1": "b"}),
            json!({"0": 1}),
            json!([1, 2]),
            json!(null),
            json!({"4000000000": "a"}),
            json!({"100000": "a"}),
            json!({"1004": "a"}),
            json!({"0": {"0": "a"}}),
        ] {
            assert_eq!(names(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_and_numbers_are_those_that_can_be() {
        assert_eq!(height_and_width(&json!([480, 640])), Some([480, 640]));
        assert_eq!(height_and_width(&json!(640)), Some([640, 640]));
        for wrong in [
            json!(0),
            json!(-640),
            json!(1u64 << 40),
            json!(640.5),
            json!([1, 2, 3]),
            json!([0, 640]),
            json!("640"),
            json!([]),
        ] {
            assert_eq!(height_and_width(&wrong), None, "{wrong}");
        }
        assert_eq!(by_channel(&json!([0.5, 1, 2])), Some(vec![0.5, 1.0, 2.0]));
        for wrong in [json!([1, 2]), json!(["a"]), json!([1e300, 0, 0]), json!({}), json!([[1], [2], [3]])] {
            assert_eq!(by_channel(&wrong), None, "{wrong}");
        }
        let mut input = Input::default();
        normalize(&mut input, 0.0, None, None);
        normalize(&mut input, 1.0, None, Some(vec![1.0, 0.0, 1.0]));
        assert_eq!((input.scale, input.std), (None, None));
    }
}
