use std::sync::{Arc, Mutex};

use cudainfer_kernels::segment::LogitsSurvey;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer};
use gst_base::subclass::prelude::*;

use super::improve::Improver;
use super::instances::Instances;
use super::masks::{MaskMaker, Masks, RangeCheck};
use super::negotiate;
use super::object_masks::ObjectMasks;
use super::properties::PROPERTIES;
use super::queries::Queries;
use super::query_objects::QueryObjects;
use super::settings::{Each, Output, Settings, Work};
use super::target::MaskTarget;
use super::whole::{SegmenterSetup, Smoothed, Whole};
use crate::caps;
use crate::decoding::{
    self, Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming, Reading, hand_on,
};
use crate::device::Gpu;
use crate::element::described;
use crate::inferoverlay::Artist;
use crate::log::SEGMASK as CAT;
use crate::memory::caps::in_cuda;
use crate::memory::cropping::{self, Use};
use crate::memory::order;
use crate::meta::analytics::{Contents, Forms};
use crate::meta::mask::MaskKind;
use crate::streams::{self, Streams};
use crate::sync::lock;

#[derive(Default)]
pub struct SegMask {
    settings: Mutex<Settings>,
    /// For frames in CUDA memory whose alpha channel is written.
    gpu: Gpu,
    /// The state of smoothing.
    streams: Arc<Mutex<Streams<Smoothed>>>,
}

#[glib::object_subclass]
impl ObjectSubclass for SegMask {
    const NAME: &'static str = "GstCudaInferSegMask";
    type Type = super::SegMask;
    type ParentType = DecodingElement;
}

impl ObjectImpl for SegMask {
    decoding::properties!(PROPERTIES);
}

impl GstObjectImpl for SegMask {}

impl ElementImpl for SegMask {
    described! {
        "Segmentation masks",
        "Filter/Analyzer/Video",
        "Makes masks from a segmentation network's outputs: as metadata, as the frame's alpha channel or as gray frames",
        sink: caps::sink_template(),
        src: hand_on::src_template(),
    }

    fn set_context(&self, context: &gst::Context) {
        self.gpu.set_context(context);
        self.parent_set_context(context);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        let success = self.parent_change_state(transition)?;
        self.gpu.after(transition);
        Ok(success)
    }
}

impl BaseTransformImpl for SegMask {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.parent_stop()?;
        let before = std::mem::take(&mut *lock(&self.streams));
        drop(before);
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let output = lock(&self.settings).output;
        Some(negotiate::transform(output, direction, from, filter))
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        let paints = lock(&self.settings).output.paints();
        (paints && self.gpu.answer(self.obj().upcast_ref(), &self.counters(), query))
            || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if streams::concerns(&event) {
            lock(&self.streams).see(&event);
        }
        self.parent_sink_event(event)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        let output = lock(&self.settings).output;
        if output != Output::Gray {
            self.parent_propose_allocation(decide_query, query)?;
            if output.paints() {
                cropping::withhold(query, Use::Pixels);
            }
            return Ok(());
        }
        // Elements downstream get other frames.
        order::propose(query, None);
        Ok(())
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        self.with_decoder(|masks: &mut Masks| {
            if let Some(artist) = masks.result.canvas().and_then(|canvas| canvas.artist.as_mut()) {
                artist.promised = order::promised(query);
            }
        });
        self.parent_decide_allocation(query)
    }
}

