//! From properties and sidecar to the outputs that are read, and how their points are grouped.

use cudainfer_kernels::group::{DisplacementParams, POSENET_TREE, PafParams, TagOutputs, TagParams};
use cudainfer_kernels::keypoints::LaneParams;
use cudainfer_kernels::peaks::Refinement;
use cudainfer_kernels::tensor::TensorDesc;

use super::settings::Settings;
use crate::model::{Group, Grouping, ModelInfo};

/// How points are grouped.
#[derive(Clone, Debug)]
pub(super) enum GroupingPlan {
    /// All points of a frame are one object's.
    Frame,
    /// Each point is an object.
    Each,
    /// By part affinity fields: the second output.
    Paf(PafParams),
    /// By the model: each instance is an object.
    Instances,
    /// By offsets and displacements, forward and backward: the second to the fourth output.
    Displacements(DisplacementParams),
    /// By the network's lanes: each is an object.
    Lanes(LaneParams),
    /// By tags, in outputs of these roles.
    Tags(TagParams, TagOutputs<()>),
}

/// The model's outputs, and what properties and sidecar set about them.
pub(super) struct Outputs<'a> {
    pub outputs: &'a [TensorDesc],
    pub settings: &'a Settings,
    pub info: &'a ModelInfo,
}

impl<'a> Outputs<'a> {
    pub fn new(outputs: &'a [TensorDesc], settings: &'a Settings, info: &'a ModelInfo) -> Self {
        Self { outputs, settings, info }
    }

    /// How to group points; `None` if neither the property nor the sidecar says it.
    pub fn grouping(&self) -> Option<Grouping> {
        self.settings.grouping.or(self.info.peaks.grouping)
    }

    /// How points of confidence maps are grouped, and the outputs that are read, the maps first.
    ///
    /// # Errors
    /// A sentence: an output is not there, or nothing says which of several it is, or the sidecar has no skeleton.
    pub fn plan(&self) -> Result<(GroupingPlan, Vec<TensorDesc>), String> {
        let peaks = &self.info.peaks;
        let (plan, outputs) = match self.grouping().unwrap_or(Grouping::Frame) {
            Grouping::Frame => (GroupingPlan::Frame, self.maps_and_offsets()?),
            Grouping::Each => (GroupingPlan::Each, self.maps_and_offsets()?),
            Grouping::Paf => {
                let params = self.paf()?;
                let fields = self.settings.pafs().or(peaks.pafs.as_deref());
                let fields = fields.map(|name| self.named(name)).transpose()?;
                let maps = self.maps(fields)?;
                let fields = match (fields, self.outputs) {
                    (Some(fields), _) => fields,
                    (None, [only]) => only,
                    (None, [a, b]) => {
                        if a.name == maps.name {
                            b
                        } else {
                            a
                        }
                    }
                    (None, _) => return Err(self.which("part affinity fields", "pafs")),
                };
                (GroupingPlan::Paf(params), vec![maps, fields])
            }
            Grouping::Displacements => {
                let is_named = self.maps_name().is_some();
                let maps = self.only("heatmap").filter(|_| !is_named).map_or_else(|| self.maps(None), Ok)?;
                let find = |named: &Option<String>, part: &str, what: &str, field: &str| match named {
                    Some(name) => self.named(name),
                    None => self.only(part).ok_or_else(|| self.which(what, field)),
                };
                let offsets = find(&peaks.offsets, "offset", "offsets", "offsets")?;
                let forward = find(&peaks.forward, "displacement_fwd", "forward displacements", "forward")?;
                let backward =
                    find(&peaks.backward, "displacement_bwd", "backward displacements", "backward")?;
                let params = self.displacements(forward);
                (GroupingPlan::Displacements(params), vec![maps, offsets, forward, backward])
            }
            Grouping::Tags => {
                let outputs = self.tagged()?;
                (GroupingPlan::Tags(self.tags(), outputs.roles()), outputs.list())
            }
        };
        Ok((plan, outputs.into_iter().cloned().collect()))
    }

