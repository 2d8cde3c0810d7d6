//! Tensors on the frames, compared bit by bit with those that the kernels make of the same frames.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::frame::{Frame, FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::preproc::{
    ChannelOrder, Interpolation, Layout, Padding, Preproc, PreprocParams, Resize,
};
use cudainfer_kernels::tensor::TensorType;
use cudainfer_tests::{TestPipeline, buffers, model, scratch};
use gstcudainfer::meta::tensor::TensorSet;

/// The bytes of a frame's tensor called `name`.
fn bytes(frame: &gst::BufferRef, name: &str) -> Vec<u8> {
    let [set] = &TensorSet::of(frame).expect("the frame carries no tensors")[..] else { panic!("one set") };
    let tensor = set.tensors.iter().find(|t| t.desc.name == name).expect("no such tensor");
    tensor.data.map_readable().unwrap().to_vec()
}

/// The tensor that the kernels make of a frame without padding.
fn reference(frame: &gst::BufferRef, format: FrameFormat, params: PreprocParams) -> (Vec<u8>, Preproc) {
    let map = frame.map_readable().unwrap();
    let mut rest = map.as_slice();
    let mut planes = Vec::new();
    for plane in 0..format.pixels.planes() {
        // GStreamer rounds strides up to 4 bytes and rows of subsampled formats up to 2; the sizes here are such multiples.
        let stride = format.pixels.row_bytes(plane, format.width);
        let (now, later) = rest.split_at(stride * format.pixels.rows(plane, format.height));
        planes.push((now, stride));
        rest = later;
    }
    assert!(rest.is_empty(), "{} bytes are left over", rest.len());
    let mut preproc = Preproc::new(format, params).unwrap();
    let mut tensor = vec![0; preproc.bytes()];
    preproc.run(&Frame::new(&format, &planes).unwrap(), &mut tensor).unwrap();
    (tensor, preproc)
}

#[test]
fn the_tensor_that_reaches_the_model_is_the_kernels_of_that_frame() {
    let plain = PreprocParams { width: 24, height: 16, ..PreprocParams::default() };
    let whole = PreprocParams { scale: 1.0, ..plain.clone() };
    let models = [
        ("identity-f32-nchw", plain.clone()),
        ("identity-f16-nchw", PreprocParams { ty: TensorType::Float16, ..plain.clone() }),
        ("identity-f32-nhwc", PreprocParams { layout: Layout::Nhwc, ..plain.clone() }),
        ("identity-u8-nhwc", PreprocParams { layout: Layout::Nhwc, ty: TensorType::UInt8, ..whole.clone() }),
        (
            "identity-i8",
            PreprocParams { ty: TensorType::Int8, quant_scale: 2.0, zero_point: -100, ..whole.clone() },
        ),
        ("identity-unbatched", plain.clone()),
        (
            "identity-unbatched-nhwc",
            PreprocParams { layout: Layout::Nhwc, ty: TensorType::UInt8, ..whole.clone() },
        ),
        ("identity-gray", PreprocParams { channels: ChannelOrder::Gray, ..plain }),
        (
            "identity-stretch-bgr",
            PreprocParams {
                channels: ChannelOrder::Bgr,
                resize: Resize::Stretch,
                mean: [10.0, 20.0, 30.0],
                std: [2.0, 4.0, 8.0],
                ..whole
            },
        ),
    ];
    let (bt601, bt709) = (Matrix::Bt601, Matrix::Bt709);
    let formats = [
        ("NV12", "bt601", PixelFormat::Nv12, bt601, Range::Limited),
        ("I420", "bt709", PixelFormat::I420, bt709, Range::Limited),
        ("YUY2", "1:4:0:0", PixelFormat::Yuy2, bt601, Range::Full),
        ("P010_10LE", "bt2020", PixelFormat::P010Le, Matrix::Bt2020, Range::Limited),
        ("BGRx", "sRGB", PixelFormat::Bgrx, bt601, Range::Full),
        ("RGB", "sRGB", PixelFormat::Rgb, bt601, Range::Full),
    ];
    for (name, params) in &models {
        for (text, colorimetry, pixels, matrix, range) in formats {
            let frames = buffers(&format!(
                "videotestsrc num-buffers=2 pattern=gradient \
                 ! video/x-raw,format={text},width=64,height=36,colorimetry={colorimetry} \
                 ! fusedpreproc ! trtinfer model={} ! fakesink name=out",
                model(name)
            ));
            assert_eq!(frames.len(), 2);
            let format = FrameFormat { pixels, width: 64, height: 36, matrix, range };
            let (wanted, preproc) = reference(&frames[1], format, params.clone());
            assert!(wanted.iter().any(|b| *b != wanted[0]), "the picture is flat");
            assert!(bytes(&frames[1], "copy") == wanted, "{name}, {text}: the tensors differ");
            let set = &TensorSet::of(&frames[1]).unwrap()[0];
            assert_eq!((set.input, set.to_frame), ([24, 16], preproc.affine()), "{name}");
        }
    }
}

