use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use crate::element::described;
use crate::log::CUDAINFERDOWNLOAD as CAT;
use crate::transfer::{self, Memory, TransferElement, TransferElementImpl};

#[derive(Default)]
pub struct CudaDownload;

#[glib::object_subclass]
impl ObjectSubclass for CudaDownload {
    // "GstCudaDownload" is upstream's.
    const NAME: &'static str = "GstCudaInferDownload";
    type Type = super::CudaDownload;
    type ParentType = TransferElement;
}

impl ObjectImpl for CudaDownload {}

impl GstObjectImpl for CudaDownload {}

impl ElementImpl for CudaDownload {
    described! {
        "CUDA downloader for inference",
        "Filter/Video/Hardware",
        "Copies frames from CUDA memory to system memory and keeps their metadata; other frames pass through",
        sink: transfer::template(Memory::Cuda),
        src: transfer::template(Memory::System),
    }
}

impl BaseTransformImpl for CudaDownload {
    const MODE: BaseTransformMode = BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;
}

impl TransferElementImpl for CudaDownload {
    const TO: Memory = Memory::System;

    fn category() -> gst::DebugCategory {
        *CAT
    }
}
