//! As what a model's outputs are put on frames: as this plugin's tensors, as GStreamer's own, or as both.

use std::sync::Arc;

use cudainfer_kernels::tensor::TensorDesc;
use gst::glib;
use gst::glib::translate::IntoGlib;
use gst::prelude::*;

use crate::caps;
use crate::inference::{Engine, RunShape};
use crate::meta::gst_tensor::{self, Functions, Labelled};
use crate::meta::tensor::TensorSet;
use crate::model::TensorIds;
use crate::notice::Remark;
use crate::strings;

/// The property `tensors`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferTensors")]
#[allow(missing_docs)]
pub enum TensorForm {
    #[default]
    #[enum_value(
        name = "gst where only an element downstream whose caps ask for GStreamer's tensors (1.28) can read them, else ours",
        nick = "auto"
    )]
    Auto,
    #[enum_value(name = "GstCudaInferTensorMeta, which the elements of this plugin read", nick = "ours")]
    Ours,
    #[enum_value(name = "GstTensorMeta of GStreamer 1.26, which GStreamer's decoders read", nick = "gst")]
    Gst,
    #[enum_value(name = "Both", nick = "both")]
    Both,
}

/// How the outputs are put on frames of the negotiated caps.
#[derive(Clone, Default)]
pub(super) struct OutputForms {
    without_ours: bool,
    gst: Option<Arc<GstForm>>,
}

/// The outputs as GStreamer's elements know them.
struct GstForm {
    functions: &'static Functions,
    ids: TensorIds,
}

impl OutputForms {
    /// Puts the outputs on a frame in place of the tensors that it carried. GStreamer's own meta has no place for those of regions.
    pub fn put(&self, sets: &[TensorSet], frame: &mut gst::BufferRef) {
        if self.without_ours {
            TensorSet::take(frame);
        } else {
            TensorSet::put(sets, frame);
        }
        let (Some(form), [TensorSet { tensors, object: None, region: None, .. }]) = (&self.gst, sets) else {
            return;
        };
        let labelled = tensors.iter().map(|tensor| {
            let name = &tensor.desc.name;
            let id = glib::Quark::from_str(form.ids.id(name)).into_glib();
            Labelled { tensor, id, col_major: form.ids.is_col_major(name) }
        });
        gst_tensor::put(form.functions, frame, &labelled.collect::<Vec<_>>());
    }
}

/// Whether plain frames may go out where the elements downstream do not accept this plugin's tensors.
pub(super) fn may_be_plain(form: TensorForm) -> bool {
    match form {
        TensorForm::Ours => false,
        TensorForm::Auto => gst_tensor::is_announced() && gst_tensor::open().is_ok(),
        TensorForm::Gst | TensorForm::Both => true,
    }
}

/// What the source pad can offer in any case.
pub(super) fn src_template() -> gst::Caps {
    let mut template = caps::with_feature(&caps::any_video());
    if gst_tensor::open().is_ok() {
        template.merge(caps::any_video());
    }
    template
}

/// What the model is for GStreamer's elements.
struct Offer {
    functions: &'static Functions,
    ids: TensorIds,
    /// Plain frames, the caps that announce the outputs first.
    caps: Vec<gst::Caps>,
}

/// How frames go out, and what the user should know of it.
pub(super) struct Chosen {
    pub caps: gst::Caps,
    pub forms: OutputForms,
    pub remark: Option<Remark>,
}

/// The caps of frames with the outputs and their form: `ours` are those with this plugin's tensors. Asks the elements downstream
/// of `src`.
///
/// # Errors
/// A sentence, without the element's name: why what `form` asks for is not possible.
pub(super) fn choose(
    form: TensorForm,
    src: &gst::Pad,
    engine: &Engine,
    shape: &RunShape,
    incoming: &gst::CapsRef,
    ours: gst::Caps,
) -> Result<Chosen, String> {
    let downstream = src.peer_query_caps(None);
    let accepted = downstream.is_empty() || downstream.can_intersect(&ours);
    let asked = gst_tensor::asks_for_tensors(&downstream);
    let only_ours = |remark| Chosen { caps: ours.clone(), forms: OutputForms::default(), remark };
    if form == TensorForm::Ours || (form == TensorForm::Auto && (accepted || !asked)) {
        return Ok(only_ours(None));
    }
    if incoming.structure(0).is_some_and(|s| s.has_field(caps::ROI)) {
        if form == TensorForm::Gst || !accepted {
            return Err("GStreamer's tensors are those of a whole frame, but fusedpreproc makes tensors of regions. Set tensors=ours \
                        and decode with the elements of cudainfer, or remove the property roi of fusedpreproc"
                .into());
        }
        let text = "tensors of regions are written as those of this plugin only: GStreamer's have no place for regions";
        return Ok(only_ours(Some(Remark::Info(text.to_owned()))));
    }
    let offer = offer(engine, shape, incoming)?;
    let gst = Some(Arc::new(GstForm { functions: offer.functions, ids: offer.ids.clone() }));
    if form == TensorForm::Both && accepted {
        return Ok(Chosen { caps: ours, forms: OutputForms { without_ours: false, gst }, remark: None });
    }
    let fits = |caps: &&gst::Caps| {
        // Frames that announce nothing would get through, and nothing would be found.
        let announced = !asked || gst_tensor::asks_for_tensors(caps);
        // Whether two lists of tensors have something in common is answered too generously by GStreamer 1.28.
        let accepted = || downstream.can_intersect(caps) && src.peer_query_accept_caps(caps);
        announced && (downstream.is_empty() || accepted())
    };
    let caps =
        offer.caps.iter().find(fits).cloned().ok_or_else(|| unfit(&offer, &downstream, &shape.results()))?;
    let forms = OutputForms { without_ours: form != TensorForm::Both, gst };
    Ok(Chosen { caps, forms, remark: misplaced(incoming) })
}

