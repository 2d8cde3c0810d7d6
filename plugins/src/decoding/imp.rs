use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::sanity::Suspicion;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::doubts::{self, Doubts};
use super::foreign::PlainFrames;
use super::methods::{Methods, MethodsOf};
use super::{Counts, Decode, DecodingElementImpl, Reading, Side, hand_on, reading};
use crate::caps;
use crate::device::{self, AskedDevice};
use crate::memory::cropping::{self, Use};
use crate::memory::order;
use crate::meta::analytics::Forms;
use crate::meta::gst_tensor;
use crate::meta::tensor::TensorSet;
use crate::model::{self, ModelInfo, accepts};
use crate::mutability::settable;
use crate::sync::lock;
use crate::{element, meta, notice, stats, strings};

#[derive(Default)]
pub struct DecodingElement {
    pub(super) side: Side,
    /// The decoder: made for the negotiated caps, or for the tensors of frames whose caps announce none.
    pub(super) decoder: Mutex<Option<Box<dyn Decode>>>,
    /// Frames whose caps announce no tensors of this plugin.
    pub(super) plain: Mutex<PlainFrames>,
    /// Whether frames go on with their tensors.
    hands_on: AtomicBool,
    /// Whether properties that the decoder was made from have changed since.
    pub(super) changed: AtomicBool,
    /// The form of the results, since READY to PAUSED.
    forms: Mutex<Forms>,
    /// Counts since READY to PAUSED.
    counts: Mutex<Counts>,
    /// How the outputs of the latest model are read, and the model's name in caps.
    pub(super) reading: Mutex<(Option<String>, Reading)>,
    /// What is suspected of the latest model's outputs.
    doubts: Doubts,
    /// Limits that were reported since READY to PAUSED.
    reported_limits: Mutex<Vec<&'static str>>,
}

impl DecodingElement {
    /// What the element adds to this class, which has no instances of its own.
    pub(super) fn methods(&self) -> Result<&'static Methods, &'static str> {
        self.obj().class().as_ref().methods.ok_or("the base class decodes nothing")
    }

    /// The caps of the frames that go on, of those `offered`: with tensors only if an element downstream asks for them.
    fn outgoing(
        &self,
        caps: &gst::Caps,
        offered: impl FnOnce(Option<&gst::Caps>) -> gst::Caps,
        info: impl FnOnce() -> ModelInfo,
    ) -> gst::Caps {
        let peer = self.obj().static_pad("src").map(|src| src.peer_query_caps(None));
        hand_on::choose(caps, &offered(peer.as_ref()), peer.as_ref(), || {
            let methods = self.methods().ok();
            let added = methods.and_then(|methods| (methods.added_fields)(&self.obj(), caps, &info()));
            added.unwrap_or_else(|| gst::Structure::new_empty("tensors"))
        })
    }

    /// Whether tensors may go on.
    fn may_hand_on(&self) -> bool {
        self.methods().is_ok_and(|methods| methods.hands_on)
    }

    pub(super) fn stats(&self) -> gst::Structure {
        let mut fields = stats::structure(self.side.counters());
        let counts = *lock(&self.counts);
        for (name, count) in counts.iter() {
            fields.set(name, count);
        }
        fields
    }

    pub(super) fn with_decoder<D: Decode, R>(&self, work: impl FnOnce(&mut D) -> R) -> Option<R> {
        let mut decoder = lock(&self.decoder);
        let decoder: &mut dyn std::any::Any = decoder.as_deref_mut()?;
        decoder.downcast_mut().map(work)
    }

    /// Whether this element and those downstream could work with frames of these caps.
    fn accepts(&self, caps: &gst::Caps, info: &ModelInfo) -> Result<(), String> {
        if self.may_carry_others(caps) {
            // Whether the tensors are those that this element reads is known with the frames.
            return Ok(());
        }
        self.prepare(caps, info, None).map_err(|why| format!("{}: {why}", self.obj().name()))?;
        let (true, Some(src)) = (self.may_hand_on(), self.obj().static_pad("src")) else { return Ok(()) };
        let offered = |peer: Option<&gst::Caps>| hand_on::transform(gst::PadDirection::Sink, caps, peer);
        let outgoing = self.outgoing(caps, offered, || info.clone());
        if caps::has_tensors(&outgoing) { accepts::ask(&src, &outgoing, info) } else { Ok(()) }
    }

    /// Whether frames of these caps may carry tensors of another element: no element of this plugin has removed any, and
    /// GStreamer has a meta for them.
    fn may_carry_others(&self, caps: &gst::Caps) -> bool {
        let taken = || self.sink().is_some_and(|sink| model::ask_taker(&sink).is_some());
        !caps::has_tensors(caps) && gst_tensor::open().is_ok() && !taken()
    }

