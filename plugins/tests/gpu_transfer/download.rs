//! `cudainferdownload`: content, metadata, waits.

use gst_video::{VideoFormat, VideoInfo};
use gstcudainfer::memory::{caps, is_cuda_memory};
use gstcudainfer::meta::tensor::TensorSet;

use super::*;

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_comes_down_as_it_went_up() {
    for format in caps::CUDA_FORMATS {
        for size in SIZES.into_iter().filter(|size| holds(format, *size)) {
            let path = "cudainferupload device=cuda name=up ! video/x-raw(memory:CUDAMemory) \
                        ! cudainferdownload device=cuda name=down";
            let mut frames = 0;
            let pipeline = run(&source(format, size, 6), path, |sample, original| {
                assert!(!caps::in_cuda(sample.caps().unwrap()));
                let [got, wanted] = [sample, original].map(|s| pixels(s.buffer().unwrap(), &info_of(s)));
                assert!(got == wanted, "{format} {size:?} frame {frames}");
                let [got, wanted] = [sample, original].map(|s| s.buffer().unwrap());
                assert_eq!((got.pts(), got.duration()), (wanted.pts(), wanted.duration()));
                frames += 1;
            });
            assert_eq!(frames, 6);
            assert_eq!((count(&pipeline, "up", "frames"), count(&pipeline, "down", "frames")), (6, 6));
            assert_eq!(count(&pipeline, "down", "host-waits"), 6);
        }
    }
}

/// An element between two pads of a test, with caps in CUDA memory before it and in system memory after it.
fn harness_down(info: &VideoInfo) -> (gst_check::Harness, gst_check::Harness) {
    init();
    let element = |name: &str| gst::ElementFactory::make(name).property("device", "cuda").build().unwrap();
    let mut up = gst_check::Harness::with_element(&element("cudainferupload"), Some("sink"), Some("src"));
    up.set_sink_caps(caps::to_cuda(&info.to_caps().unwrap()));
    up.set_src_caps(info.to_caps().unwrap());
    let mut down = gst_check::Harness::with_element(&element("cudainferdownload"), Some("sink"), Some("src"));
    down.set_sink_caps(info.to_caps().unwrap());
    down.set_src_caps(caps::to_cuda(&info.to_caps().unwrap()));
    (up, down)
}