#[test]
fn padded_rows_are_read_by_their_stride() {
    // 33x17 in I420: rows of 33 bytes lie 36 apart, those of the chroma 17 lie 20 apart.
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 pattern=gradient ! video/x-raw,format=I420,width=33,height=17,colorimetry=bt601 \
         ! fusedpreproc ! trtinfer model={} ! fakesink name=out",
        model("identity-f32-nchw")
    ));
    let map = frames[0].map_readable().unwrap();
    let planes = [(&map[..36 * 18], 36), (&map[36 * 18..][..20 * 9], 20), (&map[36 * 18 + 20 * 9..], 20)];
    let format = FrameFormat {
        pixels: PixelFormat::I420,
        width: 33,
        height: 17,
        matrix: Matrix::Bt601,
        range: Range::Limited,
    };
    let params = PreprocParams { width: 24, height: 16, ..PreprocParams::default() };
    let mut preproc = Preproc::new(format, params).unwrap();
    let mut wanted = vec![0; preproc.bytes()];
    preproc.run(&Frame::new(&format, &planes).unwrap(), &mut wanted).unwrap();
    assert!(bytes(&frames[0], "copy") == wanted);
}

#[test]
fn properties_win_over_the_sidecars_wishes() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 pattern=gradient ! video/x-raw,format=RGB,width=64,height=36 \
         ! fusedpreproc resize=letterbox channels=rgb scale=0.5 mean=\"<1.0>\" std=\"<2.0,4.0,8.0>\" padding=7 \
           interpolation=nearest \
         ! trtinfer model={} ! fakesink name=out",
        model("identity-stretch-bgr")
    ));
    let format = FrameFormat {
        pixels: PixelFormat::Rgb,
        width: 64,
        height: 36,
        matrix: Matrix::Bt601,
        range: Range::Full,
    };
    let params = PreprocParams {
        width: 24,
        height: 16,
        interpolation: Interpolation::Nearest,
        scale: 0.5,
        mean: [1.0; 3],
        std: [2.0, 4.0, 8.0],
        padding: Padding::Pixel(7),
        ..PreprocParams::default()
    };
    assert!(bytes(&frames[0], "copy") == reference(&frames[0], format, params).0);
}

#[test]
fn bars_of_the_mean_are_0_by_a_property_and_by_the_sidecar() {
    let folder = scratch("mean-padding");
    let named = folder.join("model.onnx");
    std::fs::copy(model("identity-f32-nchw"), &named).unwrap();
    std::fs::write(folder.join("model.toml"), "[input]\npadding = \"mean\"\n").unwrap();
    for (property, model) in [("padding=-1", model("identity-f32-nchw")), ("", named.display().to_string())] {
        let frames = buffers(&format!(
            "videotestsrc num-buffers=1 pattern=white ! video/x-raw,format=RGB,width=48,height=16 \
             ! fusedpreproc resize=letterbox mean=\"<0.485,0.456,0.406>\" std=\"<0.229,0.224,0.225>\" {property} \
             ! trtinfer model={model} ! fakesink name=out"
        ));
        let copy = bytes(&frames[0], "copy");
        let values = copy.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
        // Half of the rows are white, and the others bars.
        let (bars, white): (Vec<f32>, Vec<f32>) = values.partition(|value| value.abs() < 1e-6);
        assert_eq!((bars.len(), white.len()), (3 * 24 * 8, 3 * 24 * 8), "{property}");
    }
}