impl DecodingElementImpl for SegMask {
    const HANDS_ON: bool = true;
    const COUNTS: &'static [&'static str] = &["masks", "non-finite", "out-of-range"];
    const NON_FINITE: &'static str = "of their values";
    const SECTION: &'static str = "[segment]";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn forms(&self) -> Result<Forms, String> {
        lock(&self.settings).metadata.forms(Contents::Masks)
    }

    fn instead_of(&self, input: &InputBuffer) -> Result<Option<gst::Buffer>, String> {
        let (frame, ours) = match input {
            InputBuffer::Writable(frame) => (&**frame, frame.is_all_memory_writable()),
            InputBuffer::Readable(frame) => (*frame, false),
        };
        let target = self.with_decoder(|masks: &mut Masks| {
            masks.improver.as_mut().map_or(Ok(()), |improver| improver.see(frame))?;
            masks.result.instead_of(frame, ours)
        });
        let Some(mut target) = target.unwrap_or(Ok(None))? else { return Ok(None) };
        let writable = target.get_mut().ok_or("the new frame is in use")?;
        self.parent_copy_metadata(frame, writable).map_err(|e| e.to_string())?;
        Ok(Some(target))
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let settings = lock(&self.settings).clone();
        let plan = settings.plan(incoming.model, incoming.info, caps::of_objects(incoming.caps))?;
        let mut result = MaskTarget::new(&settings, &plan.work, incoming.caps)?;
        let is_map = plan.is_map();
        let frame = caps::frame_size(incoming.caps);
        let mut logits = None;
        let maker = match plan.work {
            Work::Whole { params, kind, .. } => {
                let is_known = is_map || plan.queries.is_some();
                if let (false, Some(why)) = (is_known, incoming.certain_detector("segmask")) {
                    return Err(why);
                }
                // What is made of queries is no output of the model.
                let survey = || LogitsSurvey::new(&plan.tensor, plan.input, params).ok();
                logits = plan.queries.is_none().then(survey).flatten();
                let model = caps::loaded_model(incoming.caps);
                let setup = SegmenterSetup { logits: plan.tensor.clone(), input: plan.input, params, model };
                MaskMaker::Whole(Box::new(Whole::new(setup)), kind)
            }
            Work::Queries(each, kernel, names) => {
                let instances = Instances::new(&plan.tensor, plan.input, frame, each)?;
                let objects = QueryObjects::new(*kernel, names, instances, incoming.info.clone(), frame);
                MaskMaker::Queries(Box::new(objects))
            }
            Work::Objects(each, choice) => {
                let upsample = matches!(each, Each::Maps { upsample: true, .. });
                let instances = Instances::new(&plan.tensor, plan.input, frame, each)?;
                let masks = ObjectMasks::new(plan.tensor.clone(), choice, instances, frame, upsample);
                MaskMaker::Objects(Box::new(masks))
            }
            Work::Instances(each) => {
                MaskMaker::Instances(Box::new(Instances::new(&plan.tensor, plan.input, frame, each)?))
            }
        };
        let improvement = settings.improvement();
        let mut stream = None;
        if incoming.outgoing.is_some() {
            let works = improvement.is_some() || result.canvas().is_some();
            if works && in_cuda(incoming.caps) {
                let session = self.gpu.session_now(self.obj().upcast_ref(), &self.counters());
                stream = session.as_ref().ok().map(|session| Arc::clone(session.stream()));
                if let Some(canvas) = result.canvas() {
                    let session = session.map_err(|e| format!("the frames lie in CUDA memory, but {e}"))?;
                    canvas.artist = Some(Artist::new(session, &caps::without_tensors(incoming.caps))?);
                }
            }
            if let Some(warning) = plan.warning {
                let name = self.obj().name();
                gst::element_imp_warning!(self, gst::StreamError::Decode, ("{name}: {warning}"));
            }
        }
        let streams = Arc::clone(&self.streams);
        let (tensor, size, range) = (plan.tensor.name, settings.size, RangeCheck::default());
        let improver = improvement.map(|wanted| Improver::new(wanted, incoming.caps, stream.as_ref()));
        let improver = improver.transpose()?;
        let queries = plan.queries.map(|(kernel, outputs)| Queries::new(kernel, outputs));
        Ok(Box::new(Masks { tensor, queries, maker, logits, frame, size, improver, result, streams, range }))
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        let plan = lock(&self.settings).plan(incoming.model, incoming.info, caps::of_objects(incoming.caps));
        let what = match plan.map(|plan| plan.work) {
            Ok(Work::Whole { kind: MaskKind::Classes { labels, .. }, .. }) => {
                format!("masks of {} classes", labels.len())
            }
            Ok(Work::Whole { kind: MaskKind::Alpha { .. }, .. }) => "soft masks of one class".into(),
            Ok(Work::Queries(..)) => "masks and objects of queries".into(),
            Ok(Work::Objects(_, choice)) => format!("masks of objects, {choice}"),
            _ => "masks of objects".into(),
        };
        Reading::of(incoming, incoming.info, &what)
    }

    /// A mask in metadata is not waited for, unless it is improved.
    fn reads_on(&self) -> bool {
        let settings = lock(&self.settings);
        settings.output == Output::Meta && settings.improvement().is_none()
    }
}
