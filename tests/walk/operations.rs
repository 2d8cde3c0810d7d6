//! What is done to a stream, or to all of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudainfer_tests::dice::Dice;
use cudainfer_tests::{CLOCK_LIMIT, LIMIT, model};
use gst::prelude::*;
use gst::{ClockTime, SeekFlags, SeekType, State};

use crate::disposal;
use crate::stream::{Kind, Stream, ZONES};
use crate::walk::Walk;

/// One thing that users do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A stream is removed, if it is there, and another one is added in its place.
    AddOrRemove,
    /// An element is taken out between two others and another one is put there, while frames flow.
    Replace,
    /// Another model, or a file that is none.
    Model,
    /// Other zones, or what is no zone.
    Zones,
    /// Other classes of a model that gets them from a property.
    Constants,
    /// Any other property that may be set while frames flow, to any of its values.
    Property,
    /// Other frames: their format, size or rate.
    Caps,
    /// A flush from the source.
    Flush,
    /// A seek, at the rate 0.5, 1, 2 or -1, with a flush or without.
    Seek,
    /// A gap.
    Gap,
    /// The stream ends.
    End,
    /// It pauses and goes on.
    Pause,
    /// It is stopped and started.
    Null,
    /// All streams pause or stop, and go on.
    All,
    /// Several threads set states at the same time.
    Threads,
    /// An element is given up while it plays.
    Dispose,
    /// Frames flow.
    Wait,
}

use Operation::*;

/// How often each is done, of all that is done.
const OFTEN: [(Operation, usize); 17] = [
    (AddOrRemove, 8),
    (Replace, 8),
    (Model, 6),
    (Zones, 6),
    (Constants, 6),
    (Property, 16),
    (Caps, 8),
    (Flush, 8),
    (Seek, 10),
    (Gap, 6),
    (End, 4),
    (Pause, 6),
    (Null, 6),
    (All, 1),
    (Threads, 4),
    (Dispose, 1),
    (Wait, 6),
];

impl Operation {
    /// One of them.
    pub fn draw(dice: &mut Dice) -> Self {
        let mut left = dice.roll(OFTEN.iter().map(|(_, often)| often).sum());
        for (operation, often) in OFTEN {
            if left < often {
                return operation;
            }
            left -= often;
        }
        Wait
    }
}

/// Does it to a stream; returns what was done in detail. Nothing is done where it would wait for frames that do not flow.
pub fn apply(walk: &mut Walk, operation: Operation, place: usize) -> String {
    if operation == AddOrRemove {
        return walk.add_or_remove(place);
    }
    if operation == All {
        return all(walk);
    }
    if operation == Threads {
        return threads(walk, place);
    }
    let pipeline = walk.pipeline.clone();
    let (dice, stream) = (&mut walk.dice, &mut walk.streams[place]);
    if operation == Dispose {
        walk.disposed += 1;
        return disposal::dispose(dice);
    }
    let Some(stream) = stream else { return "there is no stream".into() };
    let plays = stream.bin.current_state() == State::Playing && pipeline.current_state() == State::Playing;
    // A stream that has ended is begun again by a seek.
    if stream.ledger.has_ended() && plays && dice.roll(2) == 0 {
        return seek(dice, stream);
    }
    match operation {
        // While a stream starts, what is downstream of an element decides about its caps.
        Replace if plays && stream.ledger.flows() && !stream.ledger.has_ended() => replace(dice, stream),
        Model => set_model(dice, stream),
        Zones => set_zones(dice, stream),
        Constants if stream.kind == Kind::Vocabulary => set_constants(dice, stream),
        Property => set_property(dice, stream),
        Caps => set_caps(dice, stream),
        Flush if plays => flush(dice, stream),
        Seek if plays => seek(dice, stream),
        Gap if plays => gap(dice, stream),
        End if plays => {
            stream.element("source").send_event(gst::event::Eos::new());
            String::new()
        }
        Pause => {
            stream.bin.set_state(State::Paused).unwrap();
            std::thread::sleep(Duration::from_millis(dice.roll(5) as u64));
            play(&stream.bin)
        }
        Null => {
            let state = *dice.pick(&[State::Null, State::Ready]);
            stream.bin.set_state(state).unwrap();
            mend(stream);
            let bin = stream.bin.clone();
            walk.pardon(place);
            format!("{state:?}{}", play(&bin))
        }
        _ => {
            std::thread::sleep(Duration::from_millis(dice.roll(20) as u64));
            String::new()
        }
    }
}

