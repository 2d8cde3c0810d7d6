use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

use cudainfer_brokers::Message;
use cudainfer_kernels::geometry::Rect;

use super::*;
use crate::meta::object::{DetectionParam, TrackingParam};
use crate::publish::Topic;

const MS: u64 = 1_000_000;

fn composer(kinds: RecordKinds, interval: u64) -> Composer {
    gst::init().unwrap();
    zone::register();
    let topic = Topic::parse("cams/{source}/{kind}/{stream}").unwrap();
    let (selection, format) = (Selection::default(), Format::Json);
    Composer::new(PublishParams {
        kinds,
        format,
        topic,
        source: None,
        selection,
        interval,
        patience: 1000 * MS,
        second_pass: None,
    })
}

fn start(composer: &mut Composer, stream: &str) -> Messages {
    let event = gst::event::StreamStart::builder(stream).seqnum(gst::Seqnum::next()).build();
    composer.start(&event, Details::default()).unwrap()
}

/// The messages about a frame on which somebody is.
fn frame(composer: &mut Composer, ms: impl Into<Option<u64>>, track: u64) -> Messages {
    let mut buffer = gst::Buffer::new();
    let buffer = buffer.get_mut().unwrap();
    buffer.set_pts(ms.into().map(gst::ClockTime::from_mseconds));
    let rect = Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
    let tracking = TrackingParam { id: track, state: "tracked".into(), rect, ..TrackingParam::default() };
    Object { detection, tracking: Some(tracking), ..Object::default() }.put(buffer, &rect);
    let arrival = Arrival { now: UNIX_EPOCH, lag: None };
    composer.compose(buffer, None, arrival, Details::default()).unwrap().0
}

fn topics(messages: &Messages) -> Vec<&str> {
    messages.iter().map(|(_, message)| message.topic.as_str()).collect()
}

fn field(messages: &Messages, field: &str) -> Vec<serde_json::Value> {
    let record = |message: &Message| serde_json::from_slice::<serde_json::Value>(&message.payload).unwrap();
    messages.iter().map(|(_, message)| record(message)[field].clone()).collect()
}

#[test]
fn messages_have_the_topic_of_their_source_and_kind_and_the_id_of_their_record() {
    let mut composer = composer(RecordKinds::FRAMES | RecordKinds::CHANGES | RecordKinds::TRACKS, 0);
    assert_eq!(start(&mut composer, "gate/1"), []);
    let mut all = frame(&mut composer, 0, 1);
    assert_eq!(topics(&all), ["cams/gate_1/frames/gate_1", "cams/gate_1/changes/gate_1"]);
    composer.passed();
    all.extend(start(&mut composer, "yard"));
    all.extend(frame(&mut composer, 0, 1));
    composer.passed();
    let ended = composer.end(End::Stopped, Details::default()).unwrap();
    assert_eq!(topics(&ended), ["cams/yard/tracks/yard", "cams/gate_1/tracks/gate_1"]);
    assert_eq!(field(&ended, "source"), ["yard", "gate/1"]);
    all.extend(ended);
    let ids: Vec<_> = all.iter().map(|(_, message)| message.id.as_str()).collect();
    assert_eq!(field(&all, "id"), ids);
    assert_eq!(BTreeSet::from_iter(&ids).len(), 6);
    // Nothing is left over.
    assert_eq!(composer.end(End::Stopped, Details::default()).unwrap(), []);
}

#[test]
fn a_frame_that_does_not_pass_is_not_counted_and_another_has_its_turn() {
    let mut composer = composer(RecordKinds::FRAMES, 100 * MS);
    start(&mut composer, "a");
    let lost = frame(&mut composer, 0, 1);
    assert_eq!(field(&lost, "frame"), [0]);
    let again = frame(&mut composer, 10, 1);
    assert_eq!((field(&again, "frame"), field(&again, "pts")), (vec![0.into()], vec![(10 * MS).into()]));
    composer.passed();
    assert_eq!(frame(&mut composer, 90, 1), []);
    composer.passed();
    assert_eq!(field(&frame(&mut composer, 100, 1), "frame"), [2]);
    composer.passed();
    // Back, as in a loop; and without a time, of which nobody knows the interval.
    assert_eq!(field(&frame(&mut composer, 50, 1), "frame"), [3]);
    composer.passed();
    assert_eq!(field(&frame(&mut composer, None, 1), "frame"), [4]);
}

#[test]
fn tracks_end_with_their_stream_a_flush_and_a_new_start_of_it() {
    let mut composer = composer(RecordKinds::TRACKS, 0);
    start(&mut composer, "a");
    assert_eq!(frame(&mut composer, 0, 1), []);
    composer.passed();
    let ended = start(&mut composer, "a");
    assert_eq!((field(&ended, "track"), field(&ended, "end")), (vec![1.into()], vec!["eos".into()]));
    assert_eq!(frame(&mut composer, 0, 1), []);
    composer.passed();
    let ended = composer.end(End::Flush, Details::default()).unwrap();
    assert_eq!((field(&ended, "end"), field(&ended, "frame")), (vec!["flush".into()], vec![0.into()]));
    assert_eq!(frame(&mut composer, 5000, 2), []);
    composer.passed();
    let ended = frame(&mut composer, 7000, 3);
    assert_eq!((field(&ended, "track"), field(&ended, "end")), (vec![2.into()], vec!["vanished".into()]));
}

#[test]
fn tracks_of_a_stream_that_is_forgotten_for_others_are_written_and_it_is_counted() {
    let mut composer = composer(RecordKinds::TRACKS, 0);
    start(&mut composer, "first");
    frame(&mut composer, 0, 7);
    composer.passed();
    let (mut ended, mut number) = (Messages::new(), 0);
    while ended.is_empty() {
        assert_eq!(composer.forgotten(), 0);
        number += 1;
        ended = start(&mut composer, &format!("other{number}"));
        assert!(number <= 300, "it is never forgotten");
    }
    assert_eq!((number, composer.forgotten()), (256, 1), "as many are remembered");
    assert_eq!(field(&ended, "source"), ["first"]);
    assert_eq!(field(&ended, "id").len(), 1);
    // Those without tracks are not worth a word.
    assert_eq!(start(&mut composer, "last"), []);
    assert_eq!(composer.forgotten(), 1);
}

#[test]
fn a_format_without_streams_mixes_them_and_ours_does_not() {
    for (format, mixes) in [(Format::Mot, true), (Format::Coco, true), (Format::Json, false)] {
        let mut composer = composer(RecordKinds::FRAMES, 0);
        composer.params.format = format;
        for (stream, expected) in [("one", false), ("one", false), ("two", mixes), ("one", mixes)] {
            start(&mut composer, stream);
            frame(&mut composer, 0, 1);
            composer.passed();
            assert_eq!(composer.mixes_streams(), expected, "{format:?}");
        }
    }
}
