//! Tables of points, as programs for the poses of animals read them: a header that names the skeleton's points, then rows of
//! instances (SLEAP) or of frames (DeepLabCut, Lightning Pose).
//!
//! Their pixels have the first pixel's centre at 0, ours its corner: half a pixel is taken off. Numbers are written as they are,
//! to a ten-thousandth of a pixel.

mod cells;
mod companion;
mod frames;
mod instance;
mod left_out;
mod sleap;

use std::collections::BTreeMap;

use companion::Video;
use frames::Columns;
use instance::Instance;
pub(crate) use left_out::LeftOut;

use crate::meta::object::Object;
use crate::model::Skeleton;

/// Whose table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// SLEAP, and what sleap-io reads.
    Sleap,
    /// DeepLabCut.
    DeepLabCut,
    /// Lightning Pose.
    LightningPose,
}

impl Program {
    /// What a row stands for, and so how many individuals its header has room for: `None` for any number.
    fn columns(self, individuals: usize) -> Option<Columns> {
        match self {
            Self::Sleap => None,
            Self::DeepLabCut => Some(Columns::Individuals(individuals)),
            Self::LightningPose => Some(Columns::OneAnimal),
        }
    }
}

/// The table of one run.
#[derive(Debug)]
pub(crate) struct Labels {
    program: Program,
    columns: Option<Columns>,
    /// Without points until the first caps have come.
    skeleton: Skeleton,
    video: Video,
    begun: bool,
    /// Identities that have a row, with their names.
    tracks: BTreeMap<u64, String>,
    left_out: LeftOut,
}

impl Labels {
    /// A table with columns for one individual, where it has columns for each.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            columns: program.columns(1),
            skeleton: Skeleton::default(),
            video: Video::default(),
            begun: false,
            tracks: BTreeMap::new(),
            left_out: LeftOut::default(),
        }
    }

    /// Takes the skeleton of the model whose points come now.
    ///
    /// # Errors
    /// A sentence: it has no points, or others than those in the header that has been written.
    pub fn set_skeleton(&mut self, skeleton: Skeleton) -> Result<(), String> {
        if skeleton.points.is_empty() {
            return Err("no model upstream names its points, which the header of the table needs. Set points = [...] in \
                        [skeleton] of the model's sidecar, or format=json"
                .into());
        }
        if self.begun && skeleton.points != self.skeleton.points {
            let [now, then] = [&skeleton, &self.skeleton].map(|skeleton| skeleton.points.join(", "));
            return Err(format!(
                "the model's points are {now} now, and the header of the table has {then}. Write another file for another model"
            ));
        }
        self.skeleton = skeleton;
        Ok(())
    }

    /// The header, the first time that it is asked for and the skeleton is known.
    pub fn begin(&mut self) -> Option<Vec<u8>> {
        if self.begun || self.skeleton.points.is_empty() {
            return None;
        }
        self.begun = true;
        Some(match self.columns {
            None => sleap::header(&self.skeleton),
            Some(columns) => columns.header(&self.skeleton),
        })
    }

    /// The rows of a frame; none, where it has no instance and the table no row for it.
    pub fn rows(&mut self, frame: u64, objects: &[Object]) -> Option<Vec<u8>> {
        let mut instances = Vec::new();
        for object in objects {
            match Instance::of(object, &self.skeleton) {
                Some(instance) if instance.found() > 0 => instances.push(instance),
                Some(_) => self.left_out.other_points += 1,
                None => (),
            }
        }
        match self.columns {
            None => {
                for track in instances.iter().filter_map(|instance| instance.track.as_ref()) {
                    self.tracks.entry(track.id).or_insert_with(|| track.name.clone());
                }
                sleap::rows(frame, &instances)
            }
            Some(columns) => Some(columns.row(frame, &instances, &self.skeleton, &mut self.left_out)),
        }
    }

    /// Takes the number of individuals that have columns, unless the header has been written.
    pub fn set_individuals(&mut self, count: usize) {
        if !self.begun {
            self.columns = self.program.columns(count);
        }
    }

    /// Takes the path or URI of the video, and how many channels its frames have.
    pub fn set_video(&mut self, name: String, channels: u32) {
        self.video = Video { name, channels };
    }

    /// What SLEAP keeps beside the table of a video of this number of frames, of this width and height; `None` for other programs, and
    /// before the header.
    pub fn companion(&self, frames: u64, size: (u32, u32)) -> Option<Vec<u8>> {
        let known = self.program == Program::Sleap && self.begun;
        known.then(|| companion::json(&self.video, frames, size, &self.skeleton, &self.tracks))
    }

    /// What was left out so far.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }
}

#[cfg(test)]
mod tests;
