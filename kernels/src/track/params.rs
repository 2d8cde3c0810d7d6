//! Which tracker, and how it decides.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A tracking algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Bewley et al., "Simple online and realtime tracking", ICIP 2016: one association by IoU.
    Sort,
    /// Zhang et al., "ByteTrack: multi-object tracking by associating every detection box", ECCV 2022: a second
    /// association keeps tracks alive on weak detections.
    ByteTrack,
}

impl Algorithm {
    /// Its name in properties and files: `sort` or `bytetrack`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sort => "sort",
            Self::ByteTrack => "bytetrack",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = TrackError;

    fn from_str(name: &str) -> Result<Self, TrackError> {
        [Self::Sort, Self::ByteTrack]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| TrackError::Algorithm(name.to_owned()))
    }
}

/// What a tracker is set up with. Take [`Params::sort`] or [`Params::bytetrack`] and change what must differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Which tracker.
    pub algorithm: Algorithm,
    /// Detections of lower confidence are ignored. ByteTrack lives on weak detections: let the detector pass them on.
    pub min_confidence: f32,
    /// ByteTrack: detections from this confidence on take part in the first association, weaker ones in the second.
    pub high_confidence: f32,
    /// ByteTrack: a detection without a track starts one from this confidence on (or from `high_confidence`, if that is
    /// higher). SORT starts one for each.
    pub new_confidence: f32,
    /// A track is published once it has been detected in this many frames in a row after its first. In the first
    /// frames of a sequence (SORT: this many, ByteTrack: one) detections are believed at once.
    pub min_hits: u32,
    /// A track that was not detected in more than this many frames in a row is given up.
    pub max_lost: u32,
    /// Lowest score of a match: for SORT the IoU of a detection with the track's predicted box, for ByteTrack's first
    /// association that IoU times the detection's confidence. OKS instead of IoU, where poses are compared.
    pub iou: f32,
    /// ByteTrack: lowest IoU, or OKS, of a match in the second association.
    pub iou_low: f32,
    /// Detections of different classes never match.
    pub class_aware: bool,
}

impl Params {
    /// SORT as its authors published it: detections from 0.5 on, IoU 0.3, three hits, one lost frame.
    pub fn sort() -> Self {
        Self {
            algorithm: Algorithm::Sort,
            min_confidence: 0.5,
            high_confidence: 0.5,
            new_confidence: 0.5,
            min_hits: 3,
            max_lost: 1,
            iou: 0.3,
            iou_low: 0.3,
            class_aware: true,
        }
    }

    /// ByteTrack with the paper's confidences (0.1, 0.6, 0.7), 30 lost frames and second association (IoU 0.5). Its first
    /// association is wider than the paper's (0.1 instead of 0.2): at the 5 to 10 frames a second that inference often
    /// runs at, somebody who turns moves by half a body between two frames.
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
            class_aware: true,
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`TrackError::Threshold`] for the first threshold that is not within 0..1.
    pub fn validate(&self) -> Result<(), TrackError> {
        let thresholds = [
            ("min_confidence", self.min_confidence),
            ("high_confidence", self.high_confidence),
            ("new_confidence", self.new_confidence),
            ("iou", self.iou),
            ("iou_low", self.iou_low),
        ];
        match thresholds.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            Some((name, value)) => Err(TrackError::Threshold { name, value }),
            None => Ok(()),
        }
    }
}

/// Why a tracker cannot be set up.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum TrackError {
    /// An unknown algorithm's name.
    #[error("There is no tracking algorithm '{0}': use 'sort' or 'bytetrack'.")]
    Algorithm(String),
    /// A threshold outside 0..1.
    #[error("The tracker's {name} is {value}, but it must lie between 0 and 1: change it.")]
    Threshold {
        /// The field of [`Params`].
        name: &'static str,
        /// What it was.
        value: f32,
    },
}