#[test]
#[ignore = "needs a CUDA device"]
fn all_metadata_goes_up_and_down_with_the_frame() {
    init();
    if !gst::meta::CustomMeta::is_registered("TestCustomMeta") {
        gst::meta::CustomMeta::register_simple("TestCustomMeta");
    }
    let info = VideoInfo::builder(VideoFormat::Nv12, 65, 17).fps(gst::Fraction::new(25, 1)).build().unwrap();
    let (mut up, mut down) = harness_down(&info);
    let mut buffer = gst::Buffer::from_mut_slice(vec![7u8; info.size()]);
    {
        let buffer = buffer.get_mut().unwrap();
        buffer.set_pts(gst::ClockTime::from_mseconds(40));
        buffer.set_dts(gst::ClockTime::from_mseconds(39));
        buffer.set_duration(gst::ClockTime::from_mseconds(41));
        buffer.set_offset(7);
        buffer.set_offset_end(8);
        buffer.set_flags(gst::BufferFlags::MARKER | gst::BufferFlags::DISCONT);
        let mut roi = gst_video::VideoRegionOfInterestMeta::add(buffer, "person", (1, 2, 3, 4));
        roi.add_param(gst::Structure::builder("detection").field("confidence", 0.5f64).build());
        roi.add_param(gst::Structure::builder("tracking").field("id", 9u64).build());
        gst_video::VideoRegionOfInterestMeta::add(buffer, "dog", (5, 6, 7, 8));
        let mut custom = gst::meta::CustomMeta::add(buffer, "TestCustomMeta").unwrap();
        custom.mut_structure().set("x", 3i32);
        let reference = gst::Caps::builder("timestamp/x-test").build();
        gst::ReferenceTimestampMeta::add(
            buffer,
            &reference,
            gst::ClockTime::from_seconds(5),
            gst::ClockTime::NONE,
        );
        let tensors = TensorSet {
            tensors: Vec::new(),
            input: [640, 384],
            batch: None,
            object: None,
            region: None,
            held: false,
            to_frame: cudainfer_kernels::geometry::Affine::upright([2.0, 3.0], [4.0, 5.0]),
        };
        TensorSet::put(&[tensors], buffer);
    }
    let on_gpu = up.push_and_pull(buffer).unwrap();
    assert!(is_cuda_memory(on_gpu.peek_memory(0)));
    let out = down.push_and_pull(on_gpu).unwrap();

    assert!(!is_cuda_memory(out.peek_memory(0)));
    assert!(pixels(&out, &info).iter().flatten().all(|byte| *byte == 7));
    assert_eq!(out.pts(), Some(gst::ClockTime::from_mseconds(40)));
    assert_eq!(out.dts(), Some(gst::ClockTime::from_mseconds(39)));
    assert_eq!(out.duration(), Some(gst::ClockTime::from_mseconds(41)));
    assert_eq!((out.offset(), out.offset_end()), (7, 8));
    assert!(out.flags().contains(gst::BufferFlags::MARKER | gst::BufferFlags::DISCONT));
    let rois: Vec<_> = out
        .iter_meta::<gst_video::VideoRegionOfInterestMeta>()
        .map(|roi| (roi.roi_type().to_owned(), roi.rect(), roi.params().count()))
        .collect();
    assert_eq!(rois, [("person".to_owned(), (1, 2, 3, 4), 2), ("dog".to_owned(), (5, 6, 7, 8), 0)]);
    let roi = out.meta::<gst_video::VideoRegionOfInterestMeta>().unwrap();
    assert_eq!(roi.param("detection").unwrap().get::<f64>("confidence"), Ok(0.5));
    assert_eq!(roi.param("tracking").unwrap().get::<u64>("id"), Ok(9));
    let custom = gst::meta::CustomMeta::from_buffer(&out, "TestCustomMeta").unwrap();
    assert_eq!(custom.structure().get::<i32>("x"), Ok(3));
    assert!(out.meta::<gst::ReferenceTimestampMeta>().is_some());
    let tensors = &TensorSet::of(&out).unwrap()[0];
    assert_eq!((tensors.input, tensors.to_frame.scale), ([640, 384], [2.0, 3.0]));
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_go_through_where_they_are_in_system_memory_or_nobody_wants_them_there() {
    let path = "cudainferdownload device=cuda name=down";
    let pipeline = run(&source(VideoFormat::Nv12, (64, 48), 3), path, |sample, _| {
        assert!(!caps::in_cuda(sample.caps().unwrap()));
    });
    assert_eq!(count(&pipeline, "down", "frames"), 0);
    let path = "cudainferupload ! cudainferdownload name=down ! video/x-raw(memory:CUDAMemory)";
    let pipeline = run(&source(VideoFormat::Nv12, (64, 48), 3), path, |sample, _| {
        assert!(is_cuda_memory(sample.buffer().unwrap().peek_memory(0)));
    });
    assert_eq!(count(&pipeline, "down", "frames"), 0);
}

#[test]
#[ignore = "needs a CUDA device"]
fn planes_outside_of_cuda_memory_are_an_error_that_is_counted() {
    let info = VideoInfo::builder(VideoFormat::Nv12, 64, 48).fps(gst::Fraction::new(25, 1)).build().unwrap();
    let stream = stream();
    for (plane, offset, stride, part) in [
        (0, 0, 1 << 20, "plane 0 outside of the frame's memory"),
        (1, 1 << 30, 64, "plane 1 outside of the frame's memory"),
        (1, usize::MAX, 64, "plane 1 outside of the frame's memory"),
        (0, 0, -256, "a stride of -256 bytes"),
        (0, 0, 32, "a stride of 32 bytes"),
    ] {
        let (mut up, mut down) = harness_down(&info);
        let mut on_gpu = up.push_and_pull(gst::Buffer::with_size(info.size()).unwrap()).unwrap();
        // SAFETY: the meta is this buffer's, which nobody else reads meanwhile.
        unsafe {
            let meta = gst_video::ffi::gst_buffer_get_video_meta(on_gpu.make_mut().as_mut_ptr());
            (*meta).offset[plane] = offset;
            (*meta).stride[plane] = stride;
        }
        let error = MappedCudaFrame::read(&on_gpu, &info, &stream).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert_eq!(down.push(on_gpu), Err(gst::FlowError::Error), "{part}");
        let stats = down.element().unwrap().property::<gst::Structure>("stats");
        assert_eq!((stats.get::<u64>("frames"), stats.get::<u64>("failed")), (Ok(1), Ok(1)));
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn caps_may_change_in_mid_stream() {
    init();
    let nv12 = VideoInfo::builder(VideoFormat::Nv12, 64, 48).build().unwrap();
    let (mut up, mut down) = harness_down(&nv12);
    for (value, format, width) in
        [(1u8, VideoFormat::Nv12, 64), (2, VideoFormat::Rgba, 33), (3, VideoFormat::I420, 1921)]
    {
        let info = VideoInfo::builder(format, width, 16).build().unwrap();
        let (system, cuda) = (info.to_caps().unwrap(), caps::to_cuda(&info.to_caps().unwrap()));
        up.set_sink_caps(cuda.clone());
        up.set_src_caps(system.clone());
        down.set_sink_caps(system);
        down.set_src_caps(cuda);
        let out = up.push_and_pull(gst::Buffer::from_mut_slice(vec![value; info.size()])).unwrap();
        let out = down.push_and_pull(out).unwrap();
        assert!(pixels(&out, &info).iter().flatten().all(|byte| *byte == value), "{format}");
    }
}