    /// The maps, and the offsets where those refine peaks: the output that is named, or the only other one.
    fn maps_and_offsets(&self) -> Result<Vec<&'a TensorDesc>, String> {
        if self.settings.params(self.info).refinement != Refinement::Offsets {
            let maps = self.maps(None)?;
            self.check_names(maps)?;
            return Ok(vec![maps]);
        }
        let named = self.info.peaks.offsets.as_deref().map(|name| self.named(name)).transpose()?;
        let maps = match (self.maps_name(), named) {
            (None, None) => self.with_offsets().ok_or_else(|| self.which("confidence maps", "output"))?,
            _ => self.maps(named)?,
        };
        self.check_names(maps)?;
        let offsets = named.or_else(|| self.outputs.iter().find(|other| has_offsets(maps, other)));
        Ok(vec![maps, offsets.ok_or_else(|| self.which("offsets of cells", "offsets"))?])
    }

    /// The maps, their tags and the fine maps: those that are named, and of the others what their channels and cells show.
    fn tagged(&self) -> Result<TagOutputs<&'a TensorDesc>, String> {
        let peaks = &self.info.peaks;
        let named = |name: Option<&str>| name.map(|name| self.named(name)).transpose();
        let mut tags = named(peaks.tags.as_deref())?;
        let mut fine_maps = named(peaks.fine_maps.as_deref())?;
        let maps = named(self.maps_name())?;
        let is_named =
            |output: &&TensorDesc| [maps, tags, fine_maps].iter().flatten().any(|n| n.name == output.name);
        let open: Vec<&TensorDesc> = self.outputs.iter().filter(|output| !is_named(output)).collect();
        let only = |mut outputs: Vec<&'a TensorDesc>| outputs.pop().filter(|_| outputs.is_empty());
        let maps = maps.or_else(|| only(open.clone())).or_else(|| with_tags(&open).map(|[maps, _]| maps));
        let maps =
            maps.or_else(|| only(open.iter().copied().filter(|output| !is_called_tags(output)).collect()));
        let maps = maps.ok_or_else(|| self.which("confidence maps", "output"))?;
        for output in open.into_iter().filter(|output| output.name != maps.name) {
            let is_finer = maps.dims.get(2..) < output.dims.get(2..);
            match channels(output) {
                Some(count)
                    if channels(maps) == Some(2 * count) || (channels(maps) == Some(count) && is_finer) =>
                {
                    fine_maps = fine_maps.or(Some(output));
                }
                count if count == channels(maps) => tags = tags.or(Some(output)),
                _ => {}
            }
        }
        // The maps' own last channels.
        let tags = tags.filter(|tags| tags.name != maps.name);
        Ok(TagOutputs { maps, tags, fine_maps })
    }

    /// A sentence if the outputs look as if they had tags, which are lost unless points are grouped by them.
    pub fn lost_tags(&self, maps: &TensorDesc) -> Option<String> {
        let points = self.info.skeleton.points.len();
        let outputs: Vec<&TensorDesc> = self.outputs.iter().collect();
        let is_one = |pair: [&TensorDesc; 2]| pair.iter().any(|output| output.name == maps.name);
        // A last dimension of as many as there are points is that of channels.
        let is_double = channels(maps) == Some(2 * points) && maps.dims.last() != Some(&Some(points));
        let is_lost = with_tags(&outputs).is_some_and(is_one) || (points > 0 && is_double);
        (self.grouping().is_none() && is_lost).then(|| {
            format!(
                "the outputs {} look like confidence maps with a tag for each, by which points of several objects are grouped \
                 (HigherHRNet), and all points are one object's: set grouping=tags, or grouping=frame if they are no tags",
                self.list()
            )
        })
    }

    /// Whether a file beside the model names as many points as there are maps.
    fn check_names(&self, maps: &TensorDesc) -> Result<(), String> {
        let named = self.info.skeleton.points.len();
        let [_, Some(channels), _, Some(last)] = maps.dims[..] else { return Ok(()) };
        if named == 0 || !self.info.declares(Group::Keypoints) || [channels, last].contains(&named) {
            return Ok(());
        }
        let origin = self.info.origin(Group::Keypoints).map(ToString::to_string).unwrap_or_default();
        Err(format!(
            "{origin} names {named} points, and the output '{}' has {channels} maps: it is another model's. Put the right one beside \
             the model, or name the points in [skeleton] of a sidecar",
            maps.name
        ))
    }

    /// The only output that another one has two channels for each of.
    fn with_offsets(&self) -> Option<&'a TensorDesc> {
        let mut maps =
            self.outputs.iter().filter(|maps| self.outputs.iter().any(|other| has_offsets(maps, other)));
        maps.next().filter(|_| maps.next().is_none())
    }

    pub fn list(&self) -> String {
        self.outputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    fn which(&self, what: &str, field: &str) -> String {
        format!(
            "the model has the outputs {}: set {field} in the sidecar's [peaks] to the one with the {what}",
            self.list()
        )
    }

    pub fn named(&self, name: &str) -> Result<&'a TensorDesc, String> {
        let missing = || {
            format!(
                "the model has no output '{name}'; it has {}. Correct the output's name in the property or in the sidecar's [peaks]",
                self.list()
            )
        };
        self.outputs.iter().find(|d| d.name == name).ok_or_else(missing)
    }

    /// The only output whose name contains this text.
    pub fn only(&self, part: &str) -> Option<&'a TensorDesc> {
        let mut found = self.outputs.iter().filter(|d| d.name.to_ascii_lowercase().contains(part));
        found.next().filter(|_| found.next().is_none())
    }

    /// The name that the property or the sidecar has for the output with the maps or the coordinates.
    pub fn maps_name(&self) -> Option<&'a str> {
        let name = Some(self.settings.output.as_str()).filter(|n| !n.is_empty());
        name.or(self.info.peaks.output.as_deref())
    }

    /// The output that holds the maps: the one that is named, the only one, or the only one besides `other`.
    fn maps(&self, other: Option<&'a TensorDesc>) -> Result<&'a TensorDesc, String> {
        match (self.maps_name(), self.outputs) {
            (Some(name), _) => self.named(name),
            (None, [only]) => Ok(only),
            (None, [a, b]) if other.is_some_and(|other| other.name == b.name) => Ok(a),
            (None, [a, b]) if other.is_some_and(|other| other.name == a.name) => Ok(b),
            _ if with_tags(&self.outputs.iter().collect::<Vec<_>>()).is_some() => Err(format!(
                "the model has the outputs {}, which look like confidence maps with a tag for each (HigherHRNet). Set grouping=tags, or \
                 output to the one with the confidence maps",
                self.list()
            )),
            _ if self.outputs.iter().any(|output| output.dims.len() == 4) => Err(format!(
                "the model has several outputs, {}. Set output to the one with the confidence maps",
                self.list()
            )),
            _ => Err(format!(
                "the model has several outputs, {}, and none has the shape of confidence maps. If one has coordinates, set \
                 encoding=points and output to it",
                self.list()
            )),
        }
    }

    pub fn paf(&self) -> Result<PafParams, String> {
        let Self { info, settings, .. } = self;
        let (peaks, skeleton) = (&info.peaks, &info.skeleton);
        if skeleton.edges.is_empty() {
            return Err(
                "grouping=paf follows the edges of a skeleton, but the model's sidecar has none. Add [skeleton] with points = [...] \
                 and edges = [...] in the order of the fields' channels"
                    .into(),
            );
        }
        let defaults = PafParams::new(settings.convention(info), skeleton.points.len(), &skeleton.edges);
        Ok(PafParams {
            channels: peaks.paf_channels.clone(),
            samples: peaks.samples.unwrap_or(defaults.samples),
            max_length: peaks.max_length.unwrap_or(defaults.max_length),
            length_weight: peaks.length_weight.unwrap_or(defaults.length_weight),
            min_line_score: settings
                .min_line_score
                .or(peaks.min_line_score)
                .unwrap_or(defaults.min_line_score),
            min_sample: peaks.min_sample.unwrap_or(defaults.min_sample),
            min_share: peaks.min_share.unwrap_or(defaults.min_share),
            max_poses: peaks.max_poses.unwrap_or(defaults.max_poses),
            min_points: settings.min_points().or(peaks.min_points).unwrap_or(defaults.min_points),
            min_score: settings.min_score.or(peaks.min_score).unwrap_or(defaults.min_score),
            ..defaults
        })
    }

    fn tags(&self) -> TagParams {
        let Self { info, settings, .. } = self;
        let (peaks, defaults) = (&info.peaks, TagParams::default());
        TagParams {
            points: info.skeleton.points.len(),
            order: peaks.point_order.clone().or(defaults.order),
            tag_distance: peaks.tag_distance.unwrap_or(defaults.tag_distance),
            fill_missing: peaks.fill_missing.unwrap_or(defaults.fill_missing),
            max_poses: peaks.max_poses.unwrap_or(defaults.max_poses),
            min_point_score: peaks.min_point_score.unwrap_or(defaults.min_point_score),
            min_points: settings.min_points().or(peaks.min_points).unwrap_or(defaults.min_points),
            min_score: settings.min_score.or(peaks.min_score).unwrap_or(defaults.min_score),
        }
    }

    /// PoseNet's tree where the displacements are as many as its edges, since a skeleton for drawing has other edges; otherwise
    /// the skeleton's edges are the tree.
    fn displacements(&self, forward: &TensorDesc) -> DisplacementParams {
        let Self { info, settings, .. } = self;
        let (peaks, defaults) = (&info.peaks, DisplacementParams::default());
        let of_posenet = forward.dims.contains(&Some(2 * POSENET_TREE.len()));
        let own = !of_posenet && !info.skeleton.edges.is_empty();
        DisplacementParams {
            tree: if own { info.skeleton.edges.clone() } else { defaults.tree },
            nms_radius: peaks.nms_radius.unwrap_or(defaults.nms_radius),
            max_poses: peaks.max_poses.unwrap_or(defaults.max_poses),
            min_point_score: peaks.min_point_score.unwrap_or(defaults.min_point_score),
            min_points: settings.min_points().or(peaks.min_points).unwrap_or(defaults.min_points),
            min_score: settings.min_score.or(peaks.min_score).unwrap_or(defaults.min_score),
        }
    }
}

