//! The algorithm and its parameters.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::words::Words as _;

/// A tracking algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// The best combination on detectors' output: ByteTrack's associations, BoT-SORT's filter, OC-SORT's momentum, and
    /// thresholds from the detector's own confidences.
    #[default]
    Auto,
    /// Bewley et al., "Simple online and realtime tracking", ICIP 2016: one association by IoU.
    Sort,
    /// Zhang et al., "ByteTrack: multi-object tracking by associating every detection box", ECCV 2022: a second
    /// association keeps tracks alive on weak detections.
    ByteTrack,
    /// Cao et al., "Observation-centric SORT: rethinking SORT for robust multi-object tracking", CVPR 2023: relies on
    /// observations more than on the filter's predictions without them.
    OcSort,
    /// Aharon et al., "BoT-SORT: robust associations multi-pedestrian tracking", arXiv:2206.14651, 2022: ByteTrack with a
    /// better filter, appearance, and motion of the camera.
    BotSort,
    /// Yang et al., "Hard to track objects with irregular motions and similar appearances? Make it easier by buffering the
    /// matching space", WACV 2023: boxes are enlarged before they are compared, first a little, then more.
    CBiou,
}

crate::words! { Algorithm:
    Auto = "auto",
        "Best measured: ByteTrack's associations, BoT-SORT's filter, OC-SORT's momentum, adaptive thresholds";
    Sort = "sort", "SORT (Bewley et al., 2016): one association by IoU";
    ByteTrack = "bytetrack", "ByteTrack (Zhang et al., 2022): a second association for weak detections";
    OcSort = "ocsort", "OC-SORT (Cao et al., 2023): observation-centric, for objects that stop, turn or are occluded";
    BotSort = "botsort",
        "BoT-SORT (Aharon et al., 2022): ByteTrack with a better filter, appearance and camera motion";
    CBiou = "cbiou", "C-BIoU (Yang et al., 2023): enlarged boxes, for fast objects and low frame rates";
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Algorithm {
    type Err = TrackError;

    fn from_str(name: &str) -> Result<Self, TrackError> {
        Self::of_word(name).ok_or_else(|| TrackError::Algorithm(name.to_owned()))
    }
}

/// The most individuals.
pub const MOST_INDIVIDUALS: u32 = 1_000;

/// The most frames that a direction is taken over.
pub const MOST_MOMENTUM_FRAMES: u32 = 15;

/// A tracker's parameters. Take those of an algorithm ([`TrackParams::of`]) and change what must differ.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackParams {
    /// Which tracker.
    pub algorithm: Algorithm,
    /// Detections of lower confidence are ignored. ByteTrack needs weak detections: let the detector pass them on.
    pub min_confidence: f32,
    /// All but SORT and OC-SORT: detections from this confidence on take part in the first association, weaker ones in the last.
    pub high_confidence: f32,
    /// All but SORT and OC-SORT: a detection without a track starts one from this confidence on (or from `high_confidence`, if
    /// that is higher). SORT and OC-SORT start one for each.
    pub new_confidence: f32,
    /// All but SORT and OC-SORT: the two confidences above follow the distribution of the detections' confidences, as soon as
    /// 100 were seen: Otsu's threshold, 0.6 at most, and the lower quartile of what is above it.
    pub auto_confidence: bool,
    /// A track is published once it has been detected in this many frames in a row after its first. In the first
    /// frames of a sequence (SORT and OC-SORT: this many, the others: one) detections are published at once. Where detectors see some
    /// frames only, this number is divided by how many frames there are for each that they see, and rounded down.
    pub min_hits: u32,
    /// A track that was not detected in more than this many frames in a row is given up.
    pub max_lost: u32,
    /// How many individuals there are: never more identities than that, from 1 on, and one that is lost is kept until it is found
    /// again. 0: any number.
    pub max_tracks: u32,
    /// Lowest score of a match: for SORT the IoU of a detection with the track's predicted box; for the first association of
    /// ByteTrack and similar algorithms that IoU times the detection's confidence. OKS instead of IoU, where poses are compared.
    pub iou: f32,
    /// All but SORT and OC-SORT: lowest IoU, or OKS, of a match with a weak detection.
    pub iou_low: f32,
    /// OC-SORT and auto: a match's score rises by half of this where the object goes straight on, and falls by as much where it
    /// turns back. The paper's lambda.
    pub momentum: f32,
    /// OC-SORT and auto: frames from one observation to the other that the direction is taken between. The paper's delta t.
    pub momentum_frames: u32,
    /// C-BIoU: by how much of its width and height a box grows on each side before the first association.
    pub buffer: f32,
    /// C-BIoU: the same before the second association, of the remaining objects.
    pub buffer_wide: f32,
    /// Lowest similarity of two boxes, or poses, at which appearance counts.
    pub proximity: f32,
    /// Highest cosine distance of two embeddings, halved, at which appearance counts. The paper's theta_emb of BoT-SORT.
    pub appearance: f32,
    /// Appearance counts only while neighbours differ by it more than an object does over time; that is found out on every eighth frame.
    pub auto_appearance: bool,
    /// Detections of different classes never match.
    pub class_aware: bool,
}

