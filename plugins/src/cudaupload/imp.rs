use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use crate::element::described;
use crate::log::CUDAINFERUPLOAD as CAT;
use crate::transfer::{self, Memory, TransferElement, TransferElementImpl};

#[derive(Default)]
pub struct CudaUpload;

#[glib::object_subclass]
impl ObjectSubclass for CudaUpload {
    // "GstCudaUpload" is upstream's.
    const NAME: &'static str = "GstCudaInferUpload";
    type Type = super::CudaUpload;
    type ParentType = TransferElement;
}

impl ObjectImpl for CudaUpload {}

impl GstObjectImpl for CudaUpload {}

impl ElementImpl for CudaUpload {
    described! {
        "CUDA uploader for inference",
        "Filter/Video/Hardware",
        "Copies frames to CUDA memory and keeps their metadata; without a GPU, frames pass through",
        sink: transfer::template(Memory::System),
        src: transfer::template(Memory::Cuda),
    }
}

impl BaseTransformImpl for CudaUpload {
    const MODE: BaseTransformMode = BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;
}

impl TransferElementImpl for CudaUpload {
    const TO: Memory = Memory::Cuda;

    fn category() -> gst::DebugCategory {
        *CAT
    }
}