/// The channels of an output `[1, C, H, W]`.
fn channels(output: &TensorDesc) -> Option<usize> {
    output.dims.get(1).copied().flatten().filter(|_| output.dims.len() == 4)
}

/// Whether an output has two channels, the second dimension, for each of the maps', and is as large otherwise.
fn has_offsets(maps: &TensorDesc, other: &TensorDesc) -> bool {
    let twice = channels(maps).zip(channels(other)).is_some_and(|(maps, other)| other == 2 * maps);
    twice && maps.dims[2..] == other.dims[2..]
}

/// The first output with two channels for each of another one's, which has twice the cells on both axes; and that other one.
fn with_tags<'a>(outputs: &[&'a TensorDesc]) -> Option<[&'a TensorDesc; 2]> {
    let is_with = |maps: &TensorDesc, fine: &TensorDesc| {
        let channels = channels(maps).zip(channels(fine));
        let twice = |(coarse, fine): (&Option<usize>, &Option<usize>)| coarse.map(|cells| 2 * cells) == *fine;
        channels.is_some_and(|(maps, fine)| maps == 2 * fine)
            && maps.dims[2..].iter().zip(&fine.dims[2..]).all(twice)
    };
    let pairs = outputs.iter().flat_map(|maps| outputs.iter().map(move |fine| [*maps, *fine]));
    pairs.into_iter().find(|[maps, fine]| is_with(maps, fine))
}

