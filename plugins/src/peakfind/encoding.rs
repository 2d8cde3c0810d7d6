//! What the model's outputs hold, as properties and sidecar state it or as names and shapes show it: confidence maps, SimCC's
//! scores along each axis, or coordinates.

use cudainfer_kernels::detect::AxisOrder;
use cudainfer_kernels::keypoints::{
    CandidateOutputs, CandidateReader, CellParams, CellReader, CoordinateParams, IndividualOutputs,
    IndividualReader, InstanceReader, KeypointsError, LaneReader, PointFormat, PointOutputs, PointReader,
    PoseOutputs, PoseReader, SimccParams, SimccReader,
};
use cudainfer_kernels::peaks::{PeakFinder, PeakParams};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use cudainfer_kernels::words::Words as _;

use super::grouping::{GroupingPlan, Outputs};
use crate::model::{Encoding, Grouping};

/// How the outputs are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Coding {
    /// Confidence maps, and how their points are grouped.
    Maps(PeakParams),
    /// The output along x and the one along y.
    Simcc(SimccParams),
    /// Outputs with the coordinates of an object's points, and what else is there.
    Points(CoordinateParams, Further),
    /// One output with the coordinates of several objects' points, and their boxes.
    Instances(CoordinateParams),
    /// Outputs with the coordinates of several objects' points, and what else is there.
    Poses(CoordinateParams, Further),
    /// Outputs with peaks, their scores and those of the lines between them, and which of them are there, if there is one. They are
    /// grouped by part affinity fields' rules.
    Candidates(CoordinateParams),
    /// Outputs with peaks, their scores, how much each looks like each individual, and which of them are there, if there is one.
    Individuals(CoordinateParams),
    /// One output with the scores of the pixels of cells.
    Cells(CellParams),
    /// Outputs with lanes of a picture whose lower part, this fraction, is the input; the grouping has how they are read.
    Lanes { crop: f32 },
}

/// Which outputs there are after that of the coordinates, in this order, which is that of [`PointReader`] and [`PoseReader`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Further {
    /// The scores of the points.
    pub scores: bool,
    /// The scores of the objects.
    pub poses: bool,
    /// Which individuals they are.
    pub identities: bool,
    /// Which places hold an object.
    pub valid: bool,
}

impl Further {
    /// The outputs by their roles: the coordinates, and those of the fields.
    fn split(self, outputs: &[TensorDesc]) -> Option<(&TensorDesc, [Option<&TensorDesc>; 4])> {
        let (points, others) = outputs.split_first()?;
        let mut others = others.iter();
        let mut next = |is_there: bool| if is_there { others.next() } else { None };
        Some((points, [next(self.scores), next(self.poses), next(self.identities), next(self.valid)]))
    }

    /// Those of one object.
    pub fn points(self, outputs: &[TensorDesc]) -> Option<PointOutputs<'_>> {
        let (points, [scores, pose, identities, _]) = self.split(outputs)?;
        Some(PointOutputs { points, scores, pose, identities })
    }

    /// Those of several objects.
    pub fn poses(self, outputs: &[TensorDesc]) -> Option<PoseOutputs<'_>> {
        let (points, [scores, poses, identities, valid]) = self.split(outputs)?;
        Some(PoseOutputs { points, scores, poses, identities, valid })
    }
}

/// The output with the coordinates and the other ones, as [`Further`] finds them again.
fn chain<'a>(points: &'a TensorDesc, others: [Option<&'a TensorDesc>; 4]) -> (Further, Vec<&'a TensorDesc>) {
    let [scores, poses, identities, valid] = others.map(|output| output.is_some());
    let outputs = std::iter::once(points).chain(others.into_iter().flatten()).collect();
    (Further { scores, poses, identities, valid }, outputs)
}

/// The outputs of candidates by their roles.
pub(super) fn candidates(outputs: &[TensorDesc]) -> Option<CandidateOutputs<'_>> {
    let [points, scores, lines, others @ ..] = outputs else { return None };
    Some(CandidateOutputs { points, scores, lines, valid: others.first() })
}

