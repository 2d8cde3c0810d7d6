//! Frames whose caps announce no tensors, and that may carry those of another element as GStreamer's own metadata. What the
//! tensors are shows on the frames themselves.

use crate::caps;
use crate::meta::gst_tensor::{self, Foreign};
use crate::meta::tensor::TensorSet;
use crate::model::ModelInfo;
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::tensor::TensorDesc;

/// The state for such frames.
#[derive(Default)]
pub(super) struct PlainFrames {
    incoming: Option<gst::Caps>,
    outgoing: Option<gst::Caps>,
    info: ModelInfo,
    /// The tensors that the latest frames had; sizes that have changed are open.
    outputs: Vec<TensorDesc>,
    /// The caps that trtinfer would have given these frames.
    described: Option<gst::Caps>,
    /// Whether it was reported that tensors are ignored.
    warned: bool,
}

impl PlainFrames {
    /// Such frames come from now on.
    pub fn begin(&mut self, incoming: &gst::Caps, outgoing: &gst::Caps, info: ModelInfo) {
        self.incoming = Some(incoming.clone());
        self.outgoing = Some(outgoing.clone());
        self.info = info;
        self.described = None;
    }

    /// Frames with this plugin's tensors come, or none.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    /// Their caps, those of the frames that go on, and what is known of the model.
    pub fn negotiated(&self) -> (Option<gst::Caps>, Option<gst::Caps>, ModelInfo) {
        (self.incoming.clone(), self.outgoing.clone(), self.info.clone())
    }

    /// Whether it has not been reported yet that tensors are ignored; it counts as reported from now on.
    pub fn warns(&mut self) -> bool {
        !std::mem::replace(&mut self.warned, true)
    }

    /// Whether such frames come.
    pub fn come(&self) -> bool {
        self.incoming.is_some()
    }

    /// The caps that trtinfer would have given these frames, once that is known.
    pub fn described(&self) -> Option<gst::Caps> {
        self.described.clone()
    }

    /// The tensors of a frame, and why others of it are not read; `None` where it carries none.
    pub fn tensors(&self, frame: &gst::BufferRef) -> Option<(Vec<TensorSet>, Vec<String>)> {
        if let Some(ours) = TensorSet::of(frame) {
            return Some((ours, vec![]));
        }
        let Foreign { mut tensors, ignored } = gst_tensor::foreign(frame)?;
        for tensor in &mut tensors {
            tensor.desc.name = self.info.tensors.output(&tensor.desc.name).to_owned();
        }
        let set = TensorSet {
            tensors,
            // The element that made them had the whole frame at its present size.
            input: self.incoming.as_ref().map_or([0; 2], |caps| caps::frame_size(caps)),
            to_frame: Affine { scale: [1.0; 2], skew: [0.0; 2], offset: [0.0; 2] },
            batch: None,
            object: None,
            region: None,
            held: false,
        };
        Some((if set.tensors.is_empty() { vec![] } else { vec![set] }, ignored))
    }

    /// Takes over the tensors of a frame; returns whether they need another decoder than before.
    pub fn follow(&mut self, set: &TensorSet) -> bool {
        let Some(incoming) = &self.incoming else { return false };
        let seen: Vec<_> = set.tensors.iter().map(|tensor| opened(&tensor.desc)).collect();
        let same = |(a, b): (&TensorDesc, &TensorDesc)| {
            (&a.name, a.ty, a.dims.len()) == (&b.name, b.ty, b.dims.len())
        };
        let outputs = if seen.len() == self.outputs.len() && seen.iter().zip(&self.outputs).all(same) {
            let merged = seen.iter().zip(&self.outputs).map(|(seen, known)| TensorDesc {
                dims: seen.dims.iter().zip(&known.dims).map(|(a, b)| a.filter(|_| a == b)).collect(),
                ..seen.clone()
            });
            merged.collect()
        } else {
            seen
        };
        if outputs == self.outputs && self.described.is_some() {
            return false;
        }
        let side = |pixels: usize| i32::try_from(pixels).unwrap_or(i32::MAX);
        let fields = gst::Structure::builder("outputs")
            .field(caps::OUTPUTS, caps::outputs_value(&outputs))
            .field("tensor-width", side(set.input[0]))
            .field("tensor-height", side(set.input[1]))
            .field(caps::RESIZE, "stretch")
            // How often the model was loaded is not known.
            .field_if_some(caps::MODEL, self.info.name().map(|name| format!("{name}#")))
            .build();
        self.outputs = outputs;
        self.described = Some(caps::with_fields(&caps::without_tensors(incoming), &fields));
        true
    }
}

/// The description, with sizes of 0 open: they may be anything.
fn opened(desc: &TensorDesc) -> TensorDesc {
    TensorDesc { dims: desc.dims.iter().map(|dim| dim.filter(|dim| *dim > 0)).collect(), ..desc.clone() }
}
