//! What `cudainferdownload` does on a machine without a GPU that can be used.
//!
//! On one with a GPU, the tests that are about its absence take `device=cpu` or are skipped.
#![allow(clippy::unwrap_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod shared;

use cudainfer_kernels::device::probe;
use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

use shared::{gpu, init, messages, pipeline_of};

fn element(device: &str) -> gst::Element {
    init();
    gst::ElementFactory::make("cudainferdownload").property("device", device).build().unwrap()
}

#[test]
fn it_is_registered_by_its_own_name_only() {
    init();
    let ours = gst::ElementFactory::find("cudainferdownload").unwrap();
    assert_eq!(ours.plugin_name().unwrap(), "cudainfer");
    assert_eq!(ours.element_type().name(), "GstCudaInferDownload");
    let theirs = gst::ElementFactory::find("cudadownload").and_then(|factory| factory.plugin_name());
    assert_ne!(theirs.as_deref(), Some("cudainfer"));
}

#[test]
fn frames_go_through_byte_for_byte_with_all_their_metadata() {
    init();
    for (format, width, height) in [
        (VideoFormat::Nv12, 64, 48),
        (VideoFormat::I420, 65, 17),
        (VideoFormat::Gray8, 9, 1),
        (VideoFormat::Rgba, 1, 1),
    ] {
        let element = element("cpu");
        let info = VideoInfo::builder(format, width, height).fps(gst::Fraction::new(25, 1)).build().unwrap();
        let mut harness = gst_check::Harness::with_element(&element, Some("sink"), Some("src"));
        harness.set_src_caps(info.to_caps().unwrap());

        let bytes: Vec<u8> = (0..info.size()).map(|i| u8::try_from(i * 31 % 251).unwrap()).collect();
        let mut buffer = gst::Buffer::from_slice(bytes.clone());
        {
            let buffer = buffer.get_mut().unwrap();
            buffer.set_pts(gst::ClockTime::from_mseconds(40));
            buffer.set_duration(gst::ClockTime::from_mseconds(40));
            buffer.set_offset(7);
            buffer.set_flags(gst::BufferFlags::MARKER | gst::BufferFlags::DISCONT);
            let mut roi = gst_video::VideoRegionOfInterestMeta::add(buffer, "person", (1, 2, 3, 4));
            roi.add_param(gst::Structure::builder("detection").field("confidence", 0.5f64).build());
        }
        let out = harness.push_and_pull(buffer).unwrap();

        assert_eq!(out.map_readable().unwrap().as_slice(), bytes, "{format} {width}x{height}");
        assert_eq!(out.pts(), Some(gst::ClockTime::from_mseconds(40)));
        assert_eq!(out.duration(), Some(gst::ClockTime::from_mseconds(40)));
        assert_eq!(out.offset(), 7);
        assert!(out.flags().contains(gst::BufferFlags::MARKER | gst::BufferFlags::DISCONT));
        let roi = out.meta::<gst_video::VideoRegionOfInterestMeta>().unwrap();
        assert_eq!((roi.roi_type(), roi.rect()), ("person", (1, 2, 3, 4)));
        assert_eq!(roi.param("detection").unwrap().get::<f64>("confidence"), Ok(0.5));
    }
}

#[test]
fn cuda_without_a_gpu_is_an_error_that_says_what_is_missing() {
    if gpu() {
        return;
    }
    for device in ["cuda", "cuda:3"] {
        let element = element(device);
        let (pipeline, bus) = pipeline_of(&element);
        assert!(pipeline.set_state(gst::State::Ready).is_err());
        let message = bus.pop_filtered(&[gst::MessageType::Error]).unwrap();
        let gst::MessageView::Error(error) = message.view() else { panic!() };
        assert!(error.error().matches(gst::ResourceError::NotFound));
        let text = error.error().to_string();
        assert!(text.contains(&probe().unwrap_err().to_string()), "{text}");
        assert!(messages(&bus, gst::MessageType::Warning).is_empty());
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn a_device_that_is_none_is_an_error_that_says_how_to_write_it() {
    let element = element("gpu0");
    let (pipeline, bus) = pipeline_of(&element);
    assert!(pipeline.set_state(gst::State::Ready).is_err());
    let message = bus.pop_filtered(&[gst::MessageType::Error]).unwrap();
    let gst::MessageView::Error(error) = message.view() else { panic!() };
    assert!(error.error().matches(gst::ResourceError::Settings));
    let text = error.error().to_string();
    assert!(text.contains("'gpu0' is not a device: write auto, cuda, cuda:N"), "{text}");
    pipeline.set_state(gst::State::Null).unwrap();
    // and it can be put right
    element.set_property("device", "cpu");
    pipeline.set_state(gst::State::Ready).unwrap();
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn cpu_is_silent() {
    let element = element("cpu");
    let (pipeline, bus) = pipeline_of(&element);
    pipeline.set_state(gst::State::Ready).unwrap();
    assert!(messages(&bus, gst::MessageType::Warning).is_empty());
    assert_eq!(element.property::<gst::Structure>("stats").get::<u64>("fallbacks"), Ok(0));
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn two_hundred_state_cycles_leave_it_working() {
    init();
    let pipeline = gst::parse::launch(
        "videotestsrc num-buffers=2 ! video/x-raw,format=NV12,width=32,height=32 ! cudainferdownload name=upload ! \
         fakesink name=sink sync=false",
    )
    .unwrap()
    .downcast::<gst::Pipeline>()
    .unwrap();
    let bus = pipeline.bus().unwrap();
    for cycle in 0..200 {
        let top = [gst::State::Ready, gst::State::Paused, gst::State::Playing][cycle % 3];
        pipeline.set_state(top).unwrap();
        pipeline.set_state(gst::State::Null).unwrap();
    }
    pipeline.set_state(gst::State::Playing).unwrap();
    let end = bus
        .timed_pop_filtered(
            gst::ClockTime::from_seconds(10),
            &[gst::MessageType::Eos, gst::MessageType::Error],
        )
        .unwrap();
    assert_eq!(end.type_(), gst::MessageType::Eos, "{end:?}");
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn caps_may_change_in_mid_stream() {
    let element = element("cpu");
    let mut harness = gst_check::Harness::with_element(&element, Some("sink"), Some("src"));
    for (format, width) in [(VideoFormat::Nv12, 64), (VideoFormat::Rgba, 33), (VideoFormat::Gray8, 9)] {
        let info = VideoInfo::builder(format, width, 16).build().unwrap();
        harness.set_src_caps(info.to_caps().unwrap());
        let out = harness.push_and_pull(gst::Buffer::with_size(info.size()).unwrap()).unwrap();
        assert_eq!(out.size(), info.size());
        assert_eq!(harness.sinkpad().unwrap().current_caps().unwrap(), info.to_caps().unwrap());
    }
}
