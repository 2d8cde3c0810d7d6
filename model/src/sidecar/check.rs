//! What makes sense together.

use std::cmp::Ordering;

use cudainfer_kernels::peaks::{BLUR, BLUR_SIGMA, Grid, STRIDE};
use cudainfer_kernels::preproc::{ChannelOrder, MIN_CROP_RATIO, Resize};

use super::{Anchors, Peaks, Sidecar};

impl Sidecar {
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, values) in [("mean", &self.input.mean), ("std", &self.input.std)] {
            if values.as_ref().is_some_and(|v| v.len() != 1 && v.len() != 3) {
                return Err(format!("input.{name} must have one value, or one for each of three channels"));
            }
        }
        let large =
            |values: &Option<Vec<f32>>| values.as_ref().is_some_and(|v| v.iter().any(|v| v.abs() > 16.0));
        if self.input.scale.is_none() && (large(&self.input.mean) || large(&self.input.std)) {
            return Err(
                "input.mean and input.std are values of 0..255, but pixels are scaled to 0..1 first: add scale = 1.0 to [input], or \
                 scale = 0.00392157 if they are right as they are"
                    .into(),
            );
        }
        for (name, value) in [
            ("input.width", self.input.width),
            ("input.height", self.input.height),
            ("input.size-multiple", self.input.size_multiple),
        ] {
            if value == Some(0) {
                return Err(format!("{name} must be at least 1 pixel"));
            }
        }
        if let Some(ratio) = self.input.crop_ratio {
            if !(MIN_CROP_RATIO..=1.0).contains(&ratio) {
                return Err(format!(
                    "input.crop-ratio is {ratio}, but lies between {MIN_CROP_RATIO} and 1; 0.875 is 224 pixels of 256"
                ));
            }
            if self.input.resize != Some(Resize::CenterCrop) {
                return Err(
                    "input.crop-ratio needs a crop: add resize = \"center-crop\", or drop crop-ratio".into(),
                );
            }
        }
        if self.input.roi_padding.is_some_and(|factor| !(0.01..=100.0).contains(&factor)) {
            return Err("input.roi-padding must be between 0.01 and 100; 1 is the object's box".into());
        }
        self.input.check_align()?;
        for (name, value) in [("output.confidence", self.output.confidence), ("output.iou", self.output.iou)]
        {
            if value.is_some_and(|v| !(0.0..=1.0).contains(&v)) {
                return Err(format!("{name} must be between 0 and 1"));
            }
        }
        self.anchors.as_ref().map_or(Ok(()), Anchors::check)?;
        if self.peaks.blur_kernel.is_some_and(|n| !BLUR.contains(&n) || n.is_multiple_of(2)) {
            return Err("peaks.blur-kernel is an odd number of cells from 3 to 31".into());
        }
        if self.peaks.blur_sigma.is_some_and(|sigma| !BLUR_SIGMA.contains(&sigma)) {
            return Err("peaks.blur-sigma is a number of cells from 0.1 to 16".into());
        }
        if self.peaks.offset_scale.is_some_and(|scale| !(-1e3..=1e3).contains(&scale)) {
            return Err(
                "peaks.offset-scale is a number from -1000 to 1000, for DeepLabCut its locref_std".into()
            );
        }
        if let Some([first, last]) = self.peaks.coordinate_range {
            if !(first.is_finite() && last.is_finite() && first < last) {
                return Err(format!(
                    "peaks.coordinate-range is [{first}, {last}], but it begins with the lesser of two numbers, as [-1, 1]"
                ));
            }
            let Peaks { normalized, coordinate_scale, pixel_origin, .. } = &self.peaks;
            if normalized.is_some() || coordinate_scale.is_some() || pixel_origin.is_some() {
                return Err("peaks.coordinate-range says of itself where coordinates begin and how large they are: leave out \
                            normalized, coordinate-scale and pixel-origin"
                    .into());
            }
        }
        if let Some(stride) = self.peaks.stride {
            if !STRIDE.contains(&stride) {
                return Err("peaks.stride is a number of pixels from 0.1 to 1024".into());
            }
            if matches!(self.peaks.grid, Some(Grid::Corners | Grid::Udp)) {
                return Err("peaks.stride does not go with grid = \"corners\" or \"udp\", which follow from the sizes: leave one out".into());
            }
        }
        let mut heads = self.classify.heads.iter();
        if let Some((name, _)) = heads.find(|(_, h)| !h.labels.is_empty() && h.labels_file.is_some()) {
            return Err(format!(
                "classify.{name}.labels and classify.{name}.labels-file both name the classes: keep one"
            ));
        }
        self.classify.slices.iter().try_for_each(|(name, slice)| slice.check(name))?;
        self.segment.check()?;
        for (name, values) in [("mean", &self.map.mean), ("std", &self.map.std)] {
            if values.as_ref().is_some_and(|v| v.len() != 1 && v.len() != 3) {
                return Err(format!("map.{name} must have one value, or one for each of three channels"));
            }
        }
        if self
            .map
            .range_min
            .zip(self.map.range_max)
            .is_some_and(|(min, max)| min.partial_cmp(&max) != Some(Ordering::Less))
        {
            return Err("map.range-min must be less than map.range-max".into());
        }
        if self.map.range_min.is_some() != self.map.range_max.is_some() {
            return Err("map.range-min and map.range-max belong together: set both, or none".into());
        }
        if self.map.channels == Some(ChannelOrder::Gray) {
            return Err("map.channels is the order of three channels: set rgb or bgr".into());
        }
        if self.segment.background.is_some_and(|v| !(-1..=255).contains(&v)) {
            return Err("segment.background must be the number of a class, or -1 for none".into());
        }
        if !self.output.labels.is_empty() && self.output.labels_file.is_some() {
            return Err("output.labels and output.labels-file both name the classes: keep one".into());
        }
        self.state.check()?;
        self.check_frames()?;
        self.check_clip()?;
        self.check_prompts()?;
        self.check_regions()?;
        self.tensors.check()
    }

    /// Whether labels and skeleton agree, when the labels have been read. Labels name classes where the model gives boxes,
    /// else points.
    pub(crate) fn check_names(&self) -> Result<(), String> {
        let (labels, points) = (&self.output.labels, &self.skeleton.points);
        let name_points = self.peaks != Peaks::default() && self.output.decoder.is_none();
        if !name_points || labels.is_empty() || points.is_empty() || labels == points {
            return Ok(());
        }
        let different = labels.iter().zip(points).find(|(label, point)| label != point);
        let (is, number) = match labels.len() {
            1 => ("is", "1 label".to_owned()),
            count => ("are", format!("{count} labels")),
        };
        Err(match different {
            Some((label, point)) => {
                format!("the labels call a point '{label}' that the skeleton calls '{point}'")
            }
            None => format!("there {is} {number} for a skeleton of {} points", points.len()),
        } + ": remove the labels, because the skeleton names its points")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_in_units_of_pixels_need_a_scale() {
        let checked = |text: &str| toml::from_str::<Sidecar>(text).unwrap().check();
        let error = checked("[input]\nmean = [103.53, 116.28, 123.675]").unwrap_err();
        assert!(error.contains("scale = 1.0"), "{error}");
        assert_eq!(checked("[input]\nscale = 1.0\nstd = [57.4, 57.1, 58.4]"), Ok(()));
        assert_eq!(checked("[input]\nmean = [0.485, 0.456, 0.406]"), Ok(()));
    }

    #[test]
    fn labels_of_points_agree_with_the_skeleton() {
        let checked = |labels: &str, section: &str| {
            let skeleton = "[skeleton]\npoints = [\"head\", \"tail\"]";
            let text = format!("[output]\nlabels = {labels}\n{section}\n{skeleton}");
            toml::from_str::<Sidecar>(&text).unwrap().check_names()
        };
        let peaks = "[peaks]\nthreshold = 0.2";
        assert_eq!(checked("[\"head\", \"tail\"]", peaks), Ok(()));
        assert_eq!(checked("[]", peaks), Ok(()));
        let error = checked("[\"tail\", \"head\"]", peaks).unwrap_err();
        assert!(error.contains("call a point 'tail' that the skeleton calls 'head'"), "{error}");
        let error = checked("[\"head\"]", peaks).unwrap_err();
        assert!(error.contains("there is 1 label for a skeleton of 2 points"), "{error}");
        // The classes of boxes that have points.
        assert_eq!(checked("[\"mouse\"]", "decoder = \"yolov8\""), Ok(()));
    }
}
