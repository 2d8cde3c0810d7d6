use std::sync::LazyLock;

use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use crate::caps::pad_templates;
use crate::log::CUDAINFERDOWNLOAD as CAT;
use crate::memory::caps;
use crate::transfer::{Memory, TransferElement, TransferElementImpl};

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
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "CUDA downloader for inference",
                "Filter/Video/Hardware",
                "Copies frames from CUDA memory to system memory and keeps their metadata; other frames pass through",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let (system, cuda) = (caps::any_system(), caps::any_cuda());
            let (mut sink, mut src) = (cuda.clone(), system.clone());
            sink.merge(system);
            src.merge(cuda);
            pad_templates(&sink, &src)
        });
        &TEMPLATES
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