/// Those of peaks of individuals.
pub(super) fn individuals(outputs: &[TensorDesc]) -> Option<IndividualOutputs<'_>> {
    let [points, scores, identities, others @ ..] = outputs else { return None };
    Some(IndividualOutputs { points, scores, identities, valid: others.first() })
}

impl Coding {
    /// The part of the outputs that holds the points, to end a sentence with.
    pub fn words(self) -> &'static str {
        match self {
            Self::Maps(_) => "confidence maps",
            Self::Simcc(_) => "SimCC",
            Self::Points(..) => "coordinates",
            Self::Instances(_) | Self::Poses(..) => "coordinates of several objects",
            Self::Candidates(_) | Self::Individuals(_) => "candidates",
            Self::Cells(_) => "cells of pixels",
            Self::Lanes { .. } => "lanes",
        }
    }

    /// The numbers of each point, where they are coordinates.
    pub fn format(self) -> Option<PointFormat> {
        match self {
            Self::Points(params, _) | Self::Poses(params, _) => params.format,
            _ => None,
        }
    }
}

/// The choice.
pub(super) struct Chosen {
    pub coding: Coding,
    pub plan: GroupingPlan,
    /// The outputs that are read, in order.
    pub outputs: Vec<TensorDesc>,
    /// A sentence, if something was not stated but guessed.
    pub guess: Option<String>,
}

/// The outputs of Ultra-Fast-Lane-Detection-v2 as its pt2onnx.py names them, in the order of [`LaneReader`].
const LANES: [&str; 4] = ["loc_row", "loc_col", "exist_row", "exist_col"];

/// Points of a person in COCO, as MoveNet gives them: expected of several people's coordinates without a skeleton.
const POINTS: usize = 17;

