//! A client of live video: a webrtcbin that makes an offer, takes the answer and decodes.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use cudainfer_serve::output::webrtc::{SdpType, description_text, description_value};
use cudainfer_tests::LIMIT;
use glib::Value;
use gst::prelude::*;

/// The mean of the red, green and blue of a picture.
pub(crate) type Colour = [u8; 3];

/// A client that decodes.
pub(crate) struct Client {
    pipeline: gst::Pipeline,
    colours: Arc<Mutex<Vec<Colour>>>,
}

impl Client {
    /// A client and its offer, with one codec.
    pub(crate) fn new(codec: &str) -> (Self, String) {
        cudainfer_tests::init();
        let pipeline = gst::Pipeline::new();
        let webrtcbin = gst::ElementFactory::make("webrtcbin").name("client").build().unwrap();
        webrtcbin.set_property_from_str("bundle-policy", "max-bundle");
        pipeline.add(&webrtcbin).unwrap();
        let colours = Arc::new(Mutex::new(Vec::new()));
        let (into, seen) = (pipeline.downgrade(), Arc::clone(&colours));
        webrtcbin.connect_pad_added(move |_, pad| {
            if let Some(pipeline) = into.upgrade().filter(|_| pad.direction() == gst::PadDirection::Src) {
                decode(&pipeline, pad, &seen);
            }
        });
        pipeline.set_state(gst::State::Playing).unwrap();
        let direction = glib::Type::from_name("GstWebRTCRTPTransceiverDirection").unwrap();
        let receive = glib::EnumClass::with_type(direction).unwrap().to_value_by_nick("recvonly").unwrap();
        let mut caps = gst::Caps::builder("application/x-rtp")
            .field("media", "video")
            .field("encoding-name", codec)
            .field("payload", 100)
            .field("clock-rate", 90_000)
            .field("rtcp-fb-nack-pli", true);
        if codec == "H264" {
            caps = caps.field("packetization-mode", "1").field("profile-level-id", "42e01f");
        }
        webrtcbin.emit_by_name_with_values("add-transceiver", &[receive, caps.build().to_value()]);
        let client = Self { pipeline, colours };
        let nothing = None::<gst::Structure>.to_value();
        let offered = client.call("create-offer", nothing).unwrap();
        let offer: Value = offered.value("offer").unwrap().clone().into();
        let text = description_text(&offer).unwrap();
        client.call("set-local-description", offer);
        (client, text)
    }

    /// Takes the service's answer.
    pub(crate) fn answered(&self, answer: &str) {
        self.call("set-remote-description", description_value(SdpType::Answer, answer).unwrap());
    }

    fn call(&self, signal: &str, value: Value) -> Option<gst::Structure> {
        let (send, receive) = channel();
        let promise = gst::Promise::with_change_func(move |reply| {
            send.send(reply.unwrap().map(|reply| reply.to_owned())).unwrap();
        });
        let webrtcbin = self.pipeline.by_name("client").unwrap();
        webrtcbin.emit_by_name_with_values(signal, &[value, promise.to_value()]);
        let reply = receive.recv_timeout(LIMIT).unwrap();
        let error = reply.as_ref().and_then(|reply| reply.get::<glib::Error>("error").ok());
        assert!(error.is_none(), "{signal}: {error:?}");
        reply
    }

    /// How many pictures have been decoded.
    pub(crate) fn count(&self) -> usize {
        self.colours.lock().unwrap().len()
    }

    /// The colour of the last picture.
    pub(crate) fn colour(&self) -> Option<Colour> {
        self.colours.lock().unwrap().last().copied()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

/// Decodes what comes of a pad, and notes its colours.
fn decode(pipeline: &gst::Pipeline, pad: &gst::Pad, seen: &Arc<Mutex<Vec<Colour>>>) {
    let elements = "decodebin name=in ! videoconvert ! video/x-raw,format=RGB ! appsink name=out sync=false";
    let bin = gst::parse::bin_from_description(elements, false).unwrap();
    let entrance = bin.by_name("in").unwrap().static_pad("sink").unwrap();
    bin.add_pad(&gst::GhostPad::with_target(&entrance).unwrap()).unwrap();
    let out = bin.by_name("out").and_downcast::<gst_app::AppSink>().unwrap();
    let seen = Arc::clone(seen);
    let take = move |sink: &gst_app::AppSink| {
        let sample = sink.pull_sample().map_err(|_| gst::FlowError::Eos)?;
        let map = sample.buffer().unwrap().map_readable().unwrap();
        let mean = |channel: usize| {
            let values: u64 = map.iter().skip(channel).step_by(3).map(|value| u64::from(*value)).sum();
            u8::try_from(values / (map.len() as u64 / 3)).unwrap()
        };
        seen.lock().unwrap().push([mean(0), mean(1), mean(2)]);
        Ok(gst::FlowSuccess::Ok)
    };
    out.set_callbacks(gst_app::AppSinkCallbacks::builder().new_sample(take).build());
    pipeline.add(&bin).unwrap();
    bin.sync_state_with_parent().unwrap();
    pad.link(&bin.static_pad("sink").unwrap()).unwrap();
}
