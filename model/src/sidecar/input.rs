//! How the image input is filled.

use cudainfer_kernels::homography::check_corners;
use cudainfer_kernels::preproc::{ChannelOrder, Interpolation, Layout, Padding, Resize};
use serde::{Deserialize, Serialize};

use super::padding;
use crate::{RoiCrop, RoiFrom, word};

/// Corners of a quadrilateral.
const CORNERS: usize = 4;

/// Largest width and height of a tensor in caps.
pub const MAX_SIZE: usize = 16384;

/// `[input]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    /// Name of the image input, if several inputs could be it.
    pub name: Option<String>,
    /// Size, where the model leaves it open.
    pub width: Option<u32>,
    /// Size, where the model leaves it open.
    pub height: Option<u32>,
    /// What an open size that nothing states is rounded up to a multiple of.
    pub size_multiple: Option<u32>,
    /// The pixels that the model's own library leaves out of the bars, if the size is open: multiples of this number. No key.
    #[serde(skip)]
    pub bars_modulo: Option<u32>,
    /// `nchw` or `nhwc`, if the shape does not tell.
    #[serde(with = "word")]
    pub layout: Option<Layout>,
    /// `rgb` or `bgr`.
    #[serde(with = "word")]
    pub channels: Option<ChannelOrder>,
    /// Factor on the pixel value (0..255).
    pub scale: Option<f32>,
    /// Value subtracted after scaling: one value, or one per channel in the tensor's channel order.
    pub mean: Option<Vec<f32>>,
    /// Divisor applied after that: one value, or one per channel.
    pub std: Option<Vec<f32>>,
    /// `letterbox`, `letterbox-top-left`, `stretch`, `center-crop` or `pad`.
    #[serde(with = "word")]
    pub resize: Option<Resize>,
    /// Size of the tensor as a fraction of what the frame is resized to before it is cropped.
    pub crop_ratio: Option<f64>,
    /// `bilinear`, `nearest`, `area`, `pil-bilinear` or `pil-bicubic`.
    #[serde(with = "word")]
    pub interpolation: Option<Interpolation>,
    /// Pixel value of the letterbox bars, or `"mean"`.
    #[serde(with = "padding")]
    pub padding: Option<Padding>,
    /// Real value of one step of an integer input.
    pub quant_scale: Option<f32>,
    /// Integer that represents 0.
    pub zero_point: Option<i32>,
    /// Factor on the width and height of objects' regions.
    pub roi_padding: Option<f32>,
    /// Number of frame pixels along the tensor's longer side in objects' regions; 0 uses the object's box.
    pub roi_size: Option<u32>,
    /// `box`, `mmpose`, `mmpose-udp`, `pixels`, `sleap`, `deeplabcut`, `align` or `warp`.
    #[serde(with = "word")]
    pub roi_crop: Option<RoiCrop>,
    /// `objects` or `track`.
    #[serde(with = "word")]
    pub roi_from: Option<RoiFrom>,
    /// Where the tensor has an object's points: x and y in the tensor's pixels, counted from the first pixel's centre.
    pub align: Option<Vec<[f64; 2]>>,
    /// The names of these points, where an object has others as well or in another order.
    pub align_points: Option<Vec<String>>,
}

impl Input {
    /// Whether the points of `align` say how a region is cut.
    pub(super) fn check_align(&self) -> Result<(), String> {
        match self.roi_crop {
            Some(RoiCrop::Warp) => return self.check_warp(),
            Some(RoiCrop::Align) => {}
            _ if self.align.is_some() => {
                return Err("input.align needs a crop that uses it: add roi-crop = \"align\" or \"warp\", or drop align".into());
            }
            _ if self.align_points.is_some() => {
                return Err(
                    "input.align-points names points for an align that is not there: add align, or drop it"
                        .into(),
                );
            }
            _ => return Ok(()),
        }
        let Some(align) = &self.align else {
            return Err(
                "input.roi-crop is \"align\", but nothing says where the tensor has the points: add align = [[x, y], ...] in pixels of \
                 the tensor, a pair for each point"
                    .into(),
            );
        };
        if self.roi_padding.is_some() || self.roi_size.is_some() {
            return Err(
                "input.roi-padding and input.roi-size have no effect with roi-crop = \"align\", whose points say how large an object \
                 is: drop them"
                    .into(),
            );
        }
        let lie_apart = align.iter().any(|point| Some(point) != align.first());
        if !are_in_a_tensor(align) || !lie_apart {
            return Err(format!(
                "input.align has {} points, but needs two or more that lie apart: write each as [x, y] in pixels of the tensor",
                align.len()
            ));
        }
        if let Some(points) = &self.align_points
            && points.len() != align.len()
        {
            return Err(format!(
                "input.align-points has {} names, but input.align {} points: give each point its name",
                points.len(),
                align.len()
            ));
        }
        Ok(())
    }