impl Outputs<'_> {
    /// How the outputs of a network whose input is `input` (width, height) pixels are read and their points are grouped.
    ///
    /// # Errors
    /// A sentence: an output is not there, or nothing says which of several it is, or the skeleton or the grouping does not
    /// fit.
    pub fn choose(&self, input: [usize; 2]) -> Result<Chosen, String> {
        let Self { settings, info, .. } = *self;
        if let Some((origin, layout)) =
            info.unsupported().filter(|_| settings.is_encoding_open(info) && self.maps_name().is_none())
        {
            return Err(format!(
                "{origin} names {layout} for the outputs {}, which are not read. Export the bare network, whose outputs are \
                 confidence maps; or set encoding=points and output to one with coordinates, with normalized = false in the \
                 sidecar's [peaks] if they are pixels",
                self.list()
            ));
        }
        let stated = settings.encoding.or(info.peaks.encoding);
        let encoding = stated.unwrap_or_else(|| self.recognised(input));
        let (mut guess, mut lanes) = (None, None);
        let (coding, outputs, points) = match encoding {
            Encoding::Maps => {
                let (plan, outputs) = self.plan()?;
                guess = outputs.first().and_then(|maps| self.lost_tags(maps));
                return Ok(Chosen { coding: Coding::Maps(settings.params(info)), plan, outputs, guess });
            }
            Encoding::Simcc => {
                let ([x, y], guessed) = self.simcc(input)?;
                guess = guessed;
                let points = x.dims.get(1).copied().flatten();
                (Coding::Simcc(settings.simcc(info)), vec![x, y], points)
            }
            Encoding::Points => {
                let (points, peaks) = (self.coordinates()?, &info.peaks);
                // MoveNet's outputs have a dimension more.
                let of_movenet = matches!(points.dims[..], [_, _, _, Some(3)])
                    && peaks.point_format.is_none_or(|format| format == PointFormat::XyScore);
                let order = if of_movenet { AxisOrder::Yx } else { AxisOrder::Xy };
                let params = settings.of_one(info, order);
                let scores = self.stated(&peaks.scores)?;
                let pose = self.stated(&peaks.pose_scores)?;
                let identities = self.stated(&peaks.identity_scores)?;
                let outputs = PointOutputs { points, scores, pose, identities };
                let reader = PointReader::new(&outputs, input, params).map_err(|e| e.to_string())?;
                let params = CoordinateParams { format: Some(reader.format()), ..params };
                let (further, outputs) = chain(points, [scores, pose, identities, None]);
                (Coding::Points(params, further), outputs, reader.points())
            }
            Encoding::Instances => {
                let output = self.coordinates()?;
                let params = settings.coordinates(info, AxisOrder::Yx);
                let reader = InstanceReader::new(output, input, params).map_err(|e| e.to_string())?;
                (Coding::Instances(params), vec![output], reader.points())
            }
            Encoding::Poses => {
                let (params, peaks) = (settings.scored(info), &info.peaks);
                let (points, scores) = (self.coordinates()?, self.stated(&peaks.scores)?);
                let (poses, valid) = (self.stated(&peaks.pose_scores)?, self.stated(&peaks.valid)?);
                let identities = self.stated(&peaks.identity_scores)?;
                let outputs = PoseOutputs { points, scores, poses, identities, valid };
                let reader = PoseReader::new(&outputs, input, params).map_err(|e| e.to_string())?;
                // Something must say which objects there are.
                if poses.or(valid).is_none() && reader.format().scores() == 0 {
                    self.needed(&peaks.scores, "scores", encoding)?;
                }
                let params = CoordinateParams { format: Some(reader.format()), ..params };
                let (further, outputs) = chain(points, [scores, poses, identities, valid]);
                (Coding::Poses(params, further), outputs, reader.points())
            }
            Encoding::Candidates if info.peaks.identity_scores.is_some() => {
                let (params, peaks) = (settings.scored(info), &info.peaks);
                let (points, scores) = (self.coordinates()?, self.needed(&peaks.scores, "scores", encoding)?);
                let identities = self.needed(&peaks.identity_scores, "identity-scores", encoding)?;
                let valid = self.stated(&peaks.valid)?;
                let outputs = IndividualOutputs { points, scores, identities, valid };
                let reader = IndividualReader::new(&outputs, input, params).map_err(|e| e.to_string())?;
                let outputs = [points, scores, identities].into_iter().chain(valid).collect();
                (Coding::Individuals(params), outputs, reader.points())
            }
            Encoding::Candidates => {
                let (params, peaks) = (settings.scored(info), &info.peaks);
                let (points, scores) = (self.coordinates()?, self.needed(&peaks.scores, "scores", encoding)?);
                let lines = self.needed(&peaks.line_scores, "line-scores", encoding)?;
                let valid = self.stated(&peaks.valid)?;
                let paf = self.paf()?;
                let outputs = CandidateOutputs { points, scores, lines, valid };
                CandidateReader::new(&outputs, input, params, &paf).map_err(|e| e.to_string())?;
                if let Some(grouping) = self.grouping().filter(|grouping| *grouping != Grouping::Paf) {
                    return Err(self.mismatch(Some(grouping), encoding));
                }
                let outputs = [points, scores, lines].into_iter().chain(valid).cloned().collect();
                return Ok(Chosen {
                    coding: Coding::Candidates(params),
                    plan: GroupingPlan::Paf(paf),
                    outputs,
                    guess,
                });
            }
            Encoding::Cells => {
                let (output, params) =
                    (self.cells(input).map_or_else(|| self.coordinates(), Ok)?, settings.cells(info));
                CellReader::new(output, input, params).map_err(|e| e.to_string())?;
                (Coding::Cells(params), vec![output], Some(1))
            }
            Encoding::Lanes => {
                let (outputs, params) = (self.lanes()?, settings.lanes(info));
                let reader = LaneReader::new(&outputs, input, &params).map_err(|e| e.to_string())?;
                lanes = Some(params);
                (Coding::Lanes { crop: reader.crop() }, outputs, reader.points())
            }
        };
        let named = info.skeleton.points.len();
        // A centroid is none of the skeleton's points.
        let is_centroid = encoding == Encoding::Poses && self.grouping() == Some(Grouping::Each);
        let differs = |points: &usize| named > 0 && *points != named && !is_centroid;
        if let (Some(points), Some(output)) = (points.filter(differs), outputs.first()) {
            return Err(format!(
                "the skeleton in the model's sidecar has {named} points, and the output '{}' gives {points}: name each of the \
                 model's points, in its order",
                output.name
            ));
        }
        let plan = match (self.grouping(), encoding) {
            (None, Encoding::Lanes) => GroupingPlan::Lanes(lanes.unwrap_or_default()),
            (None, Encoding::Instances | Encoding::Poses | Encoding::Candidates) => GroupingPlan::Instances,
            (Some(Grouping::Each), Encoding::Poses) if points == Some(1) => GroupingPlan::Each,
            (None | Some(Grouping::Frame), Encoding::Simcc | Encoding::Points | Encoding::Cells) => {
                GroupingPlan::Frame
            }
            (Some(Grouping::Each), Encoding::Simcc | Encoding::Points | Encoding::Cells) => {
                GroupingPlan::Each
            }
            (grouping, encoding) => return Err(self.mismatch(grouping, encoding)),
        };
        Ok(Chosen { coding, plan, outputs: outputs.into_iter().cloned().collect(), guess })
    }

    /// A sentence: what the outputs hold is not grouped so.
    fn mismatch(&self, grouping: Option<Grouping>, encoding: Encoding) -> String {
        format!(
            "grouping={} does not go with encoding={}, as which the outputs {} are read: leave grouping at auto, or set \
             encoding=maps if they are confidence maps",
            grouping.map_or("auto", Grouping::word),
            encoding.word(),
            self.list()
        )
    }

    /// The output that the sidecar names.
    fn stated(&self, name: &Option<String>) -> Result<Option<&TensorDesc>, String> {
        name.as_ref().map(|name| self.named(name)).transpose()
    }

    /// The same where there must be one.
    fn needed(&self, name: &Option<String>, key: &str, encoding: Encoding) -> Result<&TensorDesc, String> {
        self.stated(name)?.ok_or_else(|| {
            format!(
                "encoding={} reads several outputs, and the model has {}: set {key} in the sidecar's [peaks] to the one with them",
                encoding.word(),
                self.list()
            )
        })
    }

    /// Maps, unless the outputs cannot be any and have the shape of something else.
    fn recognised(&self, input: [usize; 2]) -> Encoding {
        let Self { outputs, settings, info } = *self;
        let peaks = &info.peaks;
        if matches!(self.grouping(), Some(Grouping::Paf | Grouping::Displacements | Grouping::Tags)) {
            return Encoding::Maps;
        }
        if peaks.simcc_x.is_some() || peaks.simcc_y.is_some() {
            return Encoding::Simcc;
        }
        if self.cells(input).is_some() && info.skeleton.points.is_empty() && info.output.labels.is_empty() {
            return Encoding::Cells;
        }
        if self.are_lanes(input) && info.skeleton.points.is_empty() && info.output.labels.is_empty() {
            return Encoding::Lanes;
        }
        let only = match (self.maps_name(), outputs) {
            (Some(name), _) => outputs.iter().find(|output| output.name == name),
            (None, [only]) => Some(only),
            (None, _) => {
                let named = self.only("simcc_x").is_some() && self.only("simcc_y").is_some();
                let shaped = || matches!(self.by_shape(input), Some((_, true)));
                return if named || shaped() { Encoding::Simcc } else { Encoding::Maps };
            }
        };
        let Some(only) = only.filter(|only| PeakFinder::new(only, input, settings.params(info)).is_err())
        else {
            return Encoding::Maps;
        };
        let named = Some(info.skeleton.points.len()).filter(|points| *points > 0);
        let coordinates = settings.coordinates(info, AxisOrder::Xy);
        let is_points = || match PointReader::new(&PointOutputs::of(only), input, coordinates) {
            Ok(_) => true,
            // That says best what is missing: there is no other reading.
            Err(
                KeypointsError::Undivided { .. }
                | KeypointsError::Named { .. }
                | KeypointsError::Format { .. },
            ) => only.dims.len() == 2 && matches!(only.ty, TensorType::Float32 | TensorType::Float16),
            Err(_) => false,
        };
        let is_poses = || {
            let outputs =
                PoseOutputs { points: only, scores: None, poses: None, identities: None, valid: None };
            let reader = PoseReader::new(&outputs, input, coordinates).ok();
            let reader = reader.filter(|reader| only.dims.len() == 4 && reader.format().scores() > 0);
            named.is_some() && reader.and_then(|reader| reader.points()) == named
        };
        let is_instances = || {
            let points =
                InstanceReader::new(only, input, coordinates).ok().and_then(|reader| reader.points());
            points.is_some_and(|points| points == named.unwrap_or(POINTS))
        };
        match () {
            () if is_points() => Encoding::Points,
            () if is_instances() => Encoding::Instances,
            () if is_poses() => Encoding::Poses,
            () => Encoding::Maps,
        }
    }

    /// The output that is named, or the only one, that has the logits of cells.
    fn cells(&self, input: [usize; 2]) -> Option<&TensorDesc> {
        let params = self.settings.cells(self.info);
        let named = |output: &&TensorDesc| self.maps_name().is_none_or(|name| output.name == name);
        let fits = |output: &&TensorDesc| {
            output.dims.iter().all(Option::is_some) && CellReader::new(output, input, params).is_ok()
        };
        let mut outputs = self.outputs.iter().filter(named).filter(fits);
        outputs.next().filter(|_| outputs.next().is_none())
    }

    /// The outputs with lanes: the one that is named or the only one, or the four of Ultra-Fast-Lane-Detection-v2.
    fn lanes(&self) -> Result<Vec<&TensorDesc>, String> {
        let named = |name: &&str| self.outputs.iter().find(|output| output.name == **name);
        let four: Vec<_> = LANES.iter().filter_map(named).collect();
        if self.maps_name().is_none() && four.len() == LANES.len() {
            return Ok(four);
        }
        match (self.maps_name(), self.outputs) {
            (Some(name), _) => Ok(vec![self.named(name)?]),
            (None, [only]) => Ok(vec![only]),
            _ => Err(format!(
                "the model has several outputs, {}: set output to the one with the lanes, or name those of \
                 Ultra-Fast-Lane-Detection-v2 {} in the model",
                self.list(),
                LANES.join(", ")
            )),
        }
    }

    /// Whether outputs have the names or the shape of the makers' own exports, and the inputs are wide, as pictures of roads are.
    fn are_lanes(&self, [width, height]: [usize; 2]) -> bool {
        let Ok(outputs) = self.lanes() else { return false };
        let shapes = [&[101, 56, 4][..], &[201, 18, 4], &[192, 78]];
        let is_known = |output: &TensorDesc| {
            let dims: Option<Vec<usize>> = output.dims.iter().skip(1).copied().collect();
            dims.is_some_and(|dims| shapes.contains(&&dims[..]))
        };
        outputs.len() == LANES.len() || (width > height && outputs.iter().all(|output| is_known(output)))
    }

    /// SimCC's outputs along x and along y, and a sentence if their order is a guess.
    fn simcc(&self, input: [usize; 2]) -> Result<([&TensorDesc; 2], Option<String>), String> {
        let peaks = &self.info.peaks;
        let which = || {
            format!(
                "the model has the outputs {}: set simcc-x and simcc-y in the sidecar's [peaks] to those with the scores along \
                 x and along y",
                self.list()
            )
        };
        let find = |named: &Option<String>, part: &str| match named {
            Some(name) => self.named(name).map(Some),
            None => Ok(self.only(part)),
        };
        let other = |one: &TensorDesc| {
            let mut others = self.vectors().filter(|output| output.name != one.name);
            others.next().filter(|_| others.next().is_none()).ok_or_else(which)
        };
        match (find(&peaks.simcc_x, "simcc_x")?, find(&peaks.simcc_y, "simcc_y")?) {
            (Some(x), Some(y)) => Ok(([x, y], None)),
            (Some(x), None) => Ok(([x, other(x)?], None)),
            (None, Some(y)) => Ok(([other(y)?, y], None)),
            (None, None) => {
                let ([x, y], _) = self.by_shape(input).ok_or_else(which)?;
                let fits = |x, y| SimccReader::new(x, y, input, SimccParams::default()).is_ok();
                let guess = (fits(x, y) && fits(y, x)).then(|| {
                    format!(
                        "the outputs '{}' and '{}' are taken for the scores along x and along y in this order, which their \
                         shapes do not tell: set simcc-x and simcc-y in the sidecar's [peaks]",
                        x.name, y.name
                    )
                });
                Ok(([x, y], guess))
            }
        }
    }

    /// Outputs with a vector for each point.
    fn vectors(&self) -> impl Iterator<Item = &TensorDesc> {
        self.outputs.iter().filter(|output| matches!(output.dims[..], [None | Some(1), _, _]))
    }

    /// The only two outputs with a vector a point, along x and along y as their shapes tell it, else in their order; and
    /// whether they can be SimCC's: each pixel of both axes is split into the same number of cells.
    fn by_shape(&self, input: [usize; 2]) -> Option<([&TensorDesc; 2], bool)> {
        let mut vectors = self.vectors();
        let (Some(a), Some(b), None) = (vectors.next(), vectors.next(), vectors.next()) else { return None };
        let fits = |x: &TensorDesc, y: &TensorDesc| {
            let split = matches!(x.dims.get(2), Some(Some(cells)) if *cells >= input[0]);
            split
                && y.dims.iter().all(Option::is_some)
                && SimccReader::new(x, y, input, SimccParams::default()).is_ok()
        };
        Some(match (fits(a, b), fits(b, a)) {
            (true, _) => ([a, b], true),
            (false, true) => ([b, a], true),
            (false, false) => ([a, b], false),
        })
    }

    /// The output with the coordinates.
    fn coordinates(&self) -> Result<&TensorDesc, String> {
        match (self.maps_name(), self.outputs) {
            (Some(name), _) => self.named(name),
            (None, [only]) => Ok(only),
            _ => Err(format!(
                "the model has several outputs, {}: set output to the one with the coordinates",
                self.list()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelInfo;
    use crate::peakfind::settings::Settings;

    #[test]
    fn advice_names_only_outputs_that_are_there() {
        gst::init().unwrap();
        let outputs = |text: &str| text.split(' ').map(|t| t.parse().unwrap()).collect::<Vec<TensorDesc>>();
        // The outputs of sleap-nn's exports of type bottomup: points, and no maps.
        let points = outputs("peaks:float32:1x13x20x2 peak_vals:float32:1x13x20 peak_mask:bool:1x13x20");
        let sleap_nn =
            ModelInfo::of_unsupported("sleap-nn", "the points that a 'bottomup' model finds itself");
        let settings = Settings::default();
        let refusal = |outputs: &[TensorDesc], info: &ModelInfo, settings: &Settings| {
            Outputs::new(outputs, settings, info).choose([64, 64]).map(|_| ()).unwrap_err()
        };
        let error = refusal(&points, &sleap_nn, &settings);
        assert!(error.contains("the points that a 'bottomup' model finds itself"), "{error}");
        assert!(
            error.contains("set encoding=points") && !error.contains("the one with the confidence maps"),
            "{error}"
        );
        // A named output is used.
        let mut named = Settings::default();
        named.output = "peaks".into();
        assert!(Outputs::new(&points, &named, &sleap_nn).choose([64, 64]).is_ok());
        let unknown = ModelInfo::default();
        let maps = outputs("maps:float32:1x13x16x16 fields:float32:1x24x16x16 scores:float32:1x13");
        assert!(
            refusal(&maps, &unknown, &settings).contains("Set output to the one with the confidence maps")
        );
        let lists = outputs("a:float32:1x13 b:float32:1x13x2 c:float32:1x13x1");
        let error = refusal(&lists, &unknown, &settings);
        assert!(error.contains("none has the shape of confidence maps"), "{error}");
    }
}
