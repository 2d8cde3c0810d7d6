//! Decoders that fail or do not return: of streams that share a model, only their own ends or waits.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{LazyLock, Mutex, Once};

use cudainfer_tests::{LIMIT, Report, TestPipeline};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;
use gstcudainfer::caps;
use gstcudainfer::decoding::{Counts, Decode, DecodingElement, DecodingElementImpl, Incoming, Reading, Side};
use gstcudainfer::meta::object::objects;
use gstcudainfer::meta::tensor::TensorSet;

use super::{PERSON, assert_found, before, register};

/// Frames of a stream, and the one with which decoders fail.
const FRAMES: u32 = 20;
const BAD: u32 = 3;

/// The decoder called `slow` waits for this with its first frame.
static GATE: Mutex<Option<Receiver<()>>> = Mutex::new(None);

mod imp {
    use super::*;

    /// Finds nothing, and fails or waits at a frame, as its name says.
    #[derive(Default)]
    pub struct Faulty;

    #[glib::object_subclass]
    impl ObjectSubclass for Faulty {
        const NAME: &'static str = "TestFaultyDecoder";
        type Type = super::Faulty;
        type ParentType = DecodingElement;
    }

    impl ObjectImpl for Faulty {}
    impl GstObjectImpl for Faulty {}

    impl ElementImpl for Faulty {
        fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
            static METADATA: LazyLock<gst::subclass::ElementMetadata> =
                LazyLock::new(|| gst::subclass::ElementMetadata::new("Faulty", "Filter", "Fails", "Tests"));
            Some(&METADATA)
        }

        fn pad_templates() -> &'static [gst::PadTemplate] {
            static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> =
                LazyLock::new(|| caps::pad_templates(&caps::sink_template(), &caps::any_video()));
            &TEMPLATES
        }
    }

    impl BaseTransformImpl for Faulty {
        const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
        const PASSTHROUGH_ON_SAME_CAPS: bool = false;
        const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;
    }

    impl DecodingElementImpl for Faulty {
        const COUNTS: &'static [&'static str] = &[];
        const NON_FINITE: &'static str = "";

        fn category() -> gst::DebugCategory {
            *gst::CAT_RUST
        }

        fn prepare(&self, _incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
            Ok(Box::new(Decoder { fault: self.obj().name().into(), frame: 0 }))
        }

        fn reading(&self, incoming: &Incoming<'_>) -> Reading {
            Reading::of(incoming, incoming.info, "nothing")
        }
    }

    struct Decoder {
        fault: String,
        frame: u32,
    }

    impl Decode for Decoder {
        fn decode(
            &mut self,
            _sets: &[TensorSet],
            _frame: &mut gst::BufferRef,
            _side: &Side,
            _counts: &mut Counts,
        ) -> Result<(), String> {
            self.frame += 1;
            match self.fault.as_str() {
                "slow" if self.frame == 1 => {
                    let gate = GATE.lock().unwrap().take().unwrap();
                    gate.recv_timeout(LIMIT).map_err(|_| "nobody opens the gate".to_owned())
                }
                "fails" if self.frame == BAD => Err("the third frame is bad".into()),
                "panics" if self.frame == BAD => panic!("the third frame is out of bounds"),
                _ => Ok(()),
            }
        }
    }
}

