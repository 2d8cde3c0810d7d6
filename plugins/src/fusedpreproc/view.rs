//! What the model sees of each frame: all of it, parts, or nothing, by `interval`, `max-load` and `motion`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cudainfer_kernels::motion;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::gate::{GateRules, View};
use super::imp::FusedPreproc;
use super::negotiate::usual_rate;
use super::roi::Roi;
use crate::between::{self, IntervalFrame};
use crate::load;
use crate::log::FUSEDPREPROC as CAT;
use crate::notice::post_info;
use crate::pictures::Pictures;
use crate::sync::lock;

impl FusedPreproc {
    /// What motion needs to decide about frames of these caps, if it does.
    pub(super) fn prepare_motion(&self, caps: &gst::Caps) -> Result<Option<(GateRules, Pictures)>, String> {
        let Some(rules) = lock(&self.settings).gate(caps)? else { return Ok(None) };
        let stream = || {
            let session = self.gpu.session().ok_or("there is no usable GPU")?;
            Ok(Arc::clone(session.stream()))
        };
        let pictures = Pictures::new(caps, "motion", motion::picture_size, stream)?;
        Ok(Some((rules, pictures)))
    }

    /// What the model sees of the stream's next frame. Where it does not see all frames, that is in the frame's metadata.
    pub(super) fn view(&self, frame: &mut gst::BufferRef) -> Result<View, String> {
        let interval = self.interval();
        let moving = self.moving(frame)?;
        if moving == Some(View::Nothing) {
            IntervalFrame::Still.put(frame);
            self.still.add(1);
            self.tell_still();
            return Ok(View::Nothing);
        }
        if interval > 0 && !lock(&self.turns).current_mut().sees_next(interval) {
            IntervalFrame::Between.put(frame);
            self.between.add(1);
            self.tell_between(interval);
            return Ok(View::Nothing);
        }
        if interval > 0 || moving.is_some() {
            IntervalFrame::Inferred.put(frame);
        }
        Ok(moving.unwrap_or_default())
    }

    /// Frames between two that the model sees, for the stream's next frame.
    fn interval(&self) -> u64 {
        let (least, most_load) = {
            let settings = lock(&self.settings);
            if settings.roi == Roi::Objects {
                return 0;
            }
            (u64::from(settings.interval), settings.max_load)
        };
        if most_load <= 0.0 {
            return least;
        }
        let rate = lock(&self.maker).as_ref().map(|maker| maker.info().fps());
        let rate = usual_rate(rate);
        let rate = f64::from(rate.numer()) / f64::from(rate.denom());
        let now = Instant::now();
        let is_due = lock(&self.turns).current_mut().budget.is_due(now);
        // No lock is held while others answer.
        let load = self.obj().static_pad("src").filter(|_| is_due).and_then(|src| load::ask(&src));
        let chosen = lock(&self.turns).current_mut().budget.choose(now, most_load, least, rate, load);
        self.chosen_interval.store(chosen.interval, Ordering::Relaxed);
        if chosen.changed {
            gst::info!(
                CAT,
                imp = self,
                "the model's load is {load:.2?}, so interval is {} from now on",
                chosen.interval
            );
        }
        if chosen.exhausted {
            let doubt = format!(
                "the model sees one frame a second, and still works more than max-load={most_load} of the time. Use a smaller model or \
                 input, fewer streams, or a larger max-load"
            );
            self.report(vec![doubt]);
        }
        chosen.interval
    }

    /// What motion lets the model see of the stream's next frame, if it decides.
    fn moving(&self, frame: &gst::BufferRef) -> Result<Option<View>, String> {
        let mut motion = lock(&self.motion);
        let Some((rules, pictures)) = motion.as_mut() else { return Ok(None) };
        let mut gates = lock(&self.gates);
        let gate = gates.current_mut();
        let was_open = gate.is_open();
        let view = pictures.see(frame, |picture| gate.see(rules, picture, frame.pts()))?;
        let opened = gate.is_open() && !was_open;
        let doubt = gate.doubt();
        drop((motion, gates));
        if opened {
            lock(&self.turns).current_mut().begin();
        }
        self.report(doubt.into_iter().collect());
        Ok(Some(view))
    }

    /// Posts an INFO about the first frame of a stream in which nothing moves.
    fn tell_still(&self) {
        if lock(&self.reported).current_mut().only_new(vec!["motion".into()]).is_empty() {
            return;
        }
        let then = if self.are_carried() {
            "tracker keeps the objects of the others (its property between)"
        } else {
            "the others have no results, because no tracker downstream keeps objects on them"
        };
        post_info!(
            self.obj(),
            gst::ResourceError::Settings,
            (
                "{}: the model sees only frames in which something moves, and one after {} s without (motion and max-idle): {then}",
                self.obj().name(),
                lock(&self.settings).max_idle().seconds()
            )
        );
    }

    /// Whether there is a tracker that carries objects on to frames that the model does not see.
    fn are_carried(&self) -> bool {
        self.obj().static_pad("src").is_some_and(|src| between::are_carried(&src))
    }

    /// Posts an INFO about the first frame of a stream that the model does not see.
    fn tell_between(&self, interval: u64) {
        if lock(&self.reported).current_mut().only_new(vec!["interval".into()]).is_empty() {
            return;
        }
        let name = self.obj().name();
        let then = if self.are_carried() {
            "tracker carries objects on to the others (its property between)"
        } else {
            "the others have no results, because no tracker downstream carries objects on to them"
        };
        let most_load = lock(&self.settings).max_load;
        let why = if most_load > 0.0 {
            format!("for max-load={most_load}; the property stats has the interval from now on")
        } else {
            format!("interval={interval}")
        };
        post_info!(
            self.obj(),
            gst::ResourceError::Settings,
            ("{name}: the model sees one of {} frames ({why}): {then}", interval.saturating_add(1))
        );
    }
}
