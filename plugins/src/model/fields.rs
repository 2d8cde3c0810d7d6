//! The image input of a model as fields of caps.

use cudainfer_kernels::tensor::TensorType;
use cudainfer_kernels::words::Words as _;
use gst::prelude::*;

use super::{ImageInput, MAX_SIZE, ModelInfo};
use crate::caps::{BARS_MODULO, ROI_ALIGN, ROI_ALIGN_POINTS, ROI_FROM, ROI_REGION, ROI_TRACK, SIZE_MULTIPLE};

/// As [`required`], in the other types, which are converted.
pub(crate) fn convertible(input: &ImageInput) -> impl Iterator<Item = gst::Structure> {
    let others = TensorType::ALL.iter().filter(|ty| **ty != input.ty && input.takes(**ty));
    others.map(|ty| {
        let mut structure = required(input);
        structure.set("tensor-type", ty.name());
        structure
    })
}

/// The caps fields that an input tensor must have.
pub(crate) fn required(input: &ImageInput) -> gst::Structure {
    let mut s = gst::Structure::builder("required")
        .field("tensor-name", input.name.as_str())
        .field("tensor-type", input.ty.name())
        .field("tensor-layout", input.layout.word())
        .field("tensor-channels", i32::try_from(input.channels).unwrap_or(3))
        .build();
    for (field, size) in [("tensor-width", input.width), ("tensor-height", input.height)] {
        match size {
            Some(size) => s.set(field, i32::try_from(size).unwrap_or(i32::MAX)),
            None => s.set(field, gst::IntRange::new(1, i32::try_from(MAX_SIZE).unwrap_or(i32::MAX))),
        }
    }
    s
}

/// The same with the sidecar's values, which fusedpreproc uses where its own properties are not set.
pub(crate) fn preferred(image: &ImageInput, info: &ModelInfo) -> gst::Structure {
    let mut s = required(image);
    let input = &info.input;
    let sizes = [("tensor-width", image.width, input.width), ("tensor-height", image.height, input.height)];
    for (field, fixed, wish) in sizes {
        if let (None, Some(wish)) = (fixed, wish.and_then(|v| i32::try_from(v).ok())) {
            s.set(field, wish);
        }
    }
    let mut set = |field: &str, value: Option<glib::SendValue>| {
        if let Some(value) = value {
            s.set_value(field, value);
        }
    };
    let floats = |v: &Option<Vec<f32>>| {
        v.as_ref().map(|v| gst::Array::new(v.iter().map(|x| f64::from(*x))).to_send_value())
    };
    let modulo = input.bars_modulo.filter(|_| image.width.is_none() && image.height.is_none());
    set(SIZE_MULTIPLE, input.size_multiple.map(|v| i32::try_from(v).unwrap_or(i32::MAX).to_send_value()));
    set(BARS_MODULO, modulo.map(|v| i32::try_from(v).unwrap_or(i32::MAX).to_send_value()));
    set("tensor-order", input.channels.map(|v| v.word().to_send_value()));
    set("tensor-resize", input.resize.map(|v| v.word().to_send_value()));
    set("tensor-crop-ratio", input.crop_ratio.map(|v| v.to_send_value()));
    set("tensor-interpolation", input.interpolation.map(|v| v.word().to_send_value()));
    set("tensor-padding", input.padding.map(|v| i32::from(v).to_send_value()));
    set("tensor-scale", input.scale.map(|v| f64::from(v).to_send_value()));
    set("tensor-mean", floats(&input.mean));
    set("tensor-std", floats(&input.std));
    set("tensor-quant-scale", input.quant_scale.map(|v| f64::from(v).to_send_value()));
    set("tensor-roi-padding", input.roi_padding.map(|v| f64::from(v).to_send_value()));
    set("tensor-roi-size", input.roi_size.map(|v| i32::try_from(v).unwrap_or(i32::MAX).to_send_value()));
    set("tensor-roi-crop", input.roi_crop.map(|v| v.word().to_send_value()));
    set(ROI_FROM, input.roi_from.map(|v| v.word().to_send_value()));
    set(ROI_REGION, info.region.as_ref().map(|v| v.to_text().to_send_value()));
    set(ROI_TRACK, info.track.as_ref().map(|v| v.to_text().to_send_value()));
    set(
        ROI_ALIGN,
        input.align.as_ref().map(|all| gst::Array::new(all.iter().flatten().copied()).to_send_value()),
    );
    set(ROI_ALIGN_POINTS, input.align_points.as_ref().map(|all| gst::Array::new(all).to_send_value()));
    set("tensor-zero-point", input.zero_point.map(|v| v.to_send_value()));
    s
}
