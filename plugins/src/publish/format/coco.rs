//! The results format of COCO: one array of detections.

use serde::Serialize;

use crate::publish::record::ObjectRecord;

#[derive(Serialize)]
struct ResultRecord {
    image_id: u64,
    category_id: u32,
    bbox: [f64; 4],
    score: f64,
}

/// The array's elements of a frame, a line each but without the comma after the last; none, where nothing was detected.
///
/// # Errors
/// None that these types can make.
pub(crate) fn coco(frame: u64, objects: &[ObjectRecord]) -> serde_json::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    for object in objects {
        let (Some(detected), Some(category_id), Some(score)) =
            (&object.rect, object.label_id, object.confidence)
        else {
            continue;
        };
        if !text.is_empty() {
            text.extend(b",\n");
        }
        let r = detected.outline();
        serde_json::to_writer(
            &mut text,
            &ResultRecord { image_id: frame, category_id, bbox: [r.x, r.y, r.w, r.h], score },
        )?;
    }
    Ok((!text.is_empty()).then_some(text))
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::{DetectionParam, Object};

    #[test]
    fn a_frame_is_an_element_for_each_detection_with_the_upright_box() {
        let rect = Rect { x: 1.5, y: 2.0, w: 30.126, h: 4.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 2 });
        let object = Object { detection, ..Object::default() };
        let objects = [object.clone(), Object::default(), object].map(ObjectRecord::from);
        let line = r#"{"image_id":9,"category_id":2,"bbox":[1.5,2.0,30.13,4.0],"score":0.5}"#;
        let text = String::from_utf8(coco(9, &objects).unwrap().unwrap()).unwrap();
        assert_eq!(text, format!("{line},\n{line}"));
        assert_eq!(coco(9, &objects[1..2]).unwrap(), None);
        let rect = Rect { x: 10.0, y: 20.0, w: 8.0, h: 2.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 2 });
        let angle = std::f32::consts::FRAC_PI_2;
        let rotated = ObjectRecord::from(Object { detection, angle, ..Object::default() });
        let text = String::from_utf8(coco(9, &[rotated]).unwrap().unwrap()).unwrap();
        assert!(text.contains(r#""bbox":[13.0,17.0,2.0,8.0]"#), "{text}");
    }
}
