//! Starting, stopping, flushing and seeking at bad moments: nothing hangs, nothing is left over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use cudainfer_tests::dice::Dice;
use cudainfer_tests::{TestPipeline, end, filled, init, model, push, run, scratch, until, within};
use gst::prelude::*;
use gstcudainfer::meta::object::objects;

/// Makes the sink at the pipeline's end reach PLAYING without a first frame, also after a flush. GStreamer 1.22 loses a state
/// change that comes between a sink's preroll and the thread that then continues to PLAYING: the pipeline stays in PAUSED,
/// whatever its elements are. Tests that flush while playing keep out of its way like this, those that pause by
/// [`TestPipeline::reach`].
const NO_PREROLL: &str = "async=false";

/// Everything downstream of a source of frames, down to an element called `out`.
fn whole(model_name: &str, properties: &str) -> String {
    format!(
        "fusedpreproc ! trtinfer name=infer {properties} model={} ! gpunms ! tracker \
         ! zonecount units=fraction zones=all=polygon:0,0,1,0,1,1,0,1;middle=line:0.5,1,0.5,0 ! inferoverlay \
         ! inferpublish location=/dev/null ! fakesink name=out",
        model(model_name)
    )
}

/// A film of 200 red frames of 64x64 at 25 a second, in which one can seek.
fn film() -> String {
    static FILM: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = scratch("film").join("red.mkv");
        run(&format!(
            "videotestsrc num-buffers=200 pattern=red ! video/x-raw,format=I420,width=64,height=64,framerate=25/1 \
             ! jpegenc ! matroskamux ! filesink location={}",
            path.display()
        ))
        .succeeds();
        path
    });
    FILM.display().to_string()
}

fn seek(pipeline: &TestPipeline, to: u64) {
    let flags = gst::SeekFlags::FLUSH | gst::SeekFlags::ACCURATE;
    let pipeline = (**pipeline).clone();
    let done = within(move || pipeline.seek_simple(flags, gst::ClockTime::from_mseconds(to)).is_ok());
    assert!(done, "the seek to {to} ms failed");
}

#[test]
fn seeks_while_playing_flush_and_go_on_with_new_identities() {
    for sink in ["", "sync=true"] {
        let pipeline = TestPipeline::new(&format!(
            "filesrc location={} ! matroskademux ! jpegdec ! videoconvert ! {} {NO_PREROLL} {sink}",
            film(),
            whole("detector", "workers=3")
        ));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let ids = seen.clone();
        pipeline.watch("out", move |buffer, _| {
            let found = objects(buffer);
            ids.lock().unwrap().push((buffer.pts(), found[0].tracking.as_ref().map(|t| (t.id, t.age))));
        });
        pipeline.play();
        until("frames", || !seen.lock().unwrap().is_empty());
        for i in 0..20 {
            let to = (i * 37 % 150) * 40;
            seek(&pipeline, to);
            // Frames in flight have been flushed when the seek returns; the first frame after it is the requested one.
            until("frames after the seek", || {
                seen.lock().unwrap().iter().any(|(pts, _)| *pts == Some(gst::ClockTime::from_mseconds(to)))
            });
            seen.lock().unwrap().clear();
        }
        seek(&pipeline, 4000);
        let after = || {
            let seen = seen.lock().unwrap();
            let from = seen.iter().rposition(|(pts, _)| *pts == Some(gst::ClockTime::from_mseconds(4000)));
            from.map_or(vec![], |from| seen[from..].iter().map(|(_, track)| track.unwrap()).collect())
        };
        // An earlier seek may have come to the end, too.
        until("the frames after the last seek", || after().len() == 100);
        pipeline.wait().succeeds();
        let last = after();
        assert_eq!(last.len(), 100, "frames after the last seek");
        // One object, whose age counts from 0 since the seek, with a new identity after each seek.
        let id = last[0].0;
        assert!(id > 1, "{id}");
        assert!(last.iter().zip(0..).all(|(track, age)| *track == (id, age)), "{last:?}");
    }
}

