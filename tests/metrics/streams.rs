//! Streams that come and go: their names, and that none of their labels stays.

use cudainfer_tests::{TestPipeline, until};
use gst::prelude::*;

use crate::client::{page, sample, samples};
use crate::server;

#[test]
fn a_thousand_streams_that_came_and_went_leave_no_labels() {
    server();
    let pipeline = TestPipeline::new(
        "appsrc name=stays is-live=true ! funnel name=funnel ! identity name=shared ! fakesink async=false",
    );
    pipeline.set_property("name", "many");
    let funnel = pipeline.element("funnel");
    let _ = pipeline.set_state(gst::State::Playing);
    let mut most = 0;
    for number in 0..1000 {
        let source = gst::ElementFactory::make("videotestsrc")
            .name(format!("camera{number}"))
            .property("num-buffers", 1)
            .property_from_str("pattern", "black")
            .build()
            .unwrap();
        let queue = gst::ElementFactory::make("queue").build().unwrap();
        pipeline.add_many([&source, &queue]).unwrap();
        source.link(&queue).unwrap();
        let place = funnel.request_pad_simple("sink_%u").unwrap();
        queue.static_pad("src").unwrap().link(&place).unwrap();
        let (ended, end) = std::sync::mpsc::channel();
        place.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
            if let Some(gst::PadProbeData::Event(event)) = &info.data
                && event.type_() == gst::EventType::Eos
            {
                let _ = ended.send(());
            }
            gst::PadProbeReturn::Ok
        });
        queue.sync_state_with_parent().unwrap();
        source.sync_state_with_parent().unwrap();
        end.recv_timeout(cudainfer_tests::LIMIT).unwrap();
        if number % 100 == 0 {
            let page = page(server());
            assert_eq!(
                sample(
                    &page,
                    "cudainfer_frames_total",
                    &["element=\"shared\"", &format!("stream=\"camera{number}\"")]
                ),
                1.0
            );
            most = most.max(samples(&page, "cudainfer_frames_total", &["pipeline=\"many\""]).len());
        }
        for element in [&source, &queue] {
            element.set_state(gst::State::Null).unwrap();
        }
        pipeline.remove_many([&source, &queue]).unwrap();
        funnel.release_request_pad(&place);
    }
    assert!((3..20).contains(&most), "only those that were there: {most}");
    let left = |line: &str| line.contains("pipeline=\"many\"") && line.contains("stream=\"camera");
    until("those that went are gone", || !page(server()).lines().any(left));
}

#[test]
fn a_stream_is_called_after_what_it_comes_from() {
    server();
    let folder = cudainfer_tests::scratch("named");
    let file = folder.join("a.avi").display().to_string();
    cudainfer_tests::run(&format!("videotestsrc num-buffers=3 ! avimux ! filesink location={file}"))
        .succeeds();
    let pipeline = TestPipeline::new(&format!(
        "filesrc location={file} name=file ! decodebin ! videoconvert ! fakesink name=one \
         uridecodebin uri=file://{file} name=camera ! videoconvert ! fakesink name=two \
         filesrc location={file} name=same ! decodebin ! videoconvert ! fakesink name=three \
         videotestsrc num-buffers=3 name=test ! tee name=tee ! queue ! fakesink name=four tee. ! queue ! fakesink name=five"
    ));
    pipeline.set_property("name", "named");
    let _ = pipeline.set_state(gst::State::Playing);
    pipeline.wait().succeeds();
    let page = page(server());
    for (sink, stream) in
        [("one", "file/"), ("two", "camera/"), ("three", "same/"), ("four", "test\""), ("five", "test\"")]
    {
        let (sink, stream) = (format!("element=\"{sink}\""), format!("stream=\"{stream}"));
        let labels = ["pipeline=\"named\"", sink.as_str(), stream.as_str()];
        assert_eq!(sample(&page, "cudainfer_frames_total", &labels), 3.0);
        assert_eq!(
            sample(&page, "cudainfer_latency_seconds_count", &labels),
            3.0,
            "decoders keep a frame's time"
        );
    }
}
