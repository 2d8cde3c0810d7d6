//! Caps and queries: what trtinfer accepts, what it makes, and what it answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cudainfer_kernels::device::Choice;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::flow::Negotiated;
use super::forms::{self, OutputForms};
use super::given::Given;
use super::imp::TrtInfer;
use super::instance::Instance;
use super::instance_slot;
use super::latency::Change;
use super::shape;
use crate::inference::{InferenceError, RunShape};
use crate::log::TRTINFER as CAT;
use crate::memory::cropping::{self, Use};
use crate::meta::gst_tensor;
use crate::model::{self, ModelInfo, accepts};
use crate::notice::post_info;
use crate::sync::lock;
use crate::{auto_gpu, caps, load, notice, strings};

impl TrtInfer {
    /// Checks the caps against the model at once, and queues the caps of the outputs after the frames that came before.
    pub(super) fn caps_event(&self, incoming: &gst::CapsRef) -> bool {
        if self.follow_with(incoming) {
            return true;
        }
        // The element was stopped meanwhile, which is not an error.
        let Some(running) = self.flow.running() else { return false };
        // Once: another thread may set other constants meanwhile, which come with the next frame.
        let given = self.given.of(&running.instance.engine);
        let prepared = (|| -> Result<_, String> {
            let wanted = shape::shape(incoming, &running.instance.engine, given.as_deref())?;
            self.warm(&running.instance, wanted).map_err(|e| e.to_string())
        })();
        if prepared.is_err() && self.flow.warming().is_set() {
            return false;
        }
        match prepared {
            Ok(shape) => {
                let (caps, forms) = match self.outgoing(&running.instance, &shape, incoming, given.as_deref())
                {
                    Ok(chosen) => chosen,
                    Err(why) => return self.refuse(&why),
                };
                gst::info!(CAT, imp = self, "frames carry {caps}");
                self.flow.negotiate(Some(Negotiated { shape, forms, frame: caps::frame_size(incoming) }));
                self.update_latency(incoming);
                self.check_timeout(&running.instance);
                self.check_regions(&running.instance, incoming);
                self.flow.announce(&caps, Given::info_with(given.as_deref(), &running.instance.engine.info))
            }
            Err(why) => self.refuse(&why),
        }
    }

    /// No frame of these caps is taken.
    fn refuse(&self, why: &str) -> bool {
        self.flow.negotiate(None);
        notice::refused_caps(&*self.obj(), why);
        false
    }

    /// The instance's shape, warmed up. Posts how the model runs, where a search has found it.
    pub(super) fn warm(
        &self,
        instance: &Instance,
        wanted: RunShape,
    ) -> Result<Arc<RunShape>, InferenceError> {
        let stop = self.flow.warming();
        let element = self.obj().downgrade();
        let upgraded = move |done| {
            if let Some(element) = element.upgrade() {
                element.imp().upgraded(done);
            }
        };
        let shape = instance.shape(wanted, &|progress| self.post_progress(progress), &stop, upgraded)?;
        if let Some(found) = instance.engine.take_found() {
            post_info!(self.obj(), gst::LibraryError::Settings, ("{}: {found}", self.obj().name()));
            ["active-provider", "active-variant"].into_iter().for_each(|name| self.obj().notify(name));
        }
        Ok(shape)
    }

    /// Called from another thread: a faster variant of the session serves from now on, or cannot.
    fn upgraded(&self, done: Result<bool, InferenceError>) {
        let found = self.switch.in_use().and_then(|instance| instance.engine.take_found());
        if let Some(found) = found {
            post_info!(self.obj(), gst::LibraryError::Settings, ("{}: {found}", self.obj().name()));
        }
        match done {
            Ok(true) => {
                ["active-provider", "active-variant"].into_iter().for_each(|name| self.obj().notify(name))
            }
            Ok(false) => (),
            Err(e) => gst::element_imp_warning!(
                self,
                gst::LibraryError::Failed,
                (
                    "{}: the fastest way to run the model, as it was timed before, fails now, so the model runs on as it does: \
                     {e}. If that stays so, set engine-search=off",
                    self.obj().name()
                )
            ),
        }
    }

    /// Announces what this element adds to the pipeline's latency with these caps.
    pub(super) fn update_latency(&self, incoming: &gst::CapsRef) {
        let change = self.flow.know_latency(incoming);
        if change == Change::Model {
            self.tally.delays.forget();
        }
        if change != Change::Nothing {
            // A live pipeline has asked for the latency before there were caps.
            self.post_latency();
        }
    }

    /// Announces another latency if frames of a live stream have lately taken longer than was announced, or much shorter.
    pub(super) fn announce_latency(&self) {
        if !self.flow.is_live.load(Ordering::Relaxed) {
            return;
        }
        if self.flow.runs_changed()
            && let Some(caps) = self.sink.current_caps()
        {
            self.update_latency(&caps);
        }
        let Some(slowest) = self.tally.delays.take_window() else { return };
        if self.flow.measure(slowest) {
            gst::debug!(CAT, imp = self, "frames take {slowest:?} at most now");
            self.post_latency();
        }
    }

