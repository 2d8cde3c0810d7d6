//! Regions that are cut by an object's four corners (`roi-crop=warp`).

use cudainfer_kernels::homography::{CornersError, Homography, check_corners};
use cudainfer_kernels::preproc::warped;

use super::align::{in_caps, names_in_caps, places, wanted};
use super::crop::Crop;
use crate::meta::object::Object;

/// The number of an object's corners.
const COUNT: usize = 4;

/// The corners by which regions are cut: top-left, top-right, bottom-right, bottom-left.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Corners {
    /// Where the tensor has them, in its pixels and counted from the first pixel's centre; `None` where they are the tensor's own corners.
    template: Option<[[f64; 2]; COUNT]>,
    /// Their names, where an object has other points as well or in another order.
    names: Vec<String>,
    /// How many times as much as that the tensor shows, on each axis.
    padding: f64,
}

/// What is wrong with an object's corners, and how to correct it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unwarped {
    /// What the object has.
    pub has: String,
    /// What it needs.
    pub wanted: String,
    /// A sentence without its end.
    pub remedy: &'static str,
}

impl Corners {
    /// The corners in caps.
    ///
    /// # Errors
    /// A sentence: there are not four.
    pub fn of(s: &gst::StructureRef, padding: f64) -> Result<Self, String> {
        let order = "Write top-left, top-right, bottom-right and bottom-left there, or drop it for the tensor's own corners";
        let template = match in_caps(s) {
            Some(points) => {
                let corners = <[[f64; 2]; COUNT]>::try_from(points).map_err(|points| {
                    format!(
                        "roi-crop=warp needs the places of four corners in the tensor, but align in the model's sidecar has {}. {order}",
                        points.len()
                    )
                })?;
                check_corners(&corners).map_err(|has| {
                    format!("align in the model's sidecar has {has}, which roi-crop=warp cannot use. {order}")
                })?;
                Some(corners)
            }
            None => None,
        };
        let names = names_in_caps(s);
        if !matches!(names.len(), 0 | COUNT) {
            return Err(format!(
                "roi-crop=warp needs the names of four corners, but align-points in the model's sidecar has {}. Name top-left, \
                 top-right, bottom-right and bottom-left there, or drop it",
                names.len()
            ));
        }
        Ok(Self { template, names, padding })
    }