/// Sets the model and the zones that the stream began with, where those that were set last cannot be started.
fn mend(stream: &mut Stream) {
    if std::mem::take(&mut stream.must_mend) {
        stream.element("infer").set_property("model", stream.kind.model());
        stream.element("zones").set_property("zones", ZONES);
    }
}

/// What is said of a stream that does not start.
pub const FAILED: &str = "does not play";

/// Starts, and waits until it plays. Returns what is wrong where it does not.
fn play(element: &impl IsA<gst::Element>) -> String {
    let element = element.upcast_ref::<gst::Element>();
    let played = element.set_state(State::Playing).and_then(|_| element.state(CLOCK_LIMIT).0);
    played.map_or_else(|_| format!("{} {FAILED}", element.name()), |_| String::new())
}

/// All streams through another state.
fn all(walk: &mut Walk) -> String {
    let state = *walk.dice.pick(&[State::Paused, State::Ready, State::Null]);
    walk.pipeline.set_state(state).unwrap();
    if state != State::Paused {
        // Also those that share an instance and have another model than one that is mended.
        for stream in walk.streams.iter_mut().flatten() {
            stream.must_mend = true;
            mend(stream);
        }
        (0..walk.streams.len()).for_each(|place| walk.pardon(place));
    }
    format!("{state:?}{}", play(&walk.pipeline))
}

/// How long a frame is waited for, after which the next one would be seconds away, as at the end of a seek backwards.
const PUSHED: Duration = Duration::from_secs(1);

/// Another element in the place of one, as programs do it: in the thread that pushes, before a frame.
fn replace(dice: &mut Dice, stream: &Stream) -> String {
    // The element, the one before it and the one after it.
    let [before, name, after] = *dice.pick(&[
        ["nms", "track", "zones"],
        ["track", "zones", "overlay"],
        ["zones", "overlay", "publish"],
        ["overlay", "publish", "out"],
        ["door", "pre", "infer"],
        ["pre", "infer", "nms"],
    ]);
    let (old, bin, ledger) = (stream.element(name), stream.bin.clone(), stream.ledger.clone());
    let (before, after) = (stream.element(before), stream.element(after));
    let new = gst::ElementFactory::make(&old.factory().unwrap().name()).build().unwrap();
    for property in old.list_properties() {
        let kept = ["location", "zones", "units", "font", "model", "device", "workers", "leaky", "constants"]
            .into_iter()
            .chain(["instance", "batch-size", "batch-timeout", "max-in-flight"]);
        if kept.into_iter().any(|kept| kept == property.name()) {
            new.set_property_from_value(property.name(), &old.property_value(property.name()));
        }
    }
    match name {
        "infer" if stream.must_mend => new.set_property("model", stream.kind.model()),
        "zones" if stream.must_mend => new.set_property("zones", ZONES),
        _ => (),
    }
    let (done, wait) = std::sync::mpsc::channel();
    let pad = before.static_pad("src").unwrap();
    let task = move || {
        if name == "infer" {
            ledger.may_lose();
        }
        before.unlink(&old);
        old.set_state(State::Null).unwrap();
        old.unlink(&after);
        bin.remove(&old).unwrap();
        new.set_property("name", name);
        bin.add(&new).unwrap();
        gst::Element::link_many([&before, &new, &after]).unwrap();
        let _ = done.send(new.sync_state_with_parent());
    };
    let task = Arc::new(Mutex::new(Some(task)));
    let own = Arc::clone(&task);
    let probe = pad.add_probe(gst::PadProbeType::BLOCK | gst::PadProbeType::BUFFER, move |_, _| {
        if let Some(task) = own.lock().unwrap().take() {
            task();
        }
        gst::PadProbeReturn::Remove
    });
    let mut replaced = wait.recv_timeout(PUSHED);
    if replaced.is_err() {
        if task.lock().unwrap().take().is_some() {
            probe.into_iter().for_each(|probe| pad.remove_probe(probe));
            return "no frame comes".into();
        }
        replaced = wait.recv_timeout(LIMIT);
    }
    replaced.unwrap().unwrap_or_else(|e| panic!("{name}: {e}"));
    name.into()
}