/// GStreamer's tensors do not say where they are in the frame: their readers take the network's input for all of it. Returns what
/// that means with these caps.
fn misplaced(incoming: &gst::CapsRef) -> Option<Remark> {
    let s = incoming.structure(0)?;
    let side = |name| s.get::<i32>(name).unwrap_or(0);
    let [width, height] = ["tensor-width", "tensor-height"].map(side);
    let [frame_width, frame_height] = ["width", "height"].map(side);
    let resize = strings::field(s, caps::RESIZE).unwrap_or_else(|| "stretch".into());
    let whole = i64::from(width) * i64::from(frame_height) == i64::from(height) * i64::from(frame_width);
    let cropped = s.get::<f64>(caps::CROP_RATIO).is_ok_and(|ratio| ratio < 1.0);
    if resize != "stretch" && (!whole || cropped) {
        let text = format!(
            "readers of GStreamer's tensors take the network's input for the whole frame, but frames of \
             {frame_width}x{frame_height} fill its {width}x{height} pixels by {resize}, so results will be in the wrong places. Set \
             resize=stretch on fusedpreproc"
        );
        return Some(Remark::Warning(text));
    }
    ([width, height] != [frame_width, frame_height]).then(|| {
        let text = format!(
            "readers of GStreamer's tensors do not know that frames of {frame_width}x{frame_height} were resized to \
             {width}x{height}. Decoders of coordinates in pixels, such as yolov8tensordec, need frames of that size: put videoscale \
             before fusedpreproc"
        );
        Remark::Info(text)
    })
}

/// What GStreamer's elements can be offered.
fn offer(engine: &Engine, shape: &RunShape, incoming: &gst::CapsRef) -> Result<Offer, String> {
    let functions = gst_tensor::open().map_err(|why| {
        format!(
            "tensors=gst and tensors=both need libgstanalytics of GStreamer 1.26 or newer, but {why}. Install \
             libgstreamer-plugins-bad1.0-0 of such a version, or set tensors to auto or ours"
        )
    })?;
    let info = &engine.info;
    let named = Some(info.tensors.clone()).filter(|ids| *ids != TensorIds::default());
    let outputs = shape.results();
    let ids = named.or_else(|| TensorIds::derived(info.output.decoder, &outputs)).unwrap_or_default();
    let ids = if gst_tensor::is_announced() { ids } else { ids.of_1_26() };
    let plain = caps::without_tensors(&incoming.to_owned());
    let mut caps = gst_tensor::candidates(&plain, &ids, &outputs, &engine.outputs);
    caps.push(plain);
    Ok(Offer { functions, ids, caps })
}

/// Why no caps of the offer fit the elements downstream.
fn unfit(offer: &Offer, downstream: &gst::CapsRef, outputs: &[TensorDesc]) -> String {
    let Some(plain) = offer.caps.last().filter(|_| gst_tensor::asks_for_tensors(downstream)) else {
        return offer.caps.last().map_or_else(String::new, |plain| caps::misfit(plain, downstream));
    };
    let wanted = gst_tensor::without_announcement(&downstream.to_owned());
    if !plain.can_intersect(&wanted) {
        return caps::misfit(plain, &wanted);
    }
    let outputs: Vec<_> = outputs.iter().map(ToString::to_string).collect();
    match &offer.ids.group {
        None => "the element downstream asks for tensors by their identifiers, but nothing says which the model's outputs have. Write \
                 [tensors] with group and ids into the model's sidecar, or put a .modelinfo beside it"
            .into(),
        Some(group) => format!(
            "the element downstream asks for other tensors than the model's, which are group '{group}' of {}. Set a model that it decodes, \
             or change [tensors] of the sidecar",
            outputs.join(", ")
        ),
    }
}
