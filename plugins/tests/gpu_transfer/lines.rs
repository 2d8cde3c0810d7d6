//! Pipelines with GStreamer's own CUDA elements, before and after ours.

use gst::prelude::*;
use gst_video::VideoFormat;

use super::*;

/// The count of those elements that have one, by name.
fn fallbacks(pipeline: &gst::Pipeline) -> Vec<(String, u64)> {
    let elements = pipeline.iterate_elements().into_iter().filter_map(Result::ok);
    elements
        .filter(|element| element.find_property("stats").is_some())
        .filter_map(|element| {
            let stats = element.property::<gst::Structure>("stats");
            Some((element.name().to_string(), stats.get::<u64>("fallbacks").ok()?))
        })
        .collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn our_elements_and_gstreamers_follow_each_other_in_any_order_without_a_copy_between_contexts() {
    let frames = |description: &str| {
        let source = source(VideoFormat::Nv12, (640, 480), 30);
        let (mut got, mut sent) = (Vec::new(), Vec::new());
        let pipeline =
            run(&source, &format!("{description} ! video/x-raw,format=NV12"), |sample, original| {
                let [sample, original] = [sample, original].map(|s| pixels(s.buffer().unwrap(), &info_of(s)));
                got.push(sample);
                sent.push(original);
            });
        assert_eq!(got.len(), 30, "{description}");
        for (element, fallbacks) in fallbacks(&pipeline) {
            assert_eq!(fallbacks, 0, "{description}: {element}");
        }
        (got, sent)
    };
    let equal = |description: &str, got: &[Vec<Vec<u8>>], wanted: &[Vec<Vec<u8>>]| {
        let other = got.iter().zip(wanted).position(|(got, wanted)| got != wanted);
        assert_eq!(other, None, "{description}: the first frame that differs");
    };
    let moved = |description: &str| {
        let (got, sent) = frames(description);
        equal(description, &got, &sent);
    };
    moved("cudainferupload ! cudainferdownload");
    moved("cudainferupload ! queue ! cudainferdownload");
    moved("cudainferupload ! cudadownload");
    moved("cudaupload ! cudainferdownload");
    moved("cudaupload ! queue ! cudainferdownload");
    moved("cudaupload ! cudainferupload ! cudadownload");
    moved("cudainferupload ! cudaupload ! cudadownload ! cudainferdownload");
    if gst::ElementFactory::find("cudaconvert").is_none() {
        eprintln!("skipped the rest: GStreamer's nvcodec plugin found no NVRTC, so there is no cudaconvert");
        return;
    }
    // Its conversion may lose something: the expected frames are those of GStreamer's elements alone.
    let there_and_back = "cudaconvert ! video/x-raw(memory:CUDAMemory),format=I420 ! cudaconvert";
    let (wanted, _) = frames(&format!("cudaupload ! {there_and_back} ! cudadownload"));
    for description in [
        format!("cudainferupload ! {there_and_back} ! cudainferdownload"),
        format!("cudaupload ! {there_and_back} ! cudainferupload ! queue ! cudainferdownload"),
        format!("cudainferupload ! queue ! {there_and_back} ! queue ! cudadownload"),
    ] {
        equal(&description, &frames(&description).0, &wanted);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn where_gstreamers_uploader_owns_its_name_ours_leaves_it_alone() {
    init();
    let owner = gst::ElementFactory::find("cudaupload").unwrap().plugin_name().unwrap();
    assert_eq!(owner, "nvcodec");
    assert_eq!(gst::ElementFactory::find("cudainferupload").unwrap().plugin_name().unwrap(), "cudainfer");
    assert_eq!(gst::ElementFactory::find("cudainferdownload").unwrap().plugin_name().unwrap(), "cudainfer");
}

#[test]
#[ignore = "needs a CUDA device"]
fn decoded_frames_come_down_from_the_decoders_own_memory() {
    init();
    let missing = ["x264enc", "h264parse", "nvh264dec"]
        .into_iter()
        .find(|name| gst::ElementFactory::find(name).is_none());
    if let Some(missing) = missing {
        eprintln!("skipped: there is no {missing}");
        return;
    }
    let decoded = "videotestsrc num-buffers=60 pattern=ball ! video/x-raw,format=NV12,width=640,height=480 ! \
                   x264enc speed-preset=ultrafast tune=zerolatency ! h264parse ! nvh264dec";
    for path in [
        "cudainferdownload name=down",
        "queue ! cudaconvert ! cudainferdownload name=down",
        "cudainferupload ! cudainferdownload name=down",
    ] {
        if path.contains("cudaconvert") && gst::ElementFactory::find("cudaconvert").is_none() {
            continue;
        }
        let pipeline = play(&format!(
            "{decoded} ! video/x-raw(memory:CUDAMemory) ! {path} ! video/x-raw ! fakesink sync=false"
        ));
        assert_eq!(count(&pipeline, "down", "frames"), 60, "{path}");
        assert_eq!(count(&pipeline, "down", "fallbacks"), 0, "{path}: the decoder's context is not ours");
    }
}
