//! The element: it checks the model, and puts what [`Grid`] finds on the frames. The base class does the rest.

use std::sync::LazyLock;

use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;
use gstcudainfer::caps;
use gstcudainfer::decoding::{Counts, Decode, DecodingElement, DecodingElementImpl, Incoming, Reading, Side};
use gstcudainfer::meta::object::{DetectionParam, Object, objects};
use gstcudainfer::meta::tensor::TensorSet;
use gstcudainfer::model::ModelInfo;

use crate::grid::Grid;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("yolov2rs", gst::DebugColorFlags::empty(), Some("objects of YOLOv2"))
});

#[derive(Default)]
pub struct Yolov2;

#[glib::object_subclass]
impl ObjectSubclass for Yolov2 {
    const NAME: &'static str = "ExampleYolov2Rust";
    type Type = super::Yolov2;
    type ParentType = DecodingElement;
}

impl ObjectImpl for Yolov2 {}
impl GstObjectImpl for Yolov2 {}

impl ElementImpl for Yolov2 {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "YOLOv2 decoder",
                "Filter/Analyzer/Video",
                "Finds objects in the outputs of YOLOv2 networks",
                "You",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> =
            LazyLock::new(|| caps::pad_templates(&caps::sink_template(), &caps::any_video()));
        &TEMPLATES
    }
}

impl BaseTransformImpl for Yolov2 {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;
}

impl DecodingElementImpl for Yolov2 {
    const COUNTS: &'static [&'static str] = &["detections", "non-finite"];
    const NON_FINITE: &'static str = "boxes of this frame";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let grid = Grid::new(&incoming.model.outputs, incoming.model.input)?;
        let confidence = incoming.info.output.confidence.unwrap_or(0.3);
        let frame = caps::frame_size(incoming.caps).map(|side| side as f32);
        Ok(Box::new(Decoder { grid, confidence, frame, info: incoming.info.clone() }))
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        Reading::of(incoming, incoming.info, "boxes of YOLOv2")
    }
}

/// Decodes the frames of one model, in caps that do not change.
struct Decoder {
    grid: Grid,
    confidence: f32,
    /// Width and height.
    frame: [f32; 2],
    info: ModelInfo,
}

impl Decode for Decoder {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        _side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        for set in sets {
            let tensor = set.tensors.first().ok_or("the frame has no tensor")?;
            // Tensors on the GPU are downloaded here. `side` is for decoders that have a kernel for them.
            let mapped = tensor.map().map_err(|e| e.to_string())?;
            let view = mapped.view().map_err(|e| e.to_string())?;
            let (boxes, non_finite) = self.grid.boxes(&view.to_f32(), self.confidence);
            counts.add("detections", boxes.len());
            counts.add("non-finite", non_finite);
            for (id, found) in (objects(frame).len()..).zip(boxes) {
                let [width, height] = self.frame;
                let rect = set.to_frame.rect(&found.rect).clamped(width, height);
                let object = Object {
                    id: i32::try_from(id).unwrap_or(i32::MAX),
                    label: self.info.label(found.class),
                    detection: Some(DetectionParam {
                        rect,
                        confidence: found.confidence,
                        label_id: found.class,
                    }),
                    ..Object::default()
                };
                object.put(frame, &rect);
            }
        }
        Ok(())
    }
}