#[test]
fn filters_crops_and_letterboxes_of_the_libraries_are_properties() {
    let pipeline_of = |properties: &str| {
        buffers(&format!(
            "videotestsrc num-buffers=1 pattern=gradient ! video/x-raw,format=RGB,width=64,height=36 \
             ! fusedpreproc {properties} ! trtinfer model={} ! fakesink name=out",
            model("identity-f32-nchw")
        ))
    };
    let format = FrameFormat {
        pixels: PixelFormat::Rgb,
        width: 64,
        height: 36,
        matrix: Matrix::Bt601,
        range: Range::Full,
    };
    let plain = PreprocParams { width: 24, height: 16, ..PreprocParams::default() };
    let crop = PreprocParams { resize: Resize::CenterCrop, crop_ratio: 0.875, ..plain.clone() };
    for (properties, params) in [
        ("resize=center-crop crop-ratio=0.875", crop.clone()),
        (
            "resize=center-crop crop-ratio=0.875 interpolation=pil-bicubic",
            PreprocParams { interpolation: Interpolation::PilBicubic, ..crop },
        ),
        (
            "interpolation=pil-bilinear",
            PreprocParams { interpolation: Interpolation::PilBilinear, ..plain.clone() },
        ),
        ("resize=letterbox-top-left", PreprocParams { resize: Resize::LetterboxTopLeft, ..plain }),
    ] {
        let frames = pipeline_of(properties);
        let (wanted, preproc) = reference(&frames[0], format, params);
        assert!(bytes(&frames[0], "copy") == wanted, "{properties}");
        assert_eq!(TensorSet::of(&frames[0]).unwrap()[0].to_frame, preproc.affine(), "{properties}");
    }
    let map = TensorSet::of(&pipeline_of("resize=center-crop crop-ratio=0.5")[0]).unwrap()[0].to_frame;
    // timm resizes to cover 48x32: 57x32 (56.9), and cuts 16 (16.5 to even) and 8.
    assert_eq!((map.scale, map.offset), ([64.0 / 57.0, 36.0 / 32.0], [16.0 * 64.0 / 57.0, 9.0]));
}

#[test]
fn inputs_beside_the_image_get_the_sidecars_value_and_outputs_keep_their_types() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 pattern=red ! video/x-raw,format=RGB,width=66,height=44 \
         ! fusedpreproc ! trtinfer model={} ! fakesink name=out",
        model("two-inputs")
    ));
    let size: Vec<i64> = bytes(&frames[0], "size_again")
        .chunks(8)
        .map(|c| i64::from_ne_bytes(c.try_into().unwrap()))
        .collect();
    assert_eq!(size, [44, 66], "frame-height-width");
    let mean: Vec<f32> =
        bytes(&frames[0], "mean").chunks(4).map(|c| f32::from_ne_bytes(c.try_into().unwrap())).collect();
    // 66x44 fits 24x16 without bars: pure red.
    assert!(mean.iter().zip([1.0, 0.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{mean:?}");
    let half = bytes(&frames[0], "half");
    assert_eq!(half.len(), 3 * 16 * 24 * 2);
    assert_eq!(half::f16::from_ne_bytes([half[0], half[1]]), half::f16::ONE);
    let set = &TensorSet::of(&frames[0]).unwrap()[0];
    let described: Vec<_> = set.tensors.iter().map(|t| t.desc.to_string()).collect();
    assert_eq!(described, ["mean:float32:1x3", "size_again:int64:1x2", "half:float16:1x3x16x24"]);
}

/// Address and content of a frame's memory.
fn memory(frame: &gst::BufferRef) -> (usize, Vec<u8>) {
    let map = frame.map_readable().unwrap();
    (map.as_ptr().addr(), map.to_vec())
}

#[test]
fn frames_go_through_without_a_copy_and_without_a_change() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 pattern=red ! video/x-raw,format=NV12,width=64,height=48 ! cudainferupload ! identity name=before \
         ! fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! inferpublish location=/dev/null ! fakesink name=out",
        model("detector")
    ));
    let seen = ["before", "out"].map(|name| {
        let all = Arc::new(Mutex::new(Vec::new()));
        let into = all.clone();
        pipeline.watch(name, move |buffer, _| into.lock().unwrap().push((buffer.pts(), memory(buffer))));
        all
    });
    pipeline.play();
    pipeline.wait().succeeds();
    let [before, after] = seen.map(|all| std::mem::take(&mut *all.lock().unwrap()));
    assert_eq!(before.len(), 10);
    assert!(before == after, "frames were copied, changed, lost or reordered");
}