impl TrackParams {
    /// An algorithm's own parameters.
    pub fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Auto => Self::auto(),
            Algorithm::Sort => Self::sort(),
            Algorithm::ByteTrack => Self::bytetrack(),
            Algorithm::OcSort => Self::ocsort(),
            Algorithm::BotSort => Self::botsort(),
            Algorithm::CBiou => Self::cbiou(),
        }
    }

    /// Those of [`TrackParams::bytetrack`], momentum as in OC-SORT's paper, automatic confidences, and appearance from an IoU of 0.1
    /// on (HOTA of people in vtest.avi with [`crate::appearance`] 60.1, from 0.5 on 56.0, without 55.1).
    pub fn auto() -> Self {
        Self { algorithm: Algorithm::Auto, auto_confidence: true, proximity: 0.1, ..Self::bytetrack() }
    }

    /// SORT as its authors published it: detections from 0.5 on, IoU 0.3, three hits, one lost frame.
    pub fn sort() -> Self {
        Self {
            algorithm: Algorithm::Sort,
            min_confidence: 0.5,
            high_confidence: 0.5,
            new_confidence: 0.5,
            auto_confidence: false,
            min_hits: 3,
            max_lost: 1,
            max_tracks: 0,
            iou: 0.3,
            iou_low: 0.3,
            momentum: 0.2,
            momentum_frames: 3,
            buffer: 0.3,
            buffer_wide: 0.5,
            proximity: 0.5,
            appearance: 0.25,
            auto_appearance: false,
            class_aware: true,
        }
    }

    /// OC-SORT with the paper's values: detections from 0.6 on, IoU 0.3, lambda 0.2, delta t 3, three hits, 30 lost frames.
    pub fn ocsort() -> Self {
        Self { algorithm: Algorithm::OcSort, min_confidence: 0.6, max_lost: 30, ..Self::sort() }
    }

    /// BoT-SORT with the paper's thresholds, which are ByteTrack's, and appearance from an IoU of 0.5 and half a cosine distance
    /// of 0.25 on.
    pub fn botsort() -> Self {
        Self { algorithm: Algorithm::BotSort, iou: 0.2, ..Self::bytetrack() }
    }

    /// C-BIoU with the paper's buffers (0.3 and 0.5), and the confidences and thresholds of ByteTrack's paper.
    pub fn cbiou() -> Self {
        Self { algorithm: Algorithm::CBiou, iou: 0.2, ..Self::bytetrack() }
    }

    /// ByteTrack with the paper's confidences (0.1, 0.6, 0.7), 30 lost frames and second association (IoU 0.5). Its first
    /// association is wider than the paper's (0.1 instead of 0.2): at the 5 to 10 frames a second that inference often
    /// runs at, a person who turns moves by half a body between two frames.
    pub fn bytetrack() -> Self {
        Self {
            algorithm: Algorithm::ByteTrack,
            min_confidence: 0.1,
            high_confidence: 0.6,
            new_confidence: 0.7,
            min_hits: 1,
            max_lost: 30,
            iou: 0.1,
            iou_low: 0.5,
            ..Self::sort()
        }
    }

    /// The same algorithm for poses that no detector has boxed. Their confidence is the mean of their points' scores or the peak of a centre,
    /// which one network puts at 0.5 and another at 0.9. So confidences decide less at first and then adapt, and less similarity is enough, by
    /// which the confidence is multiplied.
    ///
    /// Chosen on two flies, as four networks find them, and on the made animals of `scripts/evaluate identities`, with a limit of the
    /// individuals and without. Of 356 poses that a bottom-up network finds with 0.55 on average, 65 have no identity, and with the thresholds
    /// for boxes 194; of false poses (0.2 to 0.75) beside good ones (0.85) as few get one. Boxes of a detector keep their thresholds also where
    /// they have points: of people with PoseNet's points in vtest.avi, HOTA would be 45.8 instead of 47.2 with these confidences, because false
    /// boxes of the first frames stay.
    #[must_use]
    pub fn for_poses(self) -> Self {
        match self.algorithm {
            // They start a track from any detection, and have no thresholds that adapt.
            Algorithm::Sort | Algorithm::OcSort => Self { min_confidence: 0.1, iou: 0.1, ..self },
            Algorithm::Auto | Algorithm::ByteTrack | Algorithm::BotSort | Algorithm::CBiou => Self {
                high_confidence: 0.3,
                new_confidence: 0.3,
                auto_confidence: true,
                iou: 0.05,
                iou_low: 0.2,
                ..self
            },
        }
    }

    /// The least confidence of a detection that starts a track.
    pub fn start_confidence(&self) -> f32 {
        match self.algorithm {
            Algorithm::Sort | Algorithm::OcSort => self.min_confidence,
            Algorithm::Auto | Algorithm::ByteTrack | Algorithm::BotSort | Algorithm::CBiou => {
                self.new_confidence.max(self.high_confidence).max(self.min_confidence)
            }
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`TrackError::Threshold`] for the first threshold that is not within 0..1, [`TrackError::MomentumFrames`],
    /// [`TrackError::MaxTracks`].
    pub fn validate(&self) -> Result<(), TrackError> {
        let thresholds = [
            ("min_confidence", self.min_confidence),
            ("high_confidence", self.high_confidence),
            ("new_confidence", self.new_confidence),
            ("iou", self.iou),
            ("iou_low", self.iou_low),
            ("momentum", self.momentum),
            ("buffer", self.buffer),
            ("buffer_wide", self.buffer_wide),
            ("proximity", self.proximity),
            ("appearance", self.appearance),
        ];
        if let Some((name, value)) = thresholds.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            return Err(TrackError::Threshold { name, value });
        }
        if !(1..=MOST_MOMENTUM_FRAMES).contains(&self.momentum_frames) {
            return Err(TrackError::MomentumFrames(self.momentum_frames));
        }
        match self.max_tracks {
            0..=MOST_INDIVIDUALS => Ok(()),
            tracks => Err(TrackError::MaxTracks(tracks)),
        }
    }
}

/// Why a tracker cannot be set up.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum TrackError {
    /// An unknown algorithm's name.
    #[error("There is no tracking algorithm '{0}': use one of {names}.", names = Algorithm::list())]
    Algorithm(String),
    /// A threshold outside 0..1.
    #[error("The tracker's {name} is {value}, but it must lie between 0 and 1: change it.")]
    Threshold {
        /// The field of [`TrackParams`].
        name: &'static str,
        /// Its value.
        value: f32,
    },
    /// A direction over no frames, or over more than are remembered.
    #[error(
        "The tracker's momentum_frames is {0}, but it must lie between 1 and {MOST_MOMENTUM_FRAMES}: change it."
    )]
    MomentumFrames(u32),
    /// More individuals than identities are kept for.
    #[error(
        "The tracker's max_tracks is {0}, but there are {MOST_INDIVIDUALS} individuals at most: change it, or set 0 for any number \
         of tracks."
    )]
    MaxTracks(u32),
}