glib::wrapper! {
    /// The element.
    pub struct Faulty(ObjectSubclass<imp::Faulty>) @extends DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// A stream of red frames that shares a model with all of the same `instance`, and its decoder.
fn stream(instance: &str, decoder: &str) -> TestPipeline {
    static ONCE: Once = Once::new();
    register();
    ONCE.call_once(|| {
        gst::Element::register(None, "faultydecoder", gst::Rank::NONE, Faulty::static_type()).unwrap();
    });
    let infer = format!("instance={instance} batch-size=2 max-in-flight=4");
    TestPipeline::new(&format!(
        "{} ! {decoder} ! fakesink name=out",
        before(FRAMES, "0xffff0000", "", &infer)
    ))
}

/// Plays a stream to its end: each frame must have its person.
#[track_caller]
fn runs_well(pipeline: &TestPipeline) {
    let frames = pipeline.collect("out");
    let _ = pipeline.set_state(gst::State::Playing);
    pipeline.wait().succeeds();
    let frames = frames.lock().unwrap();
    assert_eq!(frames.len(), usize::try_from(FRAMES).unwrap());
    for frame in frames.iter() {
        let [person] = &objects(frame)[..] else { panic!("there is one person") };
        assert_found(person, &[PERSON]);
    }
}

/// Plays two streams with one model, of which the first decoder fails.
fn beside_a_good_one(instance: &str, bad: &TestPipeline) -> Report {
    let good = stream(instance, "yolov2rs");
    let frames = bad.collect("out");
    let _ = bad.set_state(gst::State::Playing);
    runs_well(&good);
    let report = bad.wait();
    assert_eq!(frames.lock().unwrap().len(), usize::try_from(BAD - 1).unwrap(), "{report:?}");
    report
}

#[test]
fn a_decoder_that_fails_or_panics_ends_its_own_stream_only() {
    for (fault, sentence) in
        [("fails", "fails: the third frame is bad"), ("panics", "the third frame is out of bounds")]
    {
        let bad = stream(fault, &format!("faultydecoder name={fault}"));
        beside_a_good_one(fault, &bad).fails_with(&[sentence]);
    }
}

/// Gives an element of a pipeline another name, of any bytes.
fn rename(pipeline: &TestPipeline, element: &gst::Element, name: &std::ffi::CStr) {
    let peer = |pad: &str| element.static_pad(pad).unwrap().peer().unwrap();
    let (before, after) = (peer("sink"), peer("src"));
    before.unlink(&element.static_pad("sink").unwrap()).unwrap();
    element.static_pad("src").unwrap().unlink(&after).unwrap();
    pipeline.remove(element).unwrap();
    // SAFETY: the element is alive and has no parent now, and the name ends with a zero.
    let renamed =
        unsafe { gst::ffi::gst_object_set_name(element.upcast_ref::<gst::Object>().as_ptr(), name.as_ptr()) };
    assert_ne!(renamed, 0);
    pipeline.add(element).unwrap();
    before.link(&element.static_pad("sink").unwrap()).unwrap();
    element.static_pad("src").unwrap().link(&after).unwrap();
}

#[test]
fn the_decoder_in_c_that_gets_no_tensor_ends_its_own_stream_only_and_is_named_whatever_its_name_is() {
    for (instance, name, named) in [
        ("stripped", c"mine", "mine: "),
        ("stripped-nameless", c"", "yolov2c: "),
        ("stripped-bytes", c"\xff\xfe", "\u{fffd}\u{fffd}: "),
    ] {
        stripped(instance, name, named);
    }
}

/// Plays a stream whose decoder in C has this name and gets a frame without its tensor.
fn stripped(instance: &str, name: &std::ffi::CStr, named: &str) {
    let bad = stream(instance, "yolov2c name=mine");
    let mut frame = 0;
    let strip = Mutex::new(move |info: &mut gst::PadProbeInfo<'_>| {
        frame += 1;
        if let Some(gst::PadProbeData::Buffer(buffer)) = info.data.as_mut().filter(|_| frame == BAD) {
            TensorSet::take(buffer.make_mut());
        }
        gst::PadProbeReturn::Ok
    });
    let decoder = bad.element("mine");
    rename(&bad, &decoder, name);
    let pad = decoder.static_pad("sink").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| (strip.lock().unwrap())(info));
    let report = beside_a_good_one(instance, &bad);
    let sentence = report.fails_with(&["a frame came without tensors"]);
    assert!(sentence.contains(&format!("{named}a frame")), "{sentence}");
}

#[test]
fn a_decoder_that_does_not_return_delays_its_own_stream_only() {
    let (open, gate): (Sender<()>, _) = channel();
    *GATE.lock().unwrap() = Some(gate);
    let slow = stream("slow", "faultydecoder name=slow");
    let frames = slow.collect("out");
    let _ = slow.set_state(gst::State::Playing);
    cudainfer_tests::until("the decoder waits", || GATE.lock().unwrap().is_none());
    // These streams run from begin to end while the other one is at its first frame.
    runs_well(&stream("slow", "yolov2rs"));
    runs_well(&stream("slow", "yolov2c"));
    assert_eq!(frames.lock().unwrap().len(), 0);
    open.send(()).unwrap();
    slow.wait().succeeds();
    assert_eq!(frames.lock().unwrap().len(), usize::try_from(FRAMES).unwrap());
}
