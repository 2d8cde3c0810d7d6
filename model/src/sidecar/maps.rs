//! How masks are made, and maps of numbers and pictures are read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cudainfer_kernels::preproc::{ChannelOrder, Layout};
use cudainfer_kernels::segment;
use serde::{Deserialize, Deserializer, Serialize};

use super::tables;
use crate::{MapRange, MaskMode, MaskRange, word};

/// `[segment]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Segment {
    /// Name of the output with the logits, or with the prototypes or maps for masks of objects.
    pub output: Option<String>,
    /// Name of the output with the classes of queries, whose masks the other one holds.
    pub classes: Option<String>,
    /// Name of the output with a score for each of an object's masks.
    pub scores: Option<String>,
    /// `argmax`, `threshold`, `soft` or `instances`.
    #[serde(with = "word")]
    pub mode: Option<MaskMode>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(with = "word")]
    pub activation: Option<segment::Activation>,
    /// `fixed` or `frame`.
    #[serde(with = "word")]
    pub range: Option<MaskRange>,
    /// `nchw` or `nhwc`.
    #[serde(with = "word")]
    pub layout: Option<Layout>,
    /// Minimum value inside the mask.
    pub threshold: Option<f32>,
    /// Whether the masks of objects are interpolated to the frame's pixels before they are compared.
    pub upsample: Option<bool>,
    /// The channel of `threshold` and `soft`.
    pub channel: Option<u32>,
    /// Background class of `argmax`, -1 for none.
    pub background: Option<i32>,
    /// Weight of the previous frames in temporal smoothing.
    pub smoothing: Option<f32>,
    /// Radius of the opening, in cells.
    pub opening: Option<u32>,
    /// Radius of the closing, in cells.
    pub closing: Option<u32>,
    /// Minimum size of a connected area in cells.
    pub min_area: Option<u32>,
    /// Names of the masks' classes, where those of `[output]` are others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// File beside the sidecar with the same names, one per line.
    pub labels_file: Option<PathBuf>,
    /// `[segment.NAME]`: how the output of that name is read, where it differs.
    #[serde(skip_deserializing, flatten)]
    pub masks: BTreeMap<String, Segment>,
}

impl Segment {
    /// How the output of this name is read: by the keys of its own table, and where it has none, by the others.
    pub fn of(&self, output: &str) -> Self {
        let Some(own) = self.masks.get(output).cloned() else { return self.clone() };
        let has_labels = !own.labels.is_empty();
        Self {
            mode: own.mode.or(self.mode),
            activation: own.activation.or(self.activation),
            range: own.range.or(self.range),
            layout: own.layout.or(self.layout),
            threshold: own.threshold.or(self.threshold),
            upsample: own.upsample.or(self.upsample),
            channel: own.channel.or(self.channel),
            background: own.background.or(self.background),
            smoothing: own.smoothing.or(self.smoothing),
            opening: own.opening.or(self.opening),
            closing: own.closing.or(self.closing),
            min_area: own.min_area.or(self.min_area),
            labels: if has_labels { own.labels } else { self.labels.clone() },
            ..self.clone()
        }
    }

    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> Result<(), String> {
        let own = self.masks.iter().map(|(name, masks)| (format!("segment.{name}"), masks));
        for (place, masks) in own.chain([("segment".to_owned(), self)]) {
            if !masks.labels.is_empty() && masks.labels_file.is_some() {
                return Err(format!(
                    "{place}.labels and {place}.labels-file both name the classes: keep one"
                ));
            }
        }
        let of_output = self
            .masks
            .iter()
            .find(|(_, masks)| masks.output.is_some() || masks.classes.is_some() || masks.scores.is_some());
        match of_output {
            Some((name, _)) => Err(format!(
                "[segment.{name}] is how the output '{name}' is read: output, classes and scores belong to [segment]"
            )),
            None => Ok(()),
        }
    }
}

/// The keys of `[segment]`, and the tables in it, which are named after outputs.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Segment, D::Error> {
    let (mut read, tables): (Segment, _) = tables::split(deserializer)?;
    for (name, table) in tables {
        read.masks.insert(name.clone(), tables::read("segment", &name, table)?);
    }
    Ok(read)
}

/// `[map]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Map {
    /// The output that holds the map or picture.
    pub output: Option<String>,
    /// The output with one number for the frame.
    pub score: Option<String>,
    /// What the map's sum is a number of.
    pub counts: Option<String>,
    /// `nchw` or `nhwc`.
    #[serde(with = "word")]
    pub layout: Option<Layout>,
    /// `fixed` or `frame`.
    #[serde(with = "word")]
    pub range: Option<MapRange>,
    /// The value that becomes 0.
    pub range_min: Option<f32>,
    /// The value that becomes the greatest sample.
    pub range_max: Option<f32>,
    /// Of a picture, added after `std`: one value, or one per channel in the tensor's channel order.
    pub mean: Option<Vec<f32>>,
    /// Of a picture, factor on the values: one value, or one per channel.
    pub std: Option<Vec<f32>>,
    /// Of a picture: `rgb` or `bgr`.
    #[serde(with = "word")]
    pub channels: Option<ChannelOrder>,
}