#[test]
fn a_stream_played_backwards_is_tracked_as_forwards() {
    let pipeline = TestPipeline::new(&format!(
        "filesrc location={} ! matroskademux ! jpegdec ! videoconvert ! {}",
        film(),
        whole("detector", "")
    ));
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = ids.clone();
    pipeline.watch("out", move |buffer, _| {
        let track = objects(buffer)[0].tracking.as_ref().map(|track| track.id);
        seen.lock().unwrap().push((buffer.pts(), track));
    });
    pipeline.reach(gst::State::Paused);
    let (flags, set) = (gst::SeekFlags::FLUSH | gst::SeekFlags::ACCURATE, gst::SeekType::Set);
    let (start, stop) = (gst::ClockTime::ZERO, gst::ClockTime::from_mseconds(1000));
    pipeline.seek(-1.0, flags, set, start, set, stop).unwrap();
    ids.lock().unwrap().clear();
    pipeline.play();
    let report = pipeline.wait().succeeds();
    assert!(!report.warnings.iter().any(|warning| warning.contains("timestamp")), "{report:?}");
    let seen = ids.lock().unwrap();
    assert!(seen.len() >= 24 && seen.is_sorted_by(|a, b| a.0 > b.0), "{seen:?}");
    assert!(seen.iter().all(|(_, id)| id.is_some() && *id == seen[0].1), "{seen:?}");
}

#[test]
fn a_seek_while_paused_shows_the_frame_there() {
    let pipeline = TestPipeline::new(&format!(
        "filesrc location={} ! matroskademux ! jpegdec ! videoconvert ! {}",
        film(),
        whole("detector", "")
    ));
    pipeline.reach(gst::State::Paused);
    for to in [2000, 40, 7960, 0] {
        seek(&pipeline, to);
        pipeline.reach(gst::State::Paused);
        let sample = pipeline.element("out").property::<Option<gst::Sample>>("last-sample").unwrap();
        assert_eq!(sample.buffer().unwrap().pts(), Some(gst::ClockTime::from_mseconds(to)));
    }
}

#[test]
fn flushes_by_hand_between_frames_lose_nothing_that_comes_after() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width=8,height=8,framerate=100/1 ! {} {NO_PREROLL}",
        whole("detector", "workers=2")
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    let source = pipeline.element("in");
    for round in 0..10 {
        for frame in 0..10 {
            push(&source, filled(8 * 8 * 3, 200, frame));
        }
        if round < 9 {
            assert!(source.send_event(gst::event::FlushStart::new()));
            assert!(source.send_event(gst::event::FlushStop::new(true)));
        }
    }
    end(&source);
    pipeline.wait().succeeds();
    let seen = seen.lock().unwrap();
    let last: Vec<_> = seen[seen.len() - 10..].iter().map(|b| b.pts().unwrap().mseconds()).collect();
    assert_eq!(last, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
}

#[test]
fn a_pipeline_can_be_stopped_from_any_state_while_frames_are_in_flight() {
    for (from, to) in [
        (gst::State::Playing, gst::State::Null),
        (gst::State::Paused, gst::State::Null),
        (gst::State::Playing, gst::State::Ready),
        (gst::State::Paused, gst::State::Ready),
    ] {
        for wait in [0, 1, 5, 20, 60] {
            let pipeline = TestPipeline::new(&format!(
                "videotestsrc ! {}",
                whole("detector", "workers=4 max-in-flight=16")
            ));
            let _ = pipeline.set_state(from);
            std::thread::sleep(Duration::from_millis(wait));
            let stopped = (*pipeline).clone();
            within(move || stopped.set_state(to).unwrap());
            pipeline.stop();
        }
    }
}

#[test]
fn a_pipeline_can_be_torn_down_while_the_model_works() {
    // One frame takes a tenth of a second or more.
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc ! fusedpreproc ! trtinfer model={} ! fakesink name=out",
        model("slow")
    ));
    for wait in [0, 30, 200] {
        pipeline.play();
        std::thread::sleep(Duration::from_millis(wait));
        // Stopping waits for the frame that the model works on, and drops frames that wait.
        pipeline.stop();
    }
}

