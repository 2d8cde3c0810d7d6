//! Whether the objects of a stream get identities. A tracker that gives none, or nearly none, says what its thresholds are and what
//! comes.

use cudainfer_kernels::detect::Detection;
use cudainfer_kernels::track::{Algorithm, Track, TrackParams, Tracker};

use super::Similarity;

/// Frames with objects that are looked at.
const ENOUGH: u32 = 100;
/// The share of the objects that is nearly all of them.
const NEARLY_ALL: f64 = 0.95;
/// The share of the objects that the advised threshold leaves out.
const LEFT_OUT: f64 = 0.25;
/// Steps of advised thresholds between 0 and 1.
const STEPS: usize = 20;

/// Looks at a stream's first frames with objects.
#[derive(Debug, Default)]
pub(super) struct Confirmation {
    frames: u32,
    objects: u64,
    identified: u64,
    weak: u64,
    sum: f64,
    highest: f32,
    /// How many objects have a confidence of this many steps and less than one more.
    counts: [u64; STEPS + 1],
}

/// What was found of frames whose objects get no identities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unconfirmed {
    objects: u64,
    identified: u64,
    /// Those too weak to start a track, below `threshold`.
    weak: u64,
    threshold: f32,
    mean: f64,
    highest: f32,
    /// A threshold that three quarters of them reach.
    advised: f32,
    min_confidence: f32,
    high_confidence: f32,
    /// Whether the algorithm starts a track from any detection of `min_confidence`.
    starts_any: bool,
    /// The property that `threshold` is of.
    name: &'static str,
}

impl Confirmation {
    /// Takes in a frame's objects and the tracks that `tracker` has given them. After enough frames it returns what is wrong, once.
    pub fn see(
        &mut self,
        detections: &[Detection],
        tracks: &[Option<Track>],
        tracker: &Tracker,
    ) -> Option<Unconfirmed> {
        let threshold = tracker.start_confidence();
        // Boxes without a size have a warning of their own.
        let mut objects =
            detections.iter().zip(tracks).filter(|(one, _)| one.rect.w > 0.0 && one.rect.h > 0.0).peekable();
        if self.frames >= ENOUGH || objects.peek().is_none() {
            return None;
        }
        self.frames += 1;
        for (one, track) in objects {
            let confidence = if one.confidence.is_finite() { one.confidence } else { 0.0 };
            self.objects += 1;
            self.identified += u64::from(track.is_some());
            self.weak += u64::from(confidence < threshold);
            self.sum += f64::from(confidence);
            self.highest = self.highest.max(confidence);
            // A little more, so that a multiple of a step is not rounded down.
            let step = ((confidence.clamp(0.0, 1.0) + 1e-4) * STEPS as f32) as usize;
            if let Some(count) = self.counts.get_mut(step) {
                *count += 1;
            }
        }
        let nearly_all = NEARLY_ALL * self.objects as f64;
        let is_wrong = self.identified == 0
            || (self.weak as f64 >= nearly_all && (self.objects - self.identified) as f64 >= nearly_all);
        (self.frames == ENOUGH && is_wrong).then(|| self.found(threshold, tracker.params()))
    }

    fn found(&self, threshold: f32, params: &TrackParams) -> Unconfirmed {
        let mut left = LEFT_OUT * self.objects as f64;
        let below = self.counts.iter().take_while(|count| {
            left -= **count as f64;
            left >= 0.0
        });
        let starts_any = matches!(params.algorithm, Algorithm::Sort | Algorithm::OcSort);
        Unconfirmed {
            objects: self.objects,
            identified: self.identified,
            weak: self.weak,
            threshold,
            mean: self.sum / self.objects as f64,
            highest: self.highest,
            advised: below.count() as f32 / STEPS as f32,
            min_confidence: params.min_confidence,
            high_confidence: params.high_confidence,
            starts_any,
            name: match starts_any {
                true => "min-confidence",
                // A track starts from this one on where it is above the other.
                false if threshold == params.high_confidence && threshold > params.new_confidence => {
                    "high-confidence"
                }
                false => "new-confidence",
            },
        }
    }
}