    fn post_latency(&self) {
        self.post_message(gst::message::Latency::builder().src(&*self.obj()).build());
    }

    /// Posts an INFO where a timeout is set and nothing is live.
    fn check_timeout(&self, instance: &Instance) {
        let mut query = gst::query::Latency::new();
        if instance.setup.timeout.is_zero() || !self.sink.peer_query(&mut query) || query.result().0 {
            return;
        }
        post_info!(
            self.obj(),
            gst::ResourceError::Settings,
            (
                "{}: batch-timeout={} is of no use here: nothing before this element is live, so frames come as fast as \
                 they are taken and fill batches by themselves; leave it out",
                self.obj().name(),
                instance.setup.timeout.as_nanos()
            )
        );
    }

    /// Posts an INFO where the regions of a frame could go through the model together, and go one by one.
    fn check_regions(&self, instance: &Instance, incoming: &gst::CapsRef) {
        let regions = incoming.structure(0).is_some_and(|s| s.has_field(caps::ROI));
        if !regions || instance.engine.batch > 1 {
            return;
        }
        let how = match instance.engine.input.batch {
            Some(_) => "export it with an open batch and set batch-size",
            None => "set batch-size, to 8 for example",
        };
        post_info!(
            self.obj(),
            gst::ResourceError::Settings,
            (
                "{}: the model runs the regions of a frame one by one; to run them together, {how}",
                self.obj().name()
            )
        );
    }

    /// The caps of what an instance makes of frames with these, and as what it puts the outputs on them.
    ///
    /// # Errors
    /// A sentence, without the element's name.
    pub(super) fn outgoing(
        &self,
        instance: &Instance,
        shape: &RunShape,
        incoming: &gst::CapsRef,
        given: Option<&Given>,
    ) -> Result<(gst::Caps, OutputForms), String> {
        // Elements downstream prepare again for other names of the classes, even if all else is the same.
        let constants = given.map_or_else(String::new, |given| format!(".{}", given.number));
        let model = instance.setup.config.model.file_stem().map(|stem| stem.to_string_lossy());
        let mut fields = gst::Structure::builder("outputs")
            .field(caps::OUTPUTS, caps::outputs_value(&shape.results()))
            .field(caps::MODEL, format!("{}#{}{constants}", model.unwrap_or_default(), instance.number))
            .build();
        for size in ["tensor-width", "tensor-height"] {
            if let Some(value) = incoming.structure(0).and_then(|s| s.get::<i32>(size).ok()) {
                fields.set(size, value);
            }
        }
        let roi = incoming.structure(0).and_then(|s| strings::field(s, caps::ROI));
        // Its outputs are an object's each.
        let objects = || shape.is_prompted().then(|| "objects".to_owned());
        if let Some(roi) = roi.or_else(objects) {
            fields.set(caps::ROI, roi);
        }
        for name in [caps::RESIZE, caps::CROP_RATIO, caps::ROI_INTERVAL] {
            if let Some(value) = incoming.structure(0).and_then(|s| s.value(name).ok()) {
                fields.set_value(name, value.clone());
            }
        }
        let ours = caps::with_fields(&caps::without_tensors(&incoming.to_owned()), &fields);
        let form = lock(&self.settings).tensors;
        let forms::Chosen { caps, forms, remark } =
            forms::choose(form, &self.src, &instance.engine, shape, incoming, ours)?;
        if let Some(remark) = remark {
            remark.post(self.obj().upcast_ref(), gst::StreamError::Format);
        }
        Ok((caps, forms))
    }

    /// What is known of the model that caps name.
    fn info(&self, model: Option<&str>) -> Option<ModelInfo> {
        let in_use = || self.switch.in_use().map(|instance| self.info_of(&instance));
        model.and_then(|model| self.flow.info(model)).or_else(in_use)
    }

    /// What this element accepts: what the elements downstream accept, with the model's input tensor. The layout that the model
    /// prefers comes first, then all that it can take; then anything, so that `caps_event` refuses what does not fit with a
    /// sentence.
    pub(super) fn sink_caps(&self, filter: Option<&gst::CapsRef>) -> gst::Caps {
        let downstream = gst_tensor::without_announcement(&self.src.peer_query_caps(None));
        let frames = caps::without_tensors(&downstream);
        let mut accepted = gst::Caps::new_empty();
        {
            let accepted = accepted.make_mut();
            let in_use = self.switch.in_use();
            let next = self.switch.next();
            // Tensors for it may come when the instance has another model already.
            next.iter().for_each(|next| drop(self.switch.ask(next)));
            let engines = next.iter().chain(&in_use).map(|instance| &instance.engine);
            // A promptable model takes another model's outputs, and no picture that fusedpreproc could make.
            for engine in engines.filter(|engine| engine.prompted.is_none()) {
                accepted.append(caps::with_fields(&frames, &model::preferred(&engine.input, &engine.info)));
                accepted.append(caps::with_fields(&frames, &model::required(&engine.input)));
                for fields in model::convertible(&engine.input) {
                    accepted.append(caps::with_fields(&frames, &fields));
                }
            }
            accepted.append(caps::with_feature(&frames));
            accepted.append(frames);
        }
        filtered(accepted, filter)
    }