#[test]
fn elements_of_a_slow_pipeline_can_be_seeked_and_flushed() {
    // The sink is slow, so all queues before it are full.
    let pipeline = TestPipeline::new(&format!(
        "filesrc location={} ! matroskademux ! jpegdec ! videoconvert ! fusedpreproc ! trtinfer model={} max-in-flight=2 \
         ! gpunms ! queue max-size-buffers=2 ! identity sleep-time=50000 ! fakesink name=out {NO_PREROLL}",
        film(),
        model("detector")
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    for i in 0..6 {
        until("a frame", || !seen.lock().unwrap().is_empty());
        seek(&pipeline, 1000 * i);
        seen.lock().unwrap().clear();
    }
    until("a frame", || !seen.lock().unwrap().is_empty());
    pipeline.stop();
}

#[test]
fn a_failed_pipeline_can_be_started_again() {
    let pipeline =
        TestPipeline::new(&format!("videotestsrc num-buffers=5 name=in ! {}", whole("fails-on-bright", "")));
    // gpunms refuses this model's output too, but the model itself fails first where the picture is bright.
    for pattern in ["white", "black"] {
        pipeline.element("in").set_property_from_str("pattern", pattern);
        let _ = pipeline.set_state(gst::State::Playing);
        assert!(!pipeline.wait().errors.is_empty());
        pipeline.stop();
    }
    pipeline.element("infer").set_property("model", model("detector"));
    pipeline.play();
    pipeline.wait().succeeds();
    pipeline.stop();
    pipeline.element("infer").set_property("model", "/nowhere/model.onnx");
    assert!(pipeline.set_state(gst::State::Playing).is_err());
    pipeline.wait().fails_with(&["/nowhere/model.onnx"]);
    pipeline.stop();
    pipeline.element("infer").set_property("model", model("detector"));
    pipeline.play();
    pipeline.wait().succeeds();
}

/// A pipeline of a source called `in` and a model that takes pictures of 24x16.
fn small(model_name: &str, pattern: &str) -> TestPipeline {
    TestPipeline::new(&format!(
        "videotestsrc name=in num-buffers=2 pattern={pattern} ! video/x-raw,format=RGB,width=24,height=16 ! fusedpreproc \
         ! trtinfer name=infer provider=cpu model={} ! fakesink",
        model(model_name)
    ))
}

fn reaches(pipeline: &TestPipeline, state: gst::State) {
    let pipeline = (**pipeline).clone();
    within(move || pipeline.set_state(state).unwrap());
}

#[test]
fn a_model_whose_first_run_has_no_end_can_be_stopped() {
    let pipeline = small("run-without-end", "black");
    let _ = pipeline.set_state(gst::State::Playing);
    let bus = pipeline.bus().unwrap();
    until("it warms up", || {
        let message = bus.pop_filtered(&[gst::MessageType::Progress]);
        message.is_some_and(|message| format!("{message:?}").contains("warming up"))
    });
    reaches(&pipeline, gst::State::Null);
    assert!(bus.pop_filtered(&[gst::MessageType::Error]).is_none(), "to stop is no error");
}

#[test]
fn a_frame_whose_run_has_no_end_can_be_stopped_and_others_run_after_it() {
    let pipeline = small("run-without-end-on-bright", "white");
    let _ = pipeline.set_state(gst::State::Playing);
    until("a frame runs", || {
        let stats = pipeline.element("infer").property::<gst::Structure>("stats");
        let queued = stats.get::<gst::Structure>("queue-time").unwrap();
        let counts = queued.get::<gst::Array>("counts").unwrap();
        counts.iter().any(|count| count.get::<u64>().unwrap() > 0)
    });
    reaches(&pipeline, gst::State::Ready);
    pipeline.element("in").set_property_from_str("pattern", "black");
    pipeline.play();
    pipeline.wait().succeeds();
}

#[test]
fn a_pipeline_can_go_back_to_ready_and_play_again() {
    let pipeline = TestPipeline::new(&format!("videotestsrc num-buffers=20 ! {}", whole("detector", "")));
    let seen = pipeline.collect("out");
    for round in 1..=5 {
        pipeline.play();
        pipeline.wait().succeeds();
        pipeline.reach(gst::State::Ready);
        assert_eq!(seen.lock().unwrap().len(), 20 * round);
    }
}

#[test]
fn pausing_and_playing_many_times_loses_no_frame() {
    let pipeline =
        TestPipeline::new(&format!("videotestsrc num-buffers=300 ! {}", whole("detector", "workers=3")));
    let seen = pipeline.collect("out");
    pipeline.reach(gst::State::Playing);
    for _ in 0..20 {
        pipeline.reach(gst::State::Paused);
        pipeline.reach(gst::State::Playing);
        std::thread::sleep(Duration::from_millis(2));
    }
    pipeline.wait().succeeds();
    let stamps: Vec<_> = seen.lock().unwrap().iter().map(|b| b.pts()).collect();
    assert_eq!(stamps.len(), 300);
    assert!(stamps.is_sorted());
}

#[test]
fn an_element_can_be_unlinked_while_it_works() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc ! fusedpreproc ! trtinfer name=infer model={} ! gpunms name=nms ! fakesink name=out",
        model("detector")
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    until("a frame", || seen.lock().unwrap().len() > 5);
    pipeline.element("infer").unlink(&pipeline.element("nms"));
    let report = pipeline.wait();
    assert!(!report.errors.is_empty(), "{report:?}");
    pipeline.stop();
}

#[test]
fn the_end_comes_after_the_last_frame_however_many_work() {
    for workers in [1, 2, 4] {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=97 ! {}",
            whole("detector", &format!("workers={workers}"))
        ));
        let frames = Arc::new(AtomicU64::new(0));
        let at_end = Arc::new(AtomicU64::new(u64::MAX));
        let (counted, noted) = (frames.clone(), at_end.clone());
        pipeline.element("out").static_pad("sink").unwrap().add_probe(
            gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM,
            move |_, info| {
                match &info.data {
                    Some(gst::PadProbeData::Buffer(_)) => {
                        counted.fetch_add(1, Ordering::SeqCst);
                    }
                    Some(gst::PadProbeData::Event(event)) if event.type_() == gst::EventType::Eos => {
                        noted.store(counted.load(Ordering::SeqCst), Ordering::SeqCst);
                    }
                    _ => (),
                }
                gst::PadProbeReturn::Ok
            },
        );
        pipeline.play();
        pipeline.wait().succeeds();
        assert_eq!((frames.load(Ordering::SeqCst), at_end.load(Ordering::SeqCst)), (97, 97));
    }
}

