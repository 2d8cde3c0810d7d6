//! Warnings about what is probably a mistake: zones and ground outside the frame, classes that do not exist, objects without identities.

use cudainfer_kernels::zones::{Counter, GroundParams, Units, Zone, ZoneKind};

use crate::class_name;
use crate::meta::object::Object;
use crate::model::ModelInfo;

/// Warned about after this many frames with objects, none of which has ever had an identity.
const ENOUGH: u32 = 30;

/// The warnings' state of a stream.
#[derive(Default)]
pub(super) struct Notices {
    /// The nearest model upstream, until it was examined.
    pub model: Option<ModelInfo>,
    /// Frames with objects without an identity so far; `None` if one has had an identity, or the warning was posted.
    strangers: Option<u32>,
}

impl Notices {
    /// Of a new stream.
    pub fn begin(&mut self) {
        self.strangers = Some(0);
    }

    /// What is probably wrong with the zones on a frame of this size: there are none, or they lie off it.
    pub fn off_frame(counter: &Counter, [width, height]: [usize; 2]) -> Vec<String> {
        let params = counter.params();
        if params.zones.is_empty() && params.ground.is_none() {
            return vec!["there are no zones, so nothing is counted until some are set".to_owned()];
        }
        let all = |zone: usize, test: &dyn Fn(f64, f64) -> bool| {
            counter.points(zone).iter().all(|[x, y]| test(*x, *y))
        };
        let (w, h) = (width as f64, height as f64);
        let ground = params.ground.as_ref().and_then(|ground| ground_off_frame(ground, params.units, [w, h]));
        let off = |(i, zone): (usize, &Zone)| {
            let tiny = params.units == Units::Pixels && all(i, &|x, y| x.abs() <= 1.0 && y.abs() <= 1.0);
            if tiny {
                return Some(format!(
                    "zone '{}' is not larger than a pixel: if its points are fractions of the frame, set units=fraction",
                    zone.name
                ));
            }
            let off = all(i, &|x, _| x < 0.0)
                || all(i, &|x, _| x > w)
                || all(i, &|_, y| y < 0.0)
                || all(i, &|_, y| y > h);
            let hint = if params.units == Units::Fraction {
                "; if its points are pixels, set units=pixels"
            } else {
                ""
            };
            off.then(|| {
                format!(
                    "zone '{}' lies outside the frame of {width}x{height}, so nothing is counted in it{hint}",
                    zone.name
                )
            })
        };
        params.zones.iter().enumerate().filter_map(off).chain(ground).collect()
    }

    /// Examines a frame's objects and returns warnings; `tracked` says whether each has an identity.
    pub fn examine(
        &mut self,
        counter: &Counter,
        objects: &[Object],
        tracked: impl Fn(&Object) -> bool,
    ) -> Vec<String> {
        let mut warnings = Vec::new();
        // A second model, with other classes, may stand between this element and the one that made the objects.
        if objects.iter().any(|object| object.detection.is_some())
            && let Some(info) = self.model.take()
        {
            let labels = &info.output.labels;
            if objects.iter().any(|object| labels.contains(&object.label)) {
                warnings.extend(unknown_classes(counter, labels));
            }
        }
        // Occupancy of a polygon is counted without identities, if that is asked for; without zones, nothing is counted.
        let params = counter.params();
        let is_occupancy = |zone: &Zone| params.untracked && zone.kind == ZoneKind::Polygon;
        let needless = params.zones.iter().all(is_occupancy);
        if needless || objects.iter().any(tracked) {
            self.strangers = None;
        }
        if let Some(frames) = self.strangers.as_mut().filter(|_| !objects.is_empty()) {
            *frames += 1;
            if *frames >= ENOUGH {
                warnings.extend(self.end());
            }
        }
        warnings
    }

    /// At the stream's end, if it was short.
    pub fn end(&mut self) -> Option<String> {
        self.strangers.take().filter(|frames| *frames > 0).map(|_| {
            "no object has had an identity. Put tracker before this element, or lower its new-confidence if the \
             detections are weak. Set untracked=true to count objects without an identity in polygons"
                .to_owned()
        })
    }
}

/// What is probably wrong with the points of the ground on a frame of this size.
fn ground_off_frame(ground: &GroundParams, zones: Units, [w, h]: [f64; 2]) -> Option<String> {
    let points = ground.map.points();
    if points.is_empty() {
        return None;
    }
    match ground.units.unwrap_or(zones) {
        Units::Pixels if points.iter().flatten().all(|v| v.abs() <= 1.0) => Some(
            "the points of [ground] are not larger than a pixel: if they are fractions of the frame, set units = \"fraction\""
                .to_owned(),
        ),
        // The ground goes on beyond the frame, but hardly four points that somebody has measured.
        Units::Fraction if points.iter().all(|[x, y]| *x > 2.0 || *y > 2.0) => Some(
            "the points of [ground] lie outside the frame: if they are pixels, set units = \"pixels\"".to_owned(),
        ),
        Units::Pixels if points.iter().all(|[x, y]| *x > 2.0 * w || *y > 2.0 * h) => {
            Some(format!("the points of [ground] lie outside the frame of {w}x{h}: they are of a larger one"))
        }
        _ => None,
    }
}

fn unknown_classes(counter: &Counter, labels: &[String]) -> Vec<String> {
    let known = |class: &String| class_name::number(class, labels).is_some();
    let zones = &counter.params().zones;
    let unknown = zones.iter().flat_map(|zone| {
        zone.classes.iter().filter(|class| !known(class)).map(move |class| {
            let labels = labels.join(", ");
            format!("zone '{}': the model has no class '{class}'; it has {labels}", zone.name)
        })
    });
    unknown.collect()
}