    /// Whether `align` and `align-points`, where they are there, are about four corners.
    fn check_warp(&self) -> Result<(), String> {
        if self.roi_size.is_some() {
            return Err(
                "input.roi-size has no effect with roi-crop = \"warp\", whose corners say how large an object is: drop it, or set \
                 roi-padding for a margin"
                    .into(),
            );
        }
        if let Some(align) = &self.align {
            let order = "write top-left, top-right, bottom-right and bottom-left as [x, y] in pixels of the tensor, or drop align";
            let corners = align.as_slice().try_into().ok().filter(|_| are_in_a_tensor(align));
            let Some(corners) = corners else {
                return Err(format!(
                    "input.align has {} points, but roi-crop = \"warp\" needs the places of four corners: {order}",
                    align.len()
                ));
            };
            check_corners(corners).map_err(|has| {
                format!("input.align has {has}, but roi-crop = \"warp\" needs those of a convex quadrilateral, clockwise: {order}")
            })?;
        }
        match &self.align_points {
            Some(points) if points.len() != CORNERS => Err(format!(
                "input.align-points has {} names, but roi-crop = \"warp\" needs those of four corners: name top-left, top-right, \
                 bottom-right and bottom-left, or drop align-points",
                points.len()
            )),
            _ => Ok(()),
        }
    }
}

/// Whether all points may lie in a tensor.
fn are_in_a_tensor(points: &[[f64; 2]]) -> bool {
    points.iter().flatten().all(|v| v.abs() <= MAX_SIZE as f64)
}

#[cfg(test)]
mod tests {
    use crate::Sidecar;

    #[test]
    fn an_alignment_has_two_points_that_lie_apart_and_the_crop_that_uses_it() {
        let checked = |text: &str| toml::from_str::<Sidecar>(&format!("[input]\n{text}")).unwrap().check();
        let align = "roi-crop = \"align\"\nalign = [[38.3, 51.7], [73.5, 51.5]]";
        assert_eq!(checked(align), Ok(()));
        assert_eq!(checked(&format!("{align}\nalign-points = [\"left\", \"right\"]")), Ok(()));
        for (text, part) in [
            ("roi-crop = \"align\"", "add align ="),
            ("align-points = [\"left\"]", "add align, or drop it"),
            ("align = [[1, 2], [3, 4]]", "add roi-crop = \"align\""),
            (&format!("{align}\nroi-padding = 1.2"), "have no effect"),
            (&format!("{align}\nroi-size = 100"), "have no effect"),
            ("roi-crop = \"align\"\nalign = []", "has 0 points"),
            ("roi-crop = \"align\"\nalign = [[1, 2]]", "has 1 points"),
            ("roi-crop = \"align\"\nalign = [[1, 2], [1, 2]]", "that lie apart"),
            ("roi-crop = \"align\"\nalign = [[1, 2], [nan, 2]]", "in pixels of the tensor"),
            (&format!("{align}\nalign-points = [\"left\"]"), "has 1 names, but input.align 2 points"),
        ] {
            let error = checked(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
    #[test]
    fn a_warp_needs_nothing_and_what_it_is_given_is_about_four_corners() {
        let checked = |text: &str| {
            toml::from_str::<Sidecar>(&format!("[input]\nroi-crop = \"warp\"\n{text}")).unwrap().check()
        };
        let align = "align = [[0, 0], [93, 0], [93, 23], [0, 23]]";
        let names = "align-points = [\"tl\", \"tr\", \"br\", \"bl\"]";
        for text in ["", align, names, &format!("{align}\n{names}\nroi-padding = 1.2")] {
            assert_eq!(checked(text), Ok(()), "{text}");
        }
        for (text, part) in [
            ("roi-size = 100", "input.roi-size has no effect"),
            ("align = [[0, 0], [93, 0], [93, 23]]", "input.align has 3 points"),
            ("align = [[0, 0], [93, 0], [93, 23], [0, nan]]", "input.align has 4 points"),
            (
                "align = [[0, 0], [0, 23], [93, 23], [93, 0]]",
                "input.align has corners in anticlockwise order",
            ),
            (
                "align = [[0, 0], [93, 23], [93, 0], [0, 23]]",
                "input.align has corners of no convex quadrilateral",
            ),
            ("align-points = [\"left\"]", "input.align-points has 1 names"),
        ] {
            let error = checked(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
