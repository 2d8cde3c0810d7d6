use std::sync::LazyLock;

use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use crate::caps::pad_templates;
use crate::log::CUDAINFERUPLOAD as CAT;
use crate::memory::caps;
use crate::transfer::{Memory, TransferElement, TransferElementImpl};

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
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "CUDA uploader for inference",
                "Filter/Video/Hardware",
                "Copies frames to CUDA memory and keeps their metadata; without a GPU, frames pass through",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let (system, cuda) = (caps::any_system(), caps::any_cuda());
            let (mut sink, mut src) = (system.clone(), cuda.clone());
            sink.merge(cuda);
            src.merge(system);
            pad_templates(&sink, &src)
        });
        &TEMPLATES
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
