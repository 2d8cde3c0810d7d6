//! `cudainferupload`: content, metadata, contexts, states.

use cudainfer_kernels::device::Context;
use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use gstcudainfer::memory::{caps, is_cuda_memory};

use super::*;

#[test]
#[ignore = "needs a CUDA device"]
fn what_goes_up_comes_down_through_cudadownload() {
    for format in [VideoFormat::Nv12, VideoFormat::I420, VideoFormat::Rgba, VideoFormat::P01010le] {
        for size in SIZES {
            let path = "cudainferupload device=cuda name=upload ! cudadownload ! video/x-raw";
            let mut frames = 0;
            let pipeline = run(&source(format, size, 30), path, |sample, original| {
                assert!(!caps::in_cuda(sample.caps().unwrap()));
                let [got, wanted] = [sample, original].map(|s| pixels(s.buffer().unwrap(), &info_of(s)));
                assert!(got == wanted, "{format} {size:?} frame {frames}");
                frames += 1;
            });
            assert_eq!((frames, count(&pipeline, "upload", "frames")), (30, 30));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_lies_in_cuda_memory_with_every_byte_in_place() {
    init();
    let stream = stream();
    for format in caps::CUDA_FORMATS {
        for size in SIZES.into_iter().filter(|size| holds(format, *size)) {
            let path = "cudainferupload device=cuda name=upload ! video/x-raw(memory:CUDAMemory)";
            let pipeline = run(&source(format, size, 4), path, |sample, original| {
                let [buffer, wanted] = [sample, original].map(|s| s.buffer().unwrap());
                assert_eq!(buffer.n_memory(), 1);
                assert!(is_cuda_memory(buffer.peek_memory(0)));
                assert_eq!(buffer.peek_memory(0).allocator().unwrap().memory_type(), "gst.cuda.memory");
                assert!(buffer.meta::<gst_video::VideoMeta>().is_some());
                assert_eq!((buffer.pts(), buffer.duration()), (wanted.pts(), wanted.duration()));
                let got = device_pixels(&stream, buffer, &info_of(sample));
                assert!(got == pixels(wanted, &info_of(original)), "{format} {size:?} {:?}", buffer.pts());
            });
            assert_eq!(count(&pipeline, "upload", "frames"), 4);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn metadata_stays_and_padded_rows_go_up_without_their_padding() {
    init();
    let stream = stream();
    let element = gst::ElementFactory::make("cudainferupload").property("device", "cuda").build().unwrap();
    let mut harness = gst_check::Harness::with_element(&element, Some("sink"), Some("src"));
    let info = VideoInfo::builder(VideoFormat::Nv12, 5, 3).fps(gst::Fraction::new(25, 1)).build().unwrap();
    let cuda = caps::to_cuda(&info.to_caps().unwrap());
    harness.set_sink_caps(cuda);
    harness.set_src_caps(info.to_caps().unwrap());

    let (stride, offset) = (37usize, 37 * 4);
    let mut buffer = gst::Buffer::from_slice(
        (0..offset + 2 * stride).map(|i| u8::try_from(i).unwrap()).collect::<Vec<_>>(),
    );
    {
        let buffer = buffer.get_mut().unwrap();
        buffer.set_pts(gst::ClockTime::from_mseconds(40));
        buffer.set_duration(gst::ClockTime::from_mseconds(40));
        buffer.set_flags(gst::BufferFlags::MARKER);
        let mut roi = gst_video::VideoRegionOfInterestMeta::add(buffer, "person", (1, 0, 3, 2));
        roi.add_param(gst::Structure::builder("detection").field("confidence", 0.5f64).build());
        let strides = [i32::try_from(stride).unwrap(); 2];
        let none = gst_video::VideoFrameFlags::empty();
        gst_video::VideoMeta::add_full(buffer, none, VideoFormat::Nv12, 5, 3, &[0, offset], &strides)
            .unwrap();
    }
    let wanted = pixels(&buffer, &info);
    let out = harness.push_and_pull(buffer).unwrap();

    assert!(is_cuda_memory(out.peek_memory(0)));
    assert_eq!(device_pixels(&stream, &out, &info), wanted);
    assert_eq!(out.pts(), Some(gst::ClockTime::from_mseconds(40)));
    assert_eq!(out.duration(), Some(gst::ClockTime::from_mseconds(40)));
    assert!(out.flags().contains(gst::BufferFlags::MARKER));
    assert_eq!(out.iter_meta::<gst_video::VideoMeta>().count(), 1, "the source's strides must not stay");
    let roi = out.meta::<gst_video::VideoRegionOfInterestMeta>().unwrap();
    assert_eq!((roi.roi_type(), roi.rect()), ("person", (1, 0, 3, 2)));
    assert_eq!(roi.param("detection").unwrap().get::<f64>("confidence"), Ok(0.5));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_context_query_is_answered_in_null_and_always_with_the_same_context() {
    init();
    let ask = |element: &gst::Element, pad: &str| {
        let mut query = gst::query::Context::new("gst.cuda.context");
        assert!(element.static_pad(pad).unwrap().query(&mut query), "not answered on {pad}");
        query.context().unwrap().structure().get::<gst::Object>("gst.cuda.context").unwrap()
    };
    let [one, two] = [0, 1].map(|_| gst::ElementFactory::make("cudainferupload").build().unwrap());
    let context = ask(&one, "src");
    assert_eq!(context.type_().name(), "GstCudaContext");
    assert_eq!(ask(&one, "sink"), context);
    assert_eq!(ask(&two, "src"), context);
    one.set_state(gst::State::Ready).unwrap();
    assert_eq!(ask(&one, "src"), context);
    one.set_state(gst::State::Null).unwrap();

    let cpu = gst::ElementFactory::make("cudainferupload").property("device", "cpu").build().unwrap();
    let mut query = gst::query::Context::new("gst.cuda.context");
    assert!(!cpu.static_pad("src").unwrap().query(&mut query));
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_context_is_announced_on_the_bus() {
    init();
    // Among several GPUs, auto is decided at READY->PAUSED: a model of the stream chooses first.
    for (device, state) in [("cuda", gst::State::Ready), ("auto", gst::State::Paused)] {
        let pipeline = gst::Pipeline::new();
        let element =
            gst::ElementFactory::make("cudainferupload").property("device", device).build().unwrap();
        pipeline.add(&element).unwrap();
        pipeline.set_state(state).unwrap();
        let bus = pipeline.bus().unwrap();
        let message = bus.pop_filtered(&[gst::MessageType::HaveContext]).unwrap();
        let gst::MessageView::HaveContext(have) = message.view() else { panic!() };
        let context = have.context();
        assert_eq!(context.context_type(), "gst.cuda.context", "{device}");
        assert!(context.structure().get::<gst::Object>("gst.cuda.context").is_ok());
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_cuda_memory_cannot_hold_or_nobody_wants_there_stays_in_system_memory() {
    for (format, filter) in [(VideoFormat::Gray8, "video/x-raw(ANY)"), (VideoFormat::Nv12, "video/x-raw")] {
        let path = format!("cudainferupload device=cuda name=upload ! {filter}");
        let pipeline = run(&source(format, (64, 48), 3), &path, |sample, _| {
            assert!(!caps::in_cuda(sample.caps().unwrap()), "{path}");
            assert!(!is_cuda_memory(sample.buffer().unwrap().peek_memory(0)));
        });
        assert_eq!(count(&pipeline, "upload", "frames"), 0);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_that_lie_in_cuda_memory_go_through_untouched() {
    let path = "cudainferupload ! cudainferupload name=upload ! video/x-raw(memory:CUDAMemory)";
    let pipeline = run(&source(VideoFormat::Nv12, (64, 48), 5), path, |sample, _| {
        assert!(is_cuda_memory(sample.buffer().unwrap().peek_memory(0)));
    });
    assert_eq!(count(&pipeline, "upload", "frames"), 0);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_that_is_not_there_is_an_error() {
    init();
    let pipeline = gst::Pipeline::new();
    let element = gst::ElementFactory::make("cudainferupload").property("device", "cuda:99").build().unwrap();
    pipeline.add(&element).unwrap();
    assert!(pipeline.set_state(gst::State::Ready).is_err());
    let message = pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Error]).unwrap();
    let gst::MessageView::Error(error) = message.view() else { panic!() };
    let text = error.error().to_string();
    assert!(text.contains("there is no CUDA device 99: this machine has "), "{text}");
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn two_hundred_state_cycles_neither_fail_nor_leak_device_memory() {
    init();
    let free = |context: &Context| {
        let _entered = context.enter().unwrap();
        cudarc::driver::result::mem_get_info().unwrap().0
    };
    // held here, so that the primary context itself does not come and go
    let context = Context::new(&device()).unwrap();
    let cycle = |frames: u32| {
        let source = source(VideoFormat::Nv12, (1280, 720), frames);
        run(&source, "cudainferupload device=cuda", |sample, _| {
            assert!(caps::in_cuda(sample.caps().unwrap()))
        });
    };
    (0..10).for_each(|_| cycle(2));
    let before = free(&context);
    (0..200).for_each(|_| cycle(2));
    let lost = before.saturating_sub(free(&context));
    // 200 leaked frames would be 280 MB; the driver's own pools move by a few MB
    assert!(lost < 32 << 20, "{lost} bytes of device memory are gone");
}