    /// Reports limits that have left results of a frame out, each once.
    fn report_limits(&self, counts: &Counts) {
        for (count, limit) in counts.limits() {
            let is_new = !lock(&self.reported_limits).contains(&limit.name);
            if is_new {
                lock(&self.reported_limits).push(limit.name);
                notice::limited(&*self.obj(), count, &limit);
            }
        }
    }

    /// Removes a frame's tensors. GStreamer's own meta of the same tensors, if there is one, would hold their memory.
    fn take(frame: &mut gst::BufferRef) -> Option<Vec<TensorSet>> {
        gst_tensor::remove(frame);
        TensorSet::take(frame)
    }

    pub(super) fn sink(&self) -> Option<gst::Pad> {
        self.obj().static_pad("sink")
    }
}

/// The class structure, in which the base class finds the methods of the element.
#[repr(C)]
pub struct Class {
    parent: gst_base::ffi::GstBaseTransformClass,
    /// Zero, which is `None`, in the abstract class itself.
    methods: Option<&'static Methods>,
}

// SAFETY: the structure begins with the parent's, is all zeros to begin with, which is valid, and is the instance's by
// `ObjectSubclass::Class`.
unsafe impl ClassStruct for Class {
    type Type = DecodingElement;
}

// SAFETY: the parent class is initialised first, and the structure is the one of `DecodingElement`'s class.
unsafe impl<T: DecodingElementImpl> IsSubclassable<T> for super::DecodingElement {
    fn class_init(class: &mut glib::Class<Self>) {
        Self::parent_class_init::<T>(class);
        class.as_mut().methods = Some(MethodsOf::<T>::METHODS);
    }
}

#[glib::object_subclass]
impl ObjectSubclass for DecodingElement {
    const NAME: &'static str = "GstCudaInferDecodingElement";
    const ABSTRACT: bool = true;
    type Type = super::DecodingElement;
    type ParentType = gst_base::BaseTransform;
    type Class = Class;
}

impl ObjectImpl for DecodingElement {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let blurb = "How the model's outputs are read, and where that comes from: a property, the sidecar, the \
                             model's file, a file beside it, or an assumption. NULL until the model is known";
            vec![device::param_spec(), reading::param_spec(blurb), stats::param_spec("")]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if settable(&*self.obj(), pspec)
            && strings::is_text(&*self.obj(), value, pspec)
            && pspec.name() == "device"
        {
            self.side.set_device(AskedDevice::of(value.get().ok().flatten()));
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "device" => self.side.device().text().to_value(),
            "stats" => self.stats().to_value(),
            reading::PROPERTY => {
                Some(lock(&self.reading).1.text.clone()).filter(|text| !text.is_empty()).to_value()
            }
            _ => pspec.default_value().clone(),
        }
    }

    fn constructed(&self) {
        self.parent_constructed();
        element::name_after_factory(self.obj().upcast_ref());
        *lock(&self.counts) = Counts::new(self.methods().map_or(&[], |methods| methods.counts));
    }
}

impl GstObjectImpl for DecodingElement {}

impl ElementImpl for DecodingElement {}