fn is_called_tags(output: &TensorDesc) -> bool {
    let name = output.name.to_ascii_lowercase();
    name.contains("tag") || name.contains("embed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the maps, their tags and the fine maps, where outputs have these shapes.
    fn roles(outputs: &str, sidecar: &str) -> Result<[Option<String>; 3], String> {
        gst::init().unwrap();
        let outputs: Vec<TensorDesc> =
            outputs.split(' ').map(|output| output.replacen(':', ":float32:", 1).parse().unwrap()).collect();
        let info = ModelInfo::of(toml::from_str(&format!("[peaks]\n{sidecar}")).unwrap());
        let settings = Settings::default();
        let found = Outputs::new(&outputs, &settings, &info).tagged()?;
        let name = |output: Option<&TensorDesc>| output.map(|output| output.name.clone());
        Ok([name(Some(found.maps)), name(found.tags), name(found.fine_maps)])
    }

    #[test]
    fn outputs_with_tags_are_told_apart_by_their_channels_and_cells() {
        let assert = |outputs: &str, sidecar: &str, wanted: [&str; 3]| {
            let wanted = wanted.map(|name| Some(name.to_owned()).filter(|name| !name.is_empty()));
            assert_eq!(roles(outputs, sidecar).unwrap(), wanted, "{outputs} {sidecar}");
        };
        // HRNet, HigherHRNet in either order, and OpenVINO's models.
        assert("a:1x34x128x128", "", ["a", "", ""]);
        assert("a:1x34x128x128 b:1x17x256x256", "", ["a", "", "b"]);
        assert("a:1x17x256x256 b:1x34x128x128", "", ["b", "", "a"]);
        assert("heatmaps:1x17x256x256 embeddings:1x17x256x256", "", ["heatmaps", "embeddings", ""]);
        // What is named comes first.
        assert("a:1x17x64x64 b:1x17x64x64", "output = \"b\"", ["b", "a", ""]);
        assert("a:1x17x64x64 b:1x17x64x64", "tags = \"b\"", ["a", "b", ""]);
        assert("a:1x17x64x64 b:1x17x128x128 c:1x17x64x64", "output = \"a\"", ["a", "c", "b"]);
        assert("a:1x17x64x64 b:1x17x128x128 c:1x9x64x64", "output = \"a\"\ntags = \"c\"", ["a", "c", "b"]);
        assert("a:1x34x64x64 b:1x17x64x64", "output = \"a\"\ntags = \"a\"", ["a", "", "b"]);
        let error = roles("a:1x17x64x64 b:1x17x64x64", "").unwrap_err();
        assert!(error.contains("set output in the sidecar's [peaks]"), "{error}");
        let error = roles("a:1x34x64x64", "tags = \"b\"").unwrap_err();
        assert!(error.contains("no output 'b'"), "{error}");
    }
}
