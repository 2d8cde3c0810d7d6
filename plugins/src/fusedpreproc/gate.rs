//! Whether the model sees a frame, by whether something moves in it: the property `motion`.

use cudainfer_kernels::camera::Picture;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::motion::{Background, MotionParams, Moving};
use gst::ClockTime;

use crate::property::Words;
use crate::streams::PerStream;

/// What motion decides, as the property names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMotion")]
#[allow(missing_docs)]
pub enum Motion {
    #[default]
    #[enum_value(name = "Nothing: the model sees frames whether or not something moves", nick = "ignore")]
    Ignore,
    #[enum_value(name = "The model sees only frames in which something moves", nick = "gate")]
    Gate,
}

impl Words for Motion {}

/// This many pictures in a row that are nothing like the background are no lamp that was lit: the camera moves.
const MANY_NEW: u32 = 25;

/// When the model sees a frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GateRules {
    pub params: MotionParams,
    /// How long after the last motion it still does.
    pub hold: ClockTime,
    /// The longest time without a frame that it sees.
    pub max_idle: ClockTime,
    /// The time from frame to frame, for those without a timestamp.
    pub frame: ClockTime,
}

/// What the model sees of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum View {
    /// Nothing, because nothing moves.
    Nothing,
    /// What lies around these boxes, in which something moves or has just moved.
    Moving(Vec<Rect>),
    /// The whole frame.
    #[default]
    Whole,
}

/// What a stream has shown.
#[derive(Debug)]
pub(super) struct Gate {
    background: Background,
    /// The time of the last frame.
    last: Option<ClockTime>,
    /// When something has moved last, and where.
    moved: Option<(ClockTime, Vec<Rect>)>,
    /// When the model has seen all of a frame.
    seen: Option<ClockTime>,
    /// Pictures in a row that were nothing like the background.
    new: u32,
    open: bool,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            background: Background::new(MotionParams::default()),
            last: None,
            moved: None,
            seen: None,
            new: 0,
            open: false,
        }
    }
}

impl PerStream for Gate {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }
}

impl Gate {
    /// Takes the next frame's picture in. A frame that is earlier than the last one begins anew.
    pub fn see(&mut self, rules: &GateRules, picture: &Picture<'_>, pts: Option<ClockTime>) -> View {
        let next = self.last.map(|last| last.saturating_add(rules.frame));
        let now = pts.or(next).unwrap_or_default();
        if self.last.is_some_and(|last| now < last) {
            *self = Self::default();
        }
        let elapsed = self.last.map_or(ClockTime::ZERO, |last| now - last);
        self.last = Some(now);
        self.background.set_params(&rules.params);
        let found = self.background.update(picture, elapsed.nseconds() as f64 / 1e9);
        let view = self.decide(rules, found, now);
        self.open = view != View::Nothing;
        view
    }

    fn decide(&mut self, rules: &GateRules, found: Option<Moving>, now: ClockTime) -> View {
        let is_idle = self.seen.is_none_or(|seen| now.saturating_sub(seen) >= rules.max_idle);
        let is_new = found.as_ref().is_none_or(|moving| moving.all_new);
        self.new = if is_new { self.new.saturating_add(1) } else { 0 };
        if let Some(moving) = found.filter(|moving| !moving.boxes.is_empty()) {
            self.moved = Some((now, moving.boxes));
        }
        if is_idle || is_new {
            self.seen = Some(now);
            return View::Whole;
        }
        match &self.moved {
            Some((moved, boxes)) if *moved == now || now.saturating_sub(*moved) < rules.hold => {
                View::Moving(boxes.clone())
            }
            _ => View::Nothing,
        }
    }

    /// Whether the model has seen the last frame because of what moved in it or for another reason.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Why motion says nothing, if that is so.
    pub fn doubt(&self) -> Option<String> {
        (self.new >= MANY_NEW).then(|| {
            format!(
                "{MANY_NEW} frames in a row are nothing like those before, so motion leaves none out: the camera moves, or the picture \
                 flickers. Set motion=ignore, or interval, to leave out frames of such a video"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [usize; 2] = [120, 100];

    fn rules() -> GateRules {
        GateRules {
            params: MotionParams::default(),
            hold: ClockTime::from_seconds(2),
            max_idle: ClockTime::from_seconds(10),
            frame: ClockTime::from_mseconds(200),
        }
    }

    /// A frame at a time in seconds, with a bright square or without.
    fn see(gate: &mut Gate, seconds: f64, square: bool) -> View {
        let pixel = |i: usize| {
            let inside = (20..30).contains(&(i % SIZE[0])) && (40..50).contains(&(i / SIZE[0]));
            if inside && square { 250 } else { 60 }
        };
        let pixels: Vec<u8> = (0..SIZE[0] * SIZE[1]).map(pixel).collect();
        let picture = Picture::new(&pixels, SIZE, SIZE.map(|side| 2 * side)).unwrap();
        gate.see(&rules(), &picture, Some(ClockTime::from_seconds_f64(seconds)))
    }

    #[test]
    fn the_model_sees_the_first_frame_motion_what_follows_it_and_one_frame_now_and_then() {
        let mut gate = Gate::default();
        let around = || View::Moving(vec![Rect { x: 40.0, y: 80.0, w: 20.0, h: 20.0 }]);
        for (seconds, square, wanted) in [
            (1.0, false, View::Whole),
            (1.2, false, View::Nothing),
            (4.0, false, View::Nothing),
            (4.2, true, around()),
            (4.4, false, around()),
            (6.0, false, around()),
            (6.2, false, View::Nothing),
            (10.8, false, View::Nothing),
            (11.0, false, View::Whole),
            (11.2, false, View::Nothing),
            (5.0, false, View::Whole),
            (5.2, false, View::Nothing),
        ] {
            assert_eq!(see(&mut gate, seconds, square), wanted, "at {seconds} s");
            assert_eq!(gate.is_open(), wanted != View::Nothing);
        }
        assert_eq!(gate.doubt(), None);
    }

    #[test]
    fn frames_without_timestamps_follow_each_other_by_their_rate() {
        let mut gate = Gate::default();
        let pixels = vec![60; SIZE[0] * SIZE[1]];
        let picture = Picture::new(&pixels, SIZE, SIZE).unwrap();
        let views: Vec<_> = (0..51).map(|_| gate.see(&rules(), &picture, None)).collect();
        assert_eq!((&views[0], &views[50]), (&View::Whole, &View::Whole), "10 s later");
        assert!(views[1..50].iter().all(|view| *view == View::Nothing));
    }

    #[test]
    fn a_camera_that_moves_is_doubted() {
        let mut gate = Gate::default();
        for frame in 0..30_u8 {
            let pixels = vec![if frame % 2 == 0 { 30 } else { 200 }; SIZE[0] * SIZE[1]];
            let picture = Picture::new(&pixels, SIZE, SIZE).unwrap();
            assert_eq!(gate.see(&rules(), &picture, None), View::Whole);
            assert_eq!(gate.doubt().is_some(), frame >= 24, "frame {frame}");
        }
    }
}