impl BaseTransformImpl for DecodingElement {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        device::check(&self.side.device(), &*self.obj())?;
        if let Ok(methods) = self.methods() {
            let forms = (methods.forms)(&self.obj());
            *lock(&self.forms) = forms.map_err(|why| {
                gst::error_msg!(gst::LibraryError::Settings, ("{}: {why}", self.obj().name()))
            })?;
        }
        *lock(&self.counts) = Counts::new(self.methods().map_or(&[], |methods| methods.counts));
        self.side.counters().reset();
        self.doubts.reset();
        lock(&self.reported_limits).clear();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.decoder) = None;
        lock(&self.plain).end();
        self.side.forget();
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let transform = if self.may_hand_on() { hand_on::transform } else { caps::consumed };
        Some(transform(direction, from, filter))
    }

    fn fixate_caps(&self, direction: gst::PadDirection, caps: &gst::Caps, other: gst::Caps) -> gst::Caps {
        let other = if direction == gst::PadDirection::Sink && self.may_hand_on() {
            // Where nothing is linked, BaseTransform offers only the incoming caps, tensors and all.
            let linked = self.obj().static_pad("src").is_some_and(|src| src.is_linked());
            let offered = if linked { other } else { hand_on::transform(direction, caps, None) };
            let info = || self.sink().map(|sink| model::ask(&sink, caps)).unwrap_or_default();
            self.outgoing(caps, |_| offered, info)
        } else {
            other
        };
        self.parent_fixate_caps(direction, caps, other)
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info = self.sink().map(|sink| model::ask(&sink, incaps)).unwrap_or_default();
        self.changed.store(false, Ordering::Release);
        self.hands_on.store(caps::has_tensors(outcaps), Ordering::Release);
        if self.may_carry_others(incaps) {
            *lock(&self.decoder) = None;
            lock(&self.plain).begin(incaps, outcaps, info);
            return Ok(());
        }
        lock(&self.plain).end();
        let prepared = self.prepare(incaps, &info, Some(outcaps));
        let decoder = prepared.map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            let category = self.methods().map_or(*gst::CAT_RUST, |methods| (methods.category)());
            gst::loggable_error!(category, "{why}")
        })?;
        *lock(&self.decoder) = Some(decoder);
        self.doubts.follow(caps::loaded_model(incaps));
        self.tell_reading(incaps, &info, outcaps);
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if let Some((caps, info)) = accepts::asked(query) {
            return accepts::answer(query, self.accepts(&caps, &info));
        }
        model::tell_taker(query, &self.obj().name());
        BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        cropping::withhold(query, Use::Metadata);
        // Where the results are there, so is everything that they were made of.
        let reads_on = self.methods().is_ok_and(|methods| (methods.reads_on)(&self.obj()));
        order::propose(query, reads_on.then_some(self.obj().upcast_ref()));
        Ok(())
    }

    fn submit_input_buffer(
        &self,
        is_discont: bool,
        frame: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        cropping::refuse(&*self.obj(), &frame)?;
        self.follow_frame(&frame)?;
        self.parent_submit_input_buffer(is_discont, frame)
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        let target = self.methods().map_err(str::to_owned);
        let target = target.and_then(|methods| (methods.instead_of)(&self.obj(), &input)).map_err(|why| {
            gst::element_imp_error!(self, gst::StreamError::Decode, ("{}: {why}", self.obj().name()));
            gst::FlowError::Error
        })?;
        Ok(target.map_or_else(|| meta::share(input), PrepareOutputBufferSuccess::Buffer))
    }

    fn transform_meta<'a>(
        &self,
        _outbuf: &mut gst::BufferRef,
        _meta: gst::MetaRef<'a, gst::Meta>,
        _inbuf: &'a gst::BufferRef,
    ) -> bool {
        // A frame that goes on in place of another shows the same picture. Metas that describe memory never get here, and the element
        // removes those that do not fit another size.
        true
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _frame = stats::frame(&*self.obj(), self.side.counters());
        self.apply_changes();
        let methods = self.methods().map_err(|_| gst::FlowError::NotSupported)?;
        let mut counts = Counts::new(methods.counts);
        counts.watch(!self.doubts.are_over());
        let plain = lock(&self.plain).come();
        if plain && lock(&self.decoder).is_none() {
            // The same caps have come again.
            self.follow_frame(buffer)?;
        }
        let of_plain = if plain { self.tensors_of_plain(buffer) } else { vec![] };
        if plain && of_plain.is_empty() {
            return Ok(gst::FlowSuccess::Ok);
        }
        // Messages run handlers, which may call us back: no lock is held where one is posted.
        let (done, remark) = {
            let mut decoder = lock(&self.decoder);
            let decoder = decoder.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
            let sets = if plain { Some(of_plain) } else { Self::take(buffer) }.ok_or_else(|| {
                "a frame came without its tensors. Put the element that removes metadata from frames before fusedpreproc"
                    .to_owned()
            });
            let forms = *lock(&self.forms);
            let done = sets.and_then(|sets| {
                forms.write(buffer, |frame| decoder.decode(&sets, frame, &self.side, &mut counts))?;
                let suspicions = self.doubts.of(&**decoder, &sets, &counts);
                if self.hands_on.load(Ordering::Acquire) {
                    hand_on::put_back(sets, decoder.added(), buffer);
                }
                Ok(suspicions)
            });
            (done, decoder.remark())
        };
        let non_finite = lock(&self.counts).add_frame(&counts);
        let suspicions = done.map_err(|why| {
            gst::element_imp_error!(self, gst::StreamError::Decode, ("{}: {why}", self.obj().name()));
            gst::FlowError::Error
        })?;
        // One sentence about the same frame is enough.
        let all_non_finite = suspicions.iter().any(|(what, _)| matches!(what, Suspicion::NonFinite { .. }));
        for (suspicion, expected) in &suspicions {
            doubts::post(self.obj().upcast_ref(), &methods.described, suspicion, expected);
        }
        if non_finite > 0 && !all_non_finite {
            notice::non_finite(&*self.obj(), non_finite, methods.non_finite);
        }
        self.report_limits(&counts);
        if let Some(remark) = remark {
            remark.post(self.obj().upcast_ref(), gst::StreamError::Decode);
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