    /// The region of an object, if it lies in the frame.
    ///
    /// # Errors
    /// What is wrong with the object's corners.
    pub fn cut(&self, object: &Object, crop: &Crop) -> Result<Option<Homography>, Unwarped> {
        const FIND: &str = "Put a model upstream that finds these points, name them in this order in align-points in the sidecar, or \
                            set roi-crop=box";
        let wanted =
            || format!("{} (top-left, top-right, bottom-right, bottom-left)", wanted(COUNT, &self.names));
        let missing = |has: String| Unwarped { has, wanted: wanted(), remedy: FIND };
        let points = places(object, COUNT, &self.names).map_err(missing)?;
        let points = <[[f64; 2]; COUNT]>::try_from(points)
            .map_err(|points| missing(format!("{} points", points.len())))?;
        let map = warped(&points, self.template.as_ref(), self.padding, crop.tensor, crop.frame);
        map.map_err(|error| match error {
            CornersError::TooSteep => Unwarped {
                has: error.to_string(),
                wanted: "corners that are seen less from the side".into(),
                remedy: "Set a smaller roi-padding",
            },
            CornersError::NotFinite | CornersError::Anticlockwise | CornersError::NotConvex => {
                missing(error.to_string())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::{ROI_ALIGN, ROI_ALIGN_POINTS};
    use crate::meta::object::KeypointsParam;

    use crate::model::RoiCrop;
    use cudainfer_kernels::preproc::Resize;

    const CROP: Crop = Crop {
        resize: Resize::Letterbox,
        ratio: 1.0,
        kind: RoiCrop::Warp,
        tensor: [16, 8],
        frame: [100, 100],
    };

    fn object(points: &[(&str, f64, f64)]) -> Object {
        let names = points.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let of = |pick: fn(&(&str, f64, f64)) -> f64| points.iter().map(pick).collect();
        let keypoints = KeypointsParam { names, x: of(|p| p.1), y: of(|p| p.2), ..KeypointsParam::default() };
        Object { keypoints: Some(keypoints), ..Object::default() }
    }

    fn caps(places: &[f64], names: &[&str]) -> gst::Structure {
        let mut s = gst::Structure::new_empty("caps");
        if !places.is_empty() {
            s.set(ROI_ALIGN, gst::Array::new(places.iter().copied()));
        }
        if !names.is_empty() {
            s.set(ROI_ALIGN_POINTS, gst::Array::new(names));
        }
        s
    }

    #[test]
    fn the_four_points_or_those_of_the_names_are_the_tensors_corners_or_lie_where_the_caps_say() {
        gst::init().unwrap();
        let four = [("tl", 20.0, 30.0), ("tr", 52.0, 34.0), ("br", 50.0, 60.0), ("bl", 21.0, 50.0)];
        let cut = |s: &gst::Structure, points: &[_]| Corners::of(s, 1.0).unwrap().cut(&object(points), &CROP);
        let corners = [[0.0, 0.0], [16.0, 0.0], [16.0, 8.0], [0.0, 8.0]];
        let places = four.map(|(_, x, y)| [x, y]);
        let assert_maps = |map: Homography, from: [[f64; 2]; 4], to: [[f64; 2]; 4]| {
            for (from, to) in from.into_iter().zip(to) {
                let got = map.point(from);
                assert!((got[0] - to[0]).hypot(got[1] - to[1]) < 1e-9, "{got:?}, not {to:?}");
            }
        };
        assert_maps(cut(&caps(&[], &[]), &four).unwrap().unwrap(), corners, places);
        let [tl, tr, br, bl] = four;
        let others = [bl, ("middle", 40.0, 40.0), br, tl, tr];
        let named = caps(&[], &["tl", "tr", "br", "bl"]);
        assert_maps(cut(&named, &others).unwrap().unwrap(), corners, places);
        // By the centres of pixels: half a pixel more in frame and tensor.
        let template = caps(&[0.0, 0.0, 15.0, 0.0, 15.0, 7.0, 0.0, 7.0], &[]);
        let half = |points: [[f64; 2]; 4]| points.map(|[x, y]| [x + 0.5, y + 0.5]);
        let inner = [[0.0, 0.0], [15.0, 0.0], [15.0, 7.0], [0.0, 7.0]];
        assert_maps(cut(&template, &four).unwrap().unwrap(), half(inner), half(places));
        let away = four.map(|(name, x, y)| (name, x + 1000.0, y));
        assert_eq!(cut(&caps(&[], &[]), &away), Ok(None));
        let has = |s: &gst::Structure, points: &[_]| cut(s, points).unwrap_err().has;
        assert_eq!(has(&caps(&[], &[]), &others), "5 points");
        assert_eq!(has(&named, &others[..4]), "points called bl, middle, br, tl");
        assert_eq!(has(&caps(&[], &[]), &[tl, bl, br, tr]), "corners in anticlockwise order");
        assert_eq!(has(&caps(&[], &[]), &[tl, br, tr, bl]), "corners of no convex quadrilateral");
        assert_eq!(
            has(&caps(&[], &[]), &[tl, tr, br, ("bl", f64::NAN, 1.0)]),
            "a corner whose place is not finite"
        );
        let none = Corners::of(&caps(&[], &[]), 1.0).unwrap().cut(&Object::default(), &CROP);
        assert_eq!(none.unwrap_err().has, "no points");
        let wide = Corners::of(&caps(&[], &[]), 50.0).unwrap().cut(&object(&four), &CROP).unwrap_err();
        assert!(
            wide.has.contains("reaches the camera") && wide.remedy == "Set a smaller roi-padding",
            "{wide:?}"
        );
    }

    #[test]
    fn caps_that_are_not_about_four_corners_are_refused() {
        gst::init().unwrap();
        for (places, names, part) in [
            (&[1.0, 2.0, 3.0, 4.0][..], &[][..], "align in the model's sidecar has 2."),
            (&[0.0, 0.0, 0.0, 7.0, 15.0, 7.0, 15.0, 0.0], &[], "has corners in anticlockwise order"),
            (&[], &["left", "right"], "align-points in the model's sidecar has 2."),
        ] {
            let error = Corners::of(&caps(places, names), 1.0).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
