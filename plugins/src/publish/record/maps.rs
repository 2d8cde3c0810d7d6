//! The part of a frame's record that comes from tensormap: what the numbers of its maps are like.

use serde::Serialize;

use super::rounding::number;
use crate::meta::map::Map;

#[derive(Serialize)]
pub(crate) struct MapRecord {
    /// The model's output.
    name: String,
    /// Of the finite numbers within the frame; none where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
    /// Of maps of one channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    sum: Option<f64>,
    /// What the sum is a number of.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<String>,
    non_finite: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// What 0 and 65535 of GRAY16 frames stand for.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[f64; 2]>,
}

impl From<Map> for MapRecord {
    fn from(map: Map) -> Self {
        // JSON has no word for what is not a number.
        let finite = |value: f64| Some(value).filter(|value| value.is_finite()).map(number);
        let [min, mean, max] = map.min_mean_max.map_or([None; 3], |values| values.map(finite));
        let range = map.range.and_then(|[min, max]| Some([finite(min)?, finite(max)?]));
        let score = map.score.and_then(finite);
        let (sum, non_finite) = (map.sum.and_then(finite), map.non_finite);
        Self { name: map.name, min, mean, max, sum, counts: map.counts, non_finite, score, range }
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;
    use cudainfer_kernels::preproc::Layout;
    use cudainfer_kernels::tensor::TensorType;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_map_is_written_with_seven_digits_and_without_what_is_no_number() {
        gst::init().unwrap();
        let map = Map {
            name: "depth".into(),
            ty: TensorType::Float32,
            width: 2,
            height: 1,
            channels: 1,
            layout: Layout::Nchw,
            data: gst::Buffer::new(),
            rect: Rect::default(),
            min_mean_max: Some([f64::from(0.1f32), -1234567.89, f64::from(3e-20f32)]),
            sum: Some(12.34567891),
            counts: Some("people".into()),
            non_finite: 3,
            score: Some(0.75),
            range: Some([0.0, 20.0]),
        };
        let record = |map: &Map| serde_json::to_value(MapRecord::from(map.clone())).unwrap();
        let facts = json!({
            "name": "depth", "min": 0.1, "mean": -1234568.0, "max": 3e-20, "sum": 12.34568, "counts": "people",
            "non_finite": 3, "score": 0.75, "range": [0.0, 20.0]
        });
        assert_eq!(record(&map), facts);
        let empty =
            Map { min_mean_max: None, sum: None, counts: None, score: Some(f64::NAN), range: None, ..map };
        assert_eq!(record(&empty), json!({ "name": "depth", "non_finite": 3 }));
    }
}