fn set_model(dice: &mut Dice, stream: &mut Stream) -> String {
    if stream.kind == Kind::Vocabulary {
        return String::new();
    }
    let name =
        *dice.pick(&["detector-batch", "detector-retrained", "detector-larger", "not-onnx", "text-output"]);
    // An element that starts with a model that the shared instance has not taken over is refused.
    stream.must_mend |= ["not-onnx", "text-output"].contains(&name) || stream.kind == Kind::Shared;
    stream.element("infer").set_property("model", model(name));
    name.into()
}

fn set_zones(dice: &mut Dice, stream: &mut Stream) -> String {
    let zones = *dice.pick(&[
        ZONES,
        "left=polygon:0,0,0.5,0,0.5,1,0,1:dwell=1;right=polygon:0.5,0,1,0,1,1,0.5,1",
        "a=line:0,0,1,1;b=line:1,0,0,1;c=polygon:0.1,0.1,0.9,0.1,0.5,0.9:anchor=center",
        // None of these is taken over.
        "a=polygon:0,0,1,1",
        "a=line:0,0,1,1;a=line:1,0,0,1",
        "=",
    ]);
    let is_wrong = ["a=polygon:0,0,1,1", "a=line:0,0,1,1;a=line:1,0,0,1", "="].contains(&zones);
    let element = stream.element("zones");
    // Wrong zones are only refused where there are others.
    if !is_wrong || element.current_state() >= State::Paused {
        element.set_property("zones", zones);
        stream.must_mend |= is_wrong;
    }
    zones.into()
}

fn set_constants(dice: &mut Dice, stream: &Stream) -> String {
    let fields = *dice.pick(&[
        "txt_feats=<0.0,0.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0>,labels=<a,b,c>",
        "txt_feats=<0.0,0.0,0.0,1.0,0.0,0.0>,labels=<x,y>",
        "txt_feats=<1.0,0.0,0.0>,labels=<only>",
    ]);
    let value = (dice.roll(4) > 0).then(|| format!("constants,{fields}").parse::<gst::Structure>().unwrap());
    let done = format!("{value:?}");
    stream.element("infer").set_property("constants", value);
    done
}

/// A property of one of our elements that may be set while frames flow, to a value in its range.
fn set_property(dice: &mut Dice, stream: &Stream) -> String {
    let name = *dice.pick(&["pre", "infer", "nms", "track", "zones", "overlay", "publish"]);
    let element = stream.element(name);
    // Those that have an operation of their own, `leaky`, which permits losses, those that this model's decoder refuses, and `nms`,
    // which may lower confidences.
    let own = [
        "model",
        "labels",
        "constants",
        "zones",
        "zones-file",
        "leaky",
        "map-threshold",
        "unclip-ratio",
        "nms",
    ];
    let mut properties = element.list_properties().to_vec();
    properties.retain(|property| {
        property.owner_type().name().starts_with("GstCudaInfer")
            && property.flags().contains(gst::PARAM_FLAG_MUTABLE_PLAYING | gst::glib::ParamFlags::WRITABLE)
            && !own.contains(&property.name())
    });
    if properties.is_empty() {
        return format!("{name} has none");
    }
    let property = dice.pick(&properties).clone();
    let Some(value) = any_value(dice, &property) else { return format!("{name} {}", property.name()) };
    element.set_property_from_value(property.name(), &value);
    format!("{name} {}={value:?}", property.name())
}

/// A value that a property may have: an end of its range, or one between.
fn any_value(dice: &mut Dice, property: &gst::glib::ParamSpec) -> Option<gst::glib::Value> {
    use gst::glib::{self, EnumClass, value::ToValue};
    let mut between = |low: f64, high: f64| match dice.roll(4) {
        0 => low,
        1 => high,
        // Small ones are the usual ones.
        2 => low + (high - low).min(4.0) * dice.part(),
        _ => low + (high - low) * dice.part(),
    };
    if let Some(range) = property.downcast_ref::<glib::ParamSpecUInt>() {
        let value = between(f64::from(range.minimum()), f64::from(range.maximum()));
        return Some((value as u32).to_value());
    }
    if let Some(range) = property.downcast_ref::<glib::ParamSpecUInt64>() {
        return Some((between(range.minimum() as f64, range.maximum() as f64) as u64).to_value());
    }
    if let Some(range) = property.downcast_ref::<glib::ParamSpecInt>() {
        return Some((between(f64::from(range.minimum()), f64::from(range.maximum())) as i32).to_value());
    }
    if let Some(range) = property.downcast_ref::<glib::ParamSpecFloat>() {
        return Some((between(f64::from(range.minimum()), f64::from(range.maximum())) as f32).to_value());
    }
    if let Some(range) = property.downcast_ref::<glib::ParamSpecDouble>() {
        return Some(between(range.minimum(), range.maximum()).to_value());
    }
    if property.value_type() == bool::static_type() {
        return Some((dice.roll(2) == 0).to_value());
    }
    if let Some(class) = EnumClass::with_type(property.value_type()) {
        return class.to_value(dice.pick(class.values()).value());
    }
    // Classes that a model lacks are an error of gpunms; the others take any.
    let any = property.owner_type().name() == "GstCudaInferInferOverlay";
    let texts: &[&str] = if any { &["", "red", "red,blue", "*"] } else { &[""] };
    (property.value_type() == String::static_type()).then(|| dice.pick(texts).to_value())
}

