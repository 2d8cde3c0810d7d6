//! Frames that are shown in another form: turned, deinterlaced, with pixels that are not square.

use cudainfer_tests::{TestPipeline, end, push, run, scratch};
use gst_video::prelude::*;
use gst_video::{VideoBufferFlags, VideoInfo};

const MAKER: &str = "fusedpreproc device=cpu width=32 height=32";

/// The warnings of a pipeline with frames like these.
fn warnings(frames: &str, rest: &str) -> Vec<String> {
    let pipeline = format!(
        "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=64,height=48 ! {frames} {rest} ! fakesink"
    );
    run(&pipeline).succeeds().warnings
}

#[test]
fn a_turned_video_is_warned_about_once_and_not_where_it_was_turned_upright() {
    let turned = |orientation: &str| format!("taginject tags=image-orientation={orientation} !");
    for orientation in ["rotate-90", "rotate-180", "flip-rotate-0"] {
        let warnings = warnings(&turned(orientation), MAKER);
        let [warning] = &warnings[..] else { panic!("one warning of {orientation}: {warnings:?}") };
        assert!(
            warning.contains(orientation) && warning.contains("videoflip video-direction=auto"),
            "{warning}"
        );
    }
    for (frames, rest) in [
        (turned("rotate-0"), MAKER.to_owned()),
        (turned("rotate-90"), format!("videoflip video-direction=auto ! {MAKER}")),
        (turned("rotate-90"), format!("videoflip video-direction=90r ! queue ! {MAKER}")),
        // A second model's regions get no warning, because the first model's frames had it.
        (String::new(), MAKER.to_owned()),
        (turned("rotate-90"), format!("{MAKER} roi=objects")),
    ] {
        let warnings = warnings(&frames, &rest);
        assert!(warnings.is_empty(), "{frames} {rest}: {warnings:?}");
    }
}

#[test]
fn the_exif_of_a_photograph_is_such_a_tag() {
    let photograph = scratch("exif").join("photograph.jpg");
    run(&format!(
        "videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=64,height=48 ! jpegenc \
         ! taginject tags=image-orientation=rotate-90 ! jifmux ! filesink location={}",
        photograph.display()
    ))
    .succeeds();
    let pipeline = format!("filesrc location={} ! jpegparse ! jpegdec", photograph.display());
    let warnings = run(&format!("{pipeline} ! {MAKER} ! fakesink")).succeeds().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("rotate-90"), "{warnings:?}");
    let upright = run(&format!("{pipeline} ! ( videoflip video-direction=auto ) ! {MAKER} ! fakesink"));
    assert!(upright.succeeds().warnings.is_empty(), "also in a bin");
}

#[test]
fn frames_of_two_moments_are_warned_about_and_those_of_mixed_streams_when_one_comes() {
    cudainfer_tests::init();
    let info = VideoInfo::builder(gst_video::VideoFormat::I420, 64, 48).build().unwrap();
    let warned = |mode: &str, flags: VideoBufferFlags| {
        let mut caps = info.to_caps().unwrap();
        caps.make_mut().set("interlace-mode", mode);
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps=\"{caps}\" ! {MAKER} ! fakesink async=false sync=false"
        ));
        pipeline.play();
        for _ in 0..2 {
            let mut frame = gst::Buffer::from_mut_slice(vec![90; info.size()]);
            frame.get_mut().unwrap().set_video_flags(flags);
            push(&pipeline.element("in"), frame);
        }
        end(&pipeline.element("in"));
        let report = pipeline.wait();
        pipeline.stop();
        report
    };
    let (none, interlaced) = (VideoBufferFlags::empty(), VideoBufferFlags::INTERLACED);
    for (mode, flags, count) in [
        ("progressive", none, 0),
        ("mixed", none, 0),
        ("mixed", interlaced, 1),
        ("interleaved", none, 1),
        ("interleaved", interlaced, 1),
    ] {
        let warnings = warned(mode, flags).succeeds().warnings;
        assert_eq!(warnings.iter().filter(|text| text.contains("deinterlace")).count(), count, "{mode}");
        assert_eq!(warnings.len(), count, "{warnings:?}");
    }
    warned("fields", none).fails_with(&["interlace-mode=fields", "deinterlace"]);
}
