//! MOTChallenge's text: a row for each tracked object, `frame,id,left,top,width,height,confidence,-1,-1,-1`.

use crate::publish::record::{BoxRecord, ObjectRecord};
use crate::publish::tracks::{CARRIED, TRACKED};

/// The states of a track that is in the frame.
pub(crate) const PRESENT: [&str; 2] = [TRACKED, CARRIED];

/// The rows of a frame, whose number is from 0 and in the rows from 1; none, where no object has an identity and was detected.
/// The box is the tracker's.
pub(crate) fn mot(frame: u64, objects: &[ObjectRecord]) -> Option<Vec<u8>> {
    let row = |object: &ObjectRecord| {
        let track = object.track.as_ref().filter(|track| PRESENT.contains(&track.state.as_str()))?;
        let confidence = object.confidence?;
        Some(mot_row(frame, track.id, &track.rect, confidence, false))
    };
    let rows: Vec<_> = objects.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| rows.join("\n").into_bytes())
}

/// A row. The ninth column, which is the visibility in ground truth of MOT16 and later, is 0 for a box that nobody has seen; all
/// others have -1 there, which means that nothing is known. Scoring in pixels reads neither.
pub(crate) fn mot_row(frame: u64, id: u64, rect: &BoxRecord, confidence: f64, is_filled: bool) -> String {
    let BoxRecord { x, y, w, h } = rect;
    let visibility = if is_filled { 0 } else { -1 };
    format!("{},{id},{x:.2},{y:.2},{w:.2},{h:.2},{confidence:.4},-1,{visibility},-1", frame + 1)
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::{DetectionParam, Object, TrackingParam};

    #[test]
    fn a_frame_is_a_row_for_each_object_that_is_detected_and_tracked() {
        let rect = Rect { x: 1.5, y: -2.0, w: 30.126, h: 4.0 };
        let detection = Some(DetectionParam { rect: Rect::default(), confidence: 0.5, label_id: 0 });
        let tracking =
            |id| Some(TrackingParam { id, rect, state: "tracked".into(), ..TrackingParam::default() });
        let weak = Object { detection: detection.clone(), ..Object::default() };
        let lost = Object { tracking: tracking(3), ..Object::default() };
        let both = |id| Object { detection: detection.clone(), tracking: tracking(id), ..Object::default() };
        let all: Vec<_> = [weak.clone(), both(1), lost.clone(), both(2)].map(ObjectRecord::from).into();
        assert_eq!(
            String::from_utf8(mot(0, &all).unwrap()).unwrap(),
            "1,1,1.50,-2.00,30.13,4.00,0.5000,-1,-1,-1\n1,2,1.50,-2.00,30.13,4.00,0.5000,-1,-1,-1"
        );
        assert_eq!(mot(7, &[weak, lost].map(ObjectRecord::from)), None);
    }
}