fn set_caps(dice: &mut Dice, stream: &Stream) -> String {
    let format = dice.pick(&["RGB", "BGR", "RGBx", "BGRA", "I420"]);
    let (width, height) = dice.pick(&[(16, 12), (64, 48), (8, 8), (322, 200)]);
    let rate = dice.pick(&[10, 25, 100]);
    let caps = format!("video/x-raw,format={format},width={width},height={height},framerate={rate}/1");
    stream.element("caps").set_property("caps", caps.parse::<gst::Caps>().unwrap());
    caps
}

fn flush(dice: &mut Dice, stream: &Stream) -> String {
    let source = stream.element("source");
    let number = gst::Seqnum::next();
    source.send_event(gst::event::FlushStart::builder().seqnum(number).build());
    let resets = dice.roll(4) > 0;
    source.send_event(gst::event::FlushStop::builder(resets).seqnum(number).build());
    format!("reset-time={resets}")
}

fn seek(dice: &mut Dice, stream: &Stream) -> String {
    let rate = *dice.pick(&[0.5, 1.0, 2.0, -1.0]);
    let flushes = stream.ledger.has_ended() || dice.roll(4) > 0;
    let flags = if flushes { SeekFlags::FLUSH | SeekFlags::ACCURATE } else { SeekFlags::ACCURATE };
    let to = ClockTime::from_mseconds(dice.roll(5000) as u64);
    let (start, stop) =
        if rate < 0.0 { (ClockTime::ZERO, to) } else { (to, to + ClockTime::from_seconds(60)) };
    let event = gst::event::Seek::new(rate, flags, SeekType::Set, start, SeekType::Set, stop);
    let done = stream.element("out").send_event(event);
    format!("{rate} {start} {stop}, flush {flushes}: {done}")
}

fn gap(dice: &mut Dice, stream: &Stream) -> String {
    let sink = stream.element("pre").static_pad("sink").unwrap();
    let at = ClockTime::from_mseconds(dice.roll(5000) as u64);
    let gap = gst::event::Gap::builder(at).duration(ClockTime::from_mseconds(10)).build();
    format!("{at}: {}", sink.send_event(gap))
}

/// Several threads set states of a stream and of the whole pipeline at the same time. None may hang; then the stream is started again, and
/// must play. A stream that is stopped while its caps are negotiated may end with an error: that is counted.
fn threads(walk: &mut Walk, place: usize) -> String {
    let seeds: Vec<u64> = (0..3).map(|_| walk.dice.roll(1 << 20) as u64).collect();
    let Some(stream) = &mut walk.streams[place] else { return "there is no stream".into() };
    mend(stream);
    let (bin, pipeline) = (stream.bin.clone(), walk.pipeline.clone());
    std::thread::scope(|scope| {
        for (index, seed) in seeds.iter().enumerate() {
            let mut dice = Dice::new(*seed);
            let (bin, pipeline) = (&bin, &pipeline);
            scope.spawn(move || {
                for _ in 0..1 + dice.roll(4) {
                    let state = *dice.pick(&[State::Null, State::Ready, State::Paused, State::Playing]);
                    // The pipeline pauses only: all streams would start again, those with a file for a model, too.
                    if index == 0 && state >= State::Paused {
                        let _ = pipeline.set_state(state);
                    } else {
                        let _ = bin.set_state(state);
                    }
                    std::thread::sleep(Duration::from_millis(dice.roll(5) as u64));
                }
            });
        }
    });
    bin.set_state(State::Null).unwrap();
    walk.pardon(place);
    format!("{seeds:?}{}{}", play(&pipeline), play(&bin))
}