#[test]
fn the_latency_of_a_live_pipeline_is_how_long_a_batch_waits_and_runs() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc is-live=true ! video/x-raw,width=64,height=64,framerate=50/1 \
         ! fusedpreproc ! trtinfer name=infer model={} batch-timeout=300000000 ! gpunms ! fakesink name=out sync=true processing-deadline=0",
        model("detector")
    ));
    // The latency that the pipeline chooses travels upstream from the sinks.
    let latency = Arc::new(Mutex::new(gst::ClockTime::ZERO));
    let noted = latency.clone();
    pipeline.element("infer").static_pad("src").unwrap().add_probe(
        gst::PadProbeType::EVENT_UPSTREAM,
        move |_, info| {
            if let Some(gst::PadProbeData::Event(event)) = &info.data
                && let gst::EventView::Latency(latency) = event.view()
            {
                *noted.lock().unwrap() = latency.latency();
            }
            gst::PadProbeReturn::Ok
        },
    );
    pipeline.play();
    let bus = pipeline.bus().unwrap();
    until("the latency", || {
        // As gst-launch-1.0 and every application with a bus watch does.
        while let Some(message) = bus.pop() {
            if message.type_() == gst::MessageType::Latency {
                pipeline.recalculate_latency().unwrap();
            }
        }
        // A frame of the source, the time that a batch may wait, and two runs of the model, however long they take here.
        latency.lock().unwrap().mseconds() >= 320
    });
}

