//! Where an object is in the world, as zonecount finds it with `[ground]`: the parameter `world` of objects.
//!
//! | field | type | what it is |
//! |---|---|---|
//! | `x`, `y` | double | where its box touches the ground, in metres |
//! | `speed`, `speed-deviation` | double | its speed and the speed's standard deviation, in m/s, if it is known |
//! | `speed-direction` | double | where it moves: degrees from the x axis towards the y axis; only where it surely moves |
//! | `nearest` | int | `id` of the nearest other object with a place, if there is one |
//! | `nearest-distance` | double | how far that is, in metres |

use cudainfer_kernels::ground::Motion;

/// Where an object is in the world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorldParam {
    /// Where its box touches the ground, in metres.
    pub at: [f64; 2],
    /// How it moves.
    pub motion: Option<Motion>,
    /// The nearest other object.
    pub nearest: Option<NearestParam>,
}

/// Another object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestParam {
    /// Its `id` in this frame.
    pub object: i32,
    /// How far it is, in metres.
    pub distance: f64,
}

/// Adds a motion's fields.
pub(super) fn set_motion(s: &mut gst::StructureRef, motion: &Motion) {
    s.set("speed", motion.speed);
    s.set("speed-deviation", motion.deviation);
    if let Some(direction) = motion.direction {
        s.set("speed-direction", direction);
    }
}

/// The motion that fields describe.
pub(super) fn motion_of(s: &gst::StructureRef) -> Option<Motion> {
    let number = |field| s.get::<f64>(field).ok();
    let (speed, deviation) = (number("speed")?, number("speed-deviation")?);
    Some(Motion { speed, deviation, direction: number("speed-direction") })
}

impl WorldParam {
    pub(super) fn to_structure(&self) -> gst::Structure {
        let [x, y] = self.at;
        let mut s = gst::Structure::builder("world").field("x", x).field("y", y).build();
        if let Some(motion) = &self.motion {
            set_motion(&mut s, motion);
        }
        if let Some(nearest) = &self.nearest {
            s.set("nearest", nearest.object);
            s.set("nearest-distance", nearest.distance);
        }
        s
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let at = [s.get::<f64>("x").ok()?, s.get::<f64>("y").ok()?];
        let nearest = s.get::<i32>("nearest").ok().zip(s.get::<f64>("nearest-distance").ok());
        let nearest = nearest.map(|(object, distance)| NearestParam { object, distance });
        Some(Self { at, motion: motion_of(s), nearest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::{Object, TrackingParam, add_world, objects};

    #[test]
    fn places_and_speeds_come_back_as_they_were_put_and_those_of_the_first_element_count() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        let rect = cudainfer_kernels::geometry::Rect::default();
        let tracking = Some(TrackingParam { state: "tracked".into(), ..TrackingParam::default() });
        for id in 0..3 {
            Object { id, tracking: tracking.clone(), ..Object::default() }.put(buffer, &rect);
        }
        let moving = |direction| Some(Motion { speed: 13.9, deviation: 0.25, direction });
        let one = WorldParam {
            at: [1.5, -20.0],
            motion: moving(Some(90.0)),
            nearest: Some(NearestParam { object: 2, distance: 3.25 }),
        };
        let other = WorldParam { at: [1.5, -16.75], motion: moving(None), nearest: None };
        add_world(buffer, [Some(one.clone()), None, Some(other.clone())]);
        add_world(buffer, [None, None, Some(one.clone())]);
        let found: Vec<_> = objects(buffer).into_iter().map(|object| object.world).collect();
        assert_eq!(found, [Some(one), None, Some(other)]);
    }
}