impl Unconfirmed {
    /// As sentences.
    pub fn sentences(&self, similarity: Similarity) -> String {
        let Self { objects, identified, weak, threshold, name, mean, highest, .. } = *self;
        let begun = format!("{ENOUGH} frames had {objects} objects, of which {identified} got an identity");
        if weak as f64 >= NEARLY_ALL * objects as f64 {
            let too_high = [
                ("min-confidence", self.min_confidence > self.advised),
                ("high-confidence", !self.starts_any && self.high_confidence > self.advised),
                ("new-confidence", !self.starts_any),
            ];
            let set: Vec<String> = too_high
                .into_iter()
                .filter(|(_, too_high)| *too_high)
                .map(|(name, _)| format!("{name}={}", self.advised))
                .collect();
            return format!(
                "{begun}: {weak} have a confidence below {name}={threshold} ({mean:.2} on average, {highest:.2} at most). Set {}, which \
                 three quarters of them reach",
                set.join(" ")
            );
        }
        let sigmas = if similarity == Similarity::Oks { ", or larger sigmas" } else { "" };
        format!(
            "{begun}, although {} have a confidence of {name}={threshold} or more: they are not where their tracks are expected. Set \
             min-hits=0, a smaller iou{sigmas}, or let the model see more frames a second",
            objects - weak
        )
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;
    use cudainfer_kernels::track::State;

    use super::*;

    const RECT: Rect = Rect { x: 1.0, y: 2.0, w: 30.0, h: 40.0 };

    fn object(confidence: f32) -> Detection {
        Detection { rect: RECT, confidence, class: 0 }
    }

    fn track() -> Track {
        Track {
            id: 1,
            class: 0,
            age: 0,
            hits: 1,
            state: State::Tracked,
            rect: RECT,
            angle: 0.0,
            velocity: [0.0; 2],
        }
    }

    /// What is found of frames of these objects; the first `identified` of each frame get an identity.
    fn found(
        frames: u32,
        confidences: &[f32],
        identified: usize,
        params: TrackParams,
    ) -> Option<Unconfirmed> {
        let objects: Vec<_> = confidences.iter().copied().map(object).collect();
        let tracks: Vec<_> = (0..objects.len()).map(|index| (index < identified).then(track)).collect();
        let (tracker, mut confirmation) = (Tracker::new(params).unwrap(), Confirmation::default());
        let mut all = (0..frames).filter_map(|_| confirmation.see(&objects, &tracks, &tracker));
        let first = all.next();
        assert_eq!(all.next(), None, "it is said once");
        first
    }

    fn sentences(confidences: &[f32], params: TrackParams) -> String {
        found(100, confidences, 0, params).unwrap().sentences(Similarity::Oks)
    }

    #[test]
    fn a_hundred_frames_of_weak_objects_without_identities_are_reported_with_figures_and_what_to_set() {
        let auto = TrackParams::auto;
        assert_eq!(found(99, &[0.52, 0.61], 0, auto()), None);
        assert_eq!(
            found(300, &[0.52, 0.61], 0, auto()).unwrap().sentences(Similarity::Oks),
            "100 frames had 200 objects, of which 0 got an identity: 200 have a confidence below new-confidence=0.7 (0.56 on average, \
             0.61 at most). Set high-confidence=0.5 new-confidence=0.5, which three quarters of them reach"
        );
        let scoreless = sentences(&[0.0, f32::NAN], auto());
        assert!(
            scoreless.contains("Set min-confidence=0 high-confidence=0 new-confidence=0,"),
            "{scoreless}"
        );
        let sort = sentences(&[0.3], TrackParams::sort());
        assert!(
            sort.contains("below min-confidence=0.5") && sort.contains("Set min-confidence=0.3,"),
            "{sort}"
        );
        let high = sentences(&[0.5], TrackParams { high_confidence: 0.8, new_confidence: 0.4, ..auto() });
        assert!(high.contains("below high-confidence=0.8"), "{high}");
        assert!(high.contains("Set high-confidence=0.5 new-confidence=0.5,"), "{high}");
    }

    #[test]
    fn nearly_all_are_enough_and_weak_objects_beside_tracked_ones_are_ordinary() {
        let nearly = [&[0.3; 39][..], &[0.9]].concat();
        assert!(found(100, &nearly, 1, TrackParams::auto()).is_some());
        assert_eq!(found(100, &nearly, 4, TrackParams::auto()), None, "weak ones keep tracks alive");
        assert_eq!(found(100, &[0.3, 0.3, 0.9], 1, TrackParams::auto()), None);
    }

    #[test]
    fn strong_objects_without_identities_are_not_where_they_are_expected() {
        let text = sentences(&[0.9], TrackParams::auto());
        assert!(
            text.contains("100 have a confidence of new-confidence=0.7 or more") && text.contains("sigmas"),
            "{text}"
        );
        assert_eq!(found(100, &[0.9], 1, TrackParams::auto()), None);
    }

    #[test]
    fn frames_without_objects_and_boxes_without_a_size_do_not_count() {
        let (tracker, mut confirmation) =
            (Tracker::new(TrackParams::auto()).unwrap(), Confirmation::default());
        let point = Detection { rect: Rect { w: 0.0, h: 0.0, ..RECT }, confidence: 0.1, class: 0 };
        for _ in 0..300 {
            assert_eq!(confirmation.see(&[], &[], &tracker), None);
            assert_eq!(confirmation.see(&[point], &[None], &tracker), None);
        }
    }
}
