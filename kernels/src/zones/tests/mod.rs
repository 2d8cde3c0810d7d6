//! Zones from outside: the events of objects that move.

mod crossing;
mod errors;
mod geometry;
mod life;
mod stays;
mod visits;
mod world;

use super::*;
use crate::geometry::Rect;

const MS: u64 = 1_000_000;

/// A frame's time: 100 ms each.
fn at(frame: u64) -> FrameTime {
    FrameTime { pts: Some(frame * 100 * MS), duration: Some(100 * MS) }
}

/// An object without a size at a point, where all of its anchors are then.
fn dot(id: u64, [x, y]: [f64; 2]) -> Sighting<'static> {
    let rect = Rect { x: x as f32, y: y as f32, w: 0.0, h: 0.0 };
    Sighting { id: Some(id), label: "person", class: Some(0), rect, ..Sighting::default() }
}

/// Parameters that count as soon as an object is on the other side.
fn at_once(zones: Vec<Zone>) -> ZoneParams {
    ZoneParams { zones, min_frames: 1, margin: 0.0, ..ZoneParams::default() }
}

fn line(points: [[f64; 2]; 2]) -> Zone {
    Zone::new("line", ZoneKind::Line, points.to_vec())
}

/// Corners 10,10 and 20,20.
fn square() -> Zone {
    let outline = vec![[10.0, 10.0], [20.0, 10.0], [20.0, 20.0], [10.0, 20.0]];
    Zone::new("square", ZoneKind::Polygon, outline)
}

fn counter(params: ZoneParams) -> Counter {
    Counter::new(params).unwrap()
}

/// The events of a single object that is seen at these places, frame by frame; `None` where it is not seen.
fn walk(counter: &mut Counter, places: &[Option<[f64; 2]>]) -> Vec<(usize, EventKind)> {
    let mut events = Vec::new();
    for (frame, place) in places.iter().enumerate() {
        let objects: Vec<_> = place.iter().map(|p| dot(1, *p)).collect();
        let report = counter.update(at(frame as u64), &objects);
        events.extend(report.events.iter().map(|event| (frame, event.what)));
    }
    events
}

/// The events of an object that is seen at these x along y = 15.
fn along(counter: &mut Counter, xs: &[f64]) -> Vec<(usize, EventKind)> {
    let places: Vec<_> = xs.iter().map(|x| Some([*x, 15.0])).collect();
    walk(counter, &places)
}