    /// What this element makes: the frames that come in, with the model's outputs.
    pub(super) fn src_caps(&self, filter: Option<&gst::CapsRef>) -> gst::Caps {
        let mut made = self.src.current_caps().unwrap_or_else(gst::Caps::new_empty);
        let frames = caps::without_tensors(&self.sink.peer_query_caps(None));
        made.merge(caps::with_feature(&frames));
        if forms::may_be_plain(lock(&self.settings).tensors) {
            made.merge(frames);
        }
        filtered(made, filter)
    }

    pub(super) fn sink_query(&self, query: &mut gst::QueryRef) -> bool {
        // Answered by the elements downstream, once everything that came before has arrived there.
        if query.is_serialized() {
            return self.drain() && self.src.peer_query(query) && self.reserve(query);
        }
        if auto_gpu::asked(query) && auto_gpu::answer(query, self.gpu()) {
            return true;
        }
        if load::is_asked(query) {
            return load::answer(query, self.switch.in_use().and_then(|instance| instance.load()));
        }
        // Only a promptable model has one upstream whose outputs could change.
        if let Some((caps, _)) = accepts::asked(query) {
            let suits = self.switch.in_use().map_or(Ok(()), |instance| {
                let given = self.given.of(&instance.engine);
                shape::shape(&caps, &instance.engine, given.as_deref()).map(drop)
            });
            return accepts::answer(query, suits.map_err(|why| format!("{}: {why}", self.obj().name())));
        }
        match query.view_mut() {
            gst::QueryViewMut::Caps(q) => {
                let caps = self.sink_caps(q.filter());
                q.set_result(&caps);
                true
            }
            _ => gst::Pad::query_default(&self.sink, Some(&*self.obj()), query),
        }
    }

    /// The GPU that this element works on, as far as it is decided: that of its instance, or of the one that it shares, or the
    /// one that its property names. Does not wait.
    pub(super) fn gpu(&self) -> Option<u32> {
        if let Some(in_use) = self.switch.in_use() {
            return in_use.gpu();
        }
        let (device, shared) = {
            let settings = lock(&self.settings);
            (settings.device(), settings.instance())
        };
        match device {
            Some(Choice::Cuda(gpu)) => Some(gpu),
            Some(Choice::Auto) => instance_slot::named(Some(&shared?)).current()?.gpu(),
            Some(Choice::Cpu) | None => None,
        }
    }

    /// Asks the element that allocates the frames for that many more buffers as this element has in flight.
    fn reserve(&self, query: &mut gst::QueryRef) -> bool {
        let gst::QueryViewMut::Allocation(allocation) = query.view_mut() else { return true };
        cropping::withhold(allocation, Use::Metadata);
        let held = self.flow.running().map_or(0, |running| running.limit());
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        let pools: Vec<_> = allocation.allocation_pools().collect();
        for (index, (pool, size, min, max)) in (0..).zip(&pools) {
            let min = min.saturating_add(held);
            let max = if *max == 0 { 0 } else { min.max(*max) };
            allocation.set_nth_allocation_pool(index, pool.as_ref(), *size, min, max);
        }
        if pools.is_empty() {
            let (caps, _) = allocation.get();
            let info = caps.and_then(|caps| {
                gst_video::VideoInfo::from_caps(&caps::without_tensors(&caps.to_owned())).ok()
            });
            let size = info.and_then(|info| u32::try_from(info.size()).ok()).unwrap_or(0);
            allocation.add_allocation_pool(None::<&gst::BufferPool>, size, held, 0);
        }
        true
    }

    pub(super) fn src_query(&self, query: &mut gst::QueryRef) -> bool {
        use gst::QueryViewMut;
        if auto_gpu::asked(query) && auto_gpu::answer(query, self.gpu()) {
            return true;
        }
        match query.view_mut() {
            QueryViewMut::Caps(q) => {
                let caps = self.src_caps(q.filter());
                q.set_result(&caps);
                true
            }
            QueryViewMut::Latency(q) => {
                let mut upstream = gst::query::Latency::new();
                if !self.sink.peer_query(&mut upstream) {
                    return false;
                }
                let (live, min, max) = upstream.result();
                self.flow.is_live.store(live, Ordering::Relaxed);
                let (own, room) = self.flow.latency();
                gst::debug!(CAT, imp = self, "adds a latency of {own}, and room for {room}");
                q.set(live, min.saturating_add(own), max.map(|max| max.saturating_add(room)));
                true
            }
            QueryViewMut::Custom(_) => {
                model::answer(query, |model| self.info(model))
                    || gst::Pad::query_default(&self.src, Some(&*self.obj()), query)
            }
            _ => gst::Pad::query_default(&self.src, Some(&*self.obj()), query),
        }
    }
}

fn filtered(caps: gst::Caps, filter: Option<&gst::CapsRef>) -> gst::Caps {
    match filter {
        Some(filter) => filter.intersect_with_mode(&caps, gst::CapsIntersectMode::First),
        None => caps,
    }
}
