//! Regions that are cut by an object's points instead of its box.

use super::align::Template;
use super::crop::{Crop, Cutout, Extent};
use super::follow::of_points;
use super::warp::{Corners, Unwarped};
use crate::meta::object::Object;
use crate::model::PointRegion;

/// The points by which regions are cut.
#[derive(Clone, Debug)]
pub(super) enum Points {
    /// `roi-crop=align`
    Align(Template),
    /// `roi-crop=warp`
    Warp(Corners),
    /// A box that is made of the points (`[region]` of the sidecar).
    Box(PointRegion, Extent),
}

/// Why an object has no region by its points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Misfit {
    by: &'static str,
    has: String,
    wanted: String,
    remedy: &'static str,
}

impl Points {
    /// The region of an object, if it lies in the frame.
    ///
    /// # Errors
    /// What is wrong with the object's points.
    pub fn cut(&self, object: &Object, crop: &Crop) -> Result<Option<Cutout>, Misfit> {
        match self {
            Self::Align(template) => {
                let map = template.cut(object, crop.tensor, crop.frame);
                map.map(|map| map.map(Cutout::Map)).map_err(|has| Misfit {
                    by: "roi-crop=align",
                    has,
                    wanted: template.wanted(),
                    remedy: "Put a model upstream that finds these points, correct align and align-points in the sidecar, or set \
                             roi-crop=box",
                })
            }
            Self::Warp(corners) => {
                let map = corners.cut(object, crop);
                map.map(|map| map.map(Cutout::Warped)).map_err(|Unwarped { has, wanted, remedy }| Misfit {
                    by: "roi-crop=warp",
                    has,
                    wanted,
                    remedy,
                })
            }
            Self::Box(region, extent) => {
                let found = object.keypoints.as_ref().ok_or_else(|| "no points".to_owned());
                let own = object.detection.as_ref().map(|detection| detection.rect);
                let found =
                    found.and_then(|points| of_points(region, points, own)).map_err(|has| Misfit {
                        by: "[region] in the model's sidecar",
                        has,
                        wanted: region.wanted(),
                        remedy: "Put a model upstream that finds these points, or correct [region]",
                    })?;
                Ok(crop.cut(found.rect, found.angle, *extent))
            }
        }
    }
}

impl Misfit {
    /// Three sentences for the user, the last without its end.
    pub fn text(&self) -> String {
        let Self { by, has, wanted, remedy } = self;
        format!(
            "an object has {has}, but {by} needs {wanted}, so such objects are left out and counted (skipped in stats). {remedy}"
        )
    }
}