#[test]
fn whatever_is_done_to_a_pipeline_in_whatever_order_it_plays_to_its_end_afterwards() {
    // Three pipelines at once, each with its own order of events, always the same.
    let threads: Vec<_> = (0..3u64)
        .map(|seed| {
            // videotestsrc seeks; a demuxer's pads come and go, and pipelines of gst-launch-1.0 link them once only.
            let pipeline = TestPipeline::new(&format!(
                "videotestsrc num-buffers=200 pattern=red ! queue max-size-buffers=3 ! {}",
                whole("detector", &format!("workers={} max-in-flight={}", seed + 1, 1 + 3 * seed))
            ));
            std::thread::spawn(move || {
                let mut dice = Dice::new(seed);
                for _ in 0..60 {
                    match dice.roll(6) {
                        0 => drop(pipeline.set_state(gst::State::Paused)),
                        1 => drop(pipeline.set_state(gst::State::Ready)),
                        2 => pipeline.stop(),
                        3 => drop(pipeline.set_state(gst::State::Playing)),
                        _ => {
                            let (pipeline, to) =
                                (pipeline.clone(), gst::ClockTime::from_mseconds(dice.roll(8000) as u64));
                            // In READY and NULL there is nothing to seek in.
                            within(move || drop(pipeline.seek_simple(gst::SeekFlags::FLUSH, to)));
                        }
                    }
                    std::thread::sleep(Duration::from_millis(dice.roll(12) as u64));
                }
                pipeline.stop();
                while pipeline.bus().unwrap().pop().is_some() {}
                let seen = pipeline.collect("out");
                pipeline.play();
                pipeline.wait().succeeds();
                assert_eq!(seen.lock().unwrap().len(), 200);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn identify_goes_through_seeks_and_states_and_keeps_the_numbers_of_unknowns_in_its_file() {
    let file = scratch("lifecycle-identify").join("unknowns.npz");
    for round in 0..2 {
        let pipeline = TestPipeline::new(&format!(
            "filesrc location={} ! matroskademux ! jpegdec ! videoconvert ! fusedpreproc ! trtinfer model={} ! gpunms ! tracker \
             ! fusedpreproc roi=objects ! trtinfer model={} ! embed ! identify name=who min-frames=1 unknowns={} \
             ! fakesink name=out sync=true {NO_PREROLL}",
            film(),
            model("detector"),
            model("attributes"),
            file.display()
        ));
        let frames = Arc::new(AtomicU64::new(0));
        let numbers = Arc::new(Mutex::new(Vec::new()));
        let (count, all) = (frames.clone(), numbers.clone());
        pipeline.watch("out", move |buffer, _| {
            count.fetch_add(1, Ordering::Relaxed);
            let found = objects(buffer).into_iter().filter_map(|object| object.identity?.unknown);
            all.lock().unwrap().extend(found);
        });
        pipeline.play();
        for to in [4000, 0, 2000] {
            let before = frames.load(Ordering::Relaxed);
            until("frames", || frames.load(Ordering::Relaxed) > before + 3);
            seek(&pipeline, to);
        }
        pipeline.reach(gst::State::Paused);
        pipeline.reach(gst::State::Ready);
        assert!(file.is_file(), "what was collected is written when it stops");
        pipeline.stop();
        // All objects of this film are red, so there is one unknown, whatever the tracks are; the second time it is known again.
        let numbers = numbers.lock().unwrap();
        assert!(!numbers.is_empty() && numbers.iter().all(|number| *number == 1), "{round}: {numbers:?}");
    }
}

/// A source may just be pushing its first events when its stream is stopped. If they were refused as wrong, it would post an ERROR.
#[test]
fn events_that_come_while_a_model_stops_are_flushed_and_no_error() {
    init();
    let element = gst::ElementFactory::make("trtinfer").property("model", model("detector")).build().unwrap();
    element.set_state(gst::State::Playing).unwrap();
    let pad = gst::Pad::builder(gst::PadDirection::Src).build();
    pad.set_active(true).unwrap();
    pad.link(&element.static_pad("sink").unwrap()).unwrap();
    assert!(pad.push_event(gst::event::StreamStart::new("short")));
    // The first thing that happens when an element goes to READY.
    element.static_pad("src").unwrap().set_active(false).unwrap();
    pad.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    assert_eq!(pad.push(gst::Buffer::new()), Err(gst::FlowError::Flushing));
    element.set_state(gst::State::Null).unwrap();
}
