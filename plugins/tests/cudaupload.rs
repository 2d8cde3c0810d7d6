//! What `cudainferupload` does on a machine without a GPU that can be used.
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
    gst::ElementFactory::make("cudainferupload").property("device", device).build().unwrap()
}

#[test]
fn both_names_are_registered_where_nobody_else_owns_one() {
    init();
    let ours = gst::ElementFactory::find("cudainferupload").unwrap();
    assert_eq!(ours.plugin_name().unwrap(), "cudainfer");
    assert_eq!(ours.element_type().name(), "GstCudaInferUpload");
    let upload = gst::ElementFactory::find("cudaupload").unwrap();
    if upload.plugin_name().unwrap() == "cudainfer" {
        assert_eq!(
            gst::ElementFactory::make("cudaupload").build().unwrap().type_(),
            ours.load().unwrap().downcast::<gst::ElementFactory>().unwrap().element_type()
        );
    } else {
        assert_eq!(upload.plugin_name().unwrap(), "nvcodec");
    }
}

#[test]
fn a_name_that_another_plugin_owns_is_left_to_it() {
    init();
    // In a process of its own registry this would be nvcodec; an alias from another plugin stands in for it.
    let stranger = gst::Plugin::load_by_name("coreelements").unwrap();
    let previous = gst::Registry::get().lookup_feature("cudaupload");
    if previous.as_ref().and_then(|feature| feature.plugin_name()).as_deref() != Some("cudainfer") {
        return;
    }
    let identity = gst::ElementFactory::find("identity").unwrap();
    gst::Element::register(Some(&stranger), "cudaupload", gst::Rank::NONE, identity.element_type()).unwrap();
    let ours = gst::Registry::get().find_plugin("cudainfer").unwrap();
    gstcudainfer::cudaupload::register(&ours).unwrap();
    let owner = gst::Registry::get().lookup_feature("cudaupload").unwrap().plugin_name();
    // Put ours back before anything can fail, for the tests beside this one.
    gst::Registry::get().remove_feature(&gst::Registry::get().lookup_feature("cudaupload").unwrap());
    gstcudainfer::cudaupload::register(&ours).unwrap();
    assert_eq!(owner.as_deref(), Some("coreelements"));
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
fn auto_without_a_gpu_warns_once_a_start_and_counts_and_goes_on() {
    if gpu() {
        return;
    }
    let (first, second) = (element("auto"), element("auto"));
    let (pipeline, bus) = pipeline_of(&first);
    pipeline.add(&second).unwrap();
    // or the message would be gone with the first NULL
    pipeline.set_property("auto-flush-bus", false);
    let reason = probe().unwrap_err();
    for _start in 0..3 {
        // Counts begin anew at PAUSED, where the fallback is one still.
        pipeline.set_state(gst::State::Paused).unwrap();
        pipeline.set_state(gst::State::Null).unwrap();
        let warnings = messages(&bus, gst::MessageType::Warning);
        let [warning] = warnings.as_slice() else { panic!("one warning, not {warnings:?}") };
        let said = [&first, &second].map(|e| format!("{}: no GPU is used: {reason}.", e.name()));
        assert!(said.iter().any(|said| warning.starts_with(said)), "{warning}");
        for element in [&first, &second] {
            assert_eq!(element.property::<gst::Structure>("stats").get::<u64>("fallbacks"), Ok(1));
        }
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
fn a_pipeline_that_wants_cuda_memory_can_be_linked_and_fails_to_negotiate_without_a_gpu() {
    init();
    let pipeline = gst::parse::launch(
        "videotestsrc num-buffers=1 ! cudainferupload device=cpu ! video/x-raw(memory:CUDAMemory) ! fakesink",
    )
    .unwrap();
    let bus = pipeline.bus().unwrap();
    let _ = pipeline.set_state(gst::State::Playing);
    let message = bus.timed_pop_filtered(gst::ClockTime::from_seconds(10), &[gst::MessageType::Error]);
    assert!(message.is_some(), "CUDA memory came from nowhere");
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn two_hundred_state_cycles_leave_it_working() {
    init();
    let pipeline = gst::parse::launch(
        "videotestsrc num-buffers=2 ! video/x-raw,format=NV12,width=32,height=32 ! cudainferupload name=upload ! \
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

#[test]
fn caps_without_a_size_are_an_error_and_not_a_panic() {
    for name in ["cudainferupload", "cudainferdownload"] {
        init();
        let element = gst::ElementFactory::make(name).property("device", "cpu").build().unwrap();
        let (pipeline, bus) = pipeline_of(&element);
        pipeline.set_state(gst::State::Ready).unwrap();
        let size = |caps: &str| {
            let (caps, mut size) = (caps.parse::<gst::Caps>().unwrap(), 0usize);
            let instance = element.as_ptr();
            // SAFETY: the element is a GstBaseTransform, and so is its class.
            let known = unsafe {
                let class = *instance.cast::<*const gst_base::ffi::GstBaseTransformClass>();
                ((*class).get_unit_size.unwrap())(instance.cast(), caps.as_mut_ptr(), &raw mut size)
            };
            (known != 0).then_some(size)
        };
        assert_eq!(size("video/x-raw,format=NV12,width=64,height=48"), Some(64 * 72));
        assert_eq!(size("video/x-raw,format=NV12"), None);
        let errors = messages(&bus, gst::MessageType::Error);
        let [error] = errors.as_slice() else { panic!("{errors:?}") };
        assert!(error.contains(element.name().as_str()) && error.contains("gives frames no size"), "{error}");
        pipeline.set_state(gst::State::Null).unwrap();
    }
}
