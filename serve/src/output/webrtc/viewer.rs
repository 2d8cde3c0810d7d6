//! One client: the encoder's pictures as packets, and the connection to it.

use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use gst::glib;
use gst::prelude::*;

use super::broadcast::Audience;
use super::codec::Codec;
use super::description::{self, SdpType};
use super::entrance::Entrance;
use super::offer::{Format, Offer};
use crate::output::fed::FedPipeline;

/// How long webrtcbin may take for a step. It takes milliseconds; a machine that is busy, more.
const STEP: Duration = Duration::from_secs(5);

/// How long the addresses of this machine are gathered. No server outside is asked, so all are there at once.
const GATHERING: Duration = Duration::from_secs(3);

/// A client.
#[derive(Debug)]
pub struct Viewer {
    pipeline: FedPipeline,
    /// Where its pictures go in.
    pub entrance: Arc<Entrance>,
}

impl Viewer {
    /// Makes a client of an offer, and returns it with the answer.
    ///
    /// # Errors
    /// A sentence: an element is missing or failed, or does not take the offer.
    pub fn new(offer: &Offer, format: &Format, audience: &Weak<Audience>) -> Result<(Self, String), String> {
        let pipeline = FedPipeline::new(&description_of(format))?;
        let webrtcbin: gst::Element = pipeline.element("viewer")?;
        let entrance = Arc::new(Entrance::new(pipeline.source.clone()));
        let viewer = Self { pipeline, entrance };
        viewer.pass_requests_on(audience.clone());
        viewer.follow(&webrtcbin, audience.clone());
        viewer.listen(&webrtcbin);
        prepare(&webrtcbin, format)?;
        viewer.pipeline.play()?;
        let answer = negotiate(&webrtcbin, &offer.reduced(format))
            .map_err(|why| viewer.pipeline.failure().unwrap_or(why))?;
        Ok((viewer, offer.answer(&answer)))
    }

    /// Whether the client is gone, or has never come.
    pub fn is_over(&self) -> bool {
        self.pipeline.failure().is_some() || self.entrance.is_over()
    }

    /// Has the encoder make a key frame when the client reports that a picture is lost.
    fn pass_requests_on(&self, audience: Weak<Audience>) {
        let Some(pad) = self.pipeline.source.static_pad("src") else { return };
        pad.add_probe(gst::PadProbeType::EVENT_UPSTREAM, move |_, info| {
            let is_request = info.event().is_some_and(|event| gst_video::ForceKeyUnitEvent::is(event));
            if let Some(audience) = audience.upgrade().filter(|_| is_request) {
                audience.ask_for_key();
            }
            gst::PadProbeReturn::Ok
        });
    }

    /// Notes when something of the client comes: webrtcbin still calls a client connected that went without a word.
    fn listen(&self, webrtcbin: &gst::Element) {
        let Some(bin) = webrtcbin.downcast_ref::<gst::Bin>() else { return };
        let entrance = Arc::downgrade(&self.entrance);
        bin.connect_deep_element_added(move |_, _, element| {
            let is_source = element.factory().is_some_and(|factory| factory.name() == "nicesrc");
            let Some(pad) = element.static_pad("src").filter(|_| is_source) else { return };
            let entrance = Weak::clone(&entrance);
            let all = gst::PadProbeType::BUFFER | gst::PadProbeType::BUFFER_LIST;
            pad.add_probe(all, move |_, _| {
                if let Some(entrance) = entrance.upgrade() {
                    entrance.hear();
                }
                gst::PadProbeReturn::Ok
            });
        });
    }

    /// Follows the connection. The first picture is sent as soon as it is there.
    fn follow(&self, webrtcbin: &gst::Element, audience: Weak<Audience>) {
        let entrance = Arc::downgrade(&self.entrance);
        webrtcbin.connect_notify(Some("connection-state"), move |webrtcbin, _| {
            let Some(entrance) = entrance.upgrade() else { return };
            let state = nick(webrtcbin, "connection-state");
            let is_new = entrance.report(&state);
            if let Some(audience) = audience.upgrade().filter(|_| is_new) {
                audience.begin();
            }
        });
    }
}

fn description_of(format: &Format) -> String {
    let Format { codec, payload, .. } = format;
    let payloader = match codec {
        Codec::H264 => "rtph264pay config-interval=-1 aggregate-mode=zero-latency",
        Codec::Vp8 => "rtpvp8pay picture-id-mode=15-bit",
    };
    format!(
        "appsrc name=frames is-live=true do-timestamp=true format=time max-buffers=0 max-bytes=0 ! {payloader} pt={payload} mtu=1200 \
         ! application/x-rtp,media=video,encoding-name={},payload={payload},clock-rate=90000 \
         ! webrtcbin name=viewer bundle-policy=max-bundle",
        codec.name()
    )
}

/// Sends only, in this format, and by UDP only.
fn prepare(webrtcbin: &gst::Element, format: &Format) -> Result<(), String> {
    let pad = webrtcbin.static_pad("sink_0").ok_or("webrtcbin has no pad for the video")?;
    let transceiver =
        pad.property::<Option<glib::Object>>("transceiver").ok_or("webrtcbin's pad has no transceiver")?;
    transceiver.set_property_from_str("direction", "sendonly");
    let caps = gst::Caps::builder("application/x-rtp")
        .field("media", "video")
        .field("encoding-name", format.codec.name())
        .field("payload", i32::from(format.payload))
        .field("clock-rate", 90_000_i32)
        .build();
    transceiver.set_property("codec-preferences", caps);
    if let Some(agent) = webrtcbin.property::<Option<glib::Object>>("ice-agent") {
        switch_off(&agent, "ice-tcp");
        let nice = agent.find_property("agent").and_then(|_| agent.property::<Option<glib::Object>>("agent"));
        if let Some(nice) = nice {
            // Nothing here may ask a router to open a port to the outside.
            switch_off(&nice, "upnp");
        }
    }
    Ok(())
}

/// Sets a property to false, if there is one of this name.
fn switch_off(object: &glib::Object, property: &str) {
    if object.find_property(property).is_some_and(|spec| spec.value_type() == glib::Type::BOOL) {
        object.set_property(property, false);
    }
}

/// Has webrtcbin answer the offer. Returns its answer, with all addresses of this machine.
fn negotiate(webrtcbin: &gst::Element, offer: &str) -> Result<String, String> {
    let offer = description::to_value(SdpType::Offer, offer)?;
    step(|promise| {
        webrtcbin.emit_by_name_with_values("set-remote-description", &[offer, promise.to_value()])
    })?;
    let nothing = None::<gst::Structure>.to_value();
    let answered =
        step(|promise| webrtcbin.emit_by_name_with_values("create-answer", &[nothing, promise.to_value()]))?;
    let answer =
        answered.as_ref().and_then(|reply| reply.value("answer").ok()).ok_or("webrtcbin has no answer")?;
    let answer: glib::Value = answer.clone().into();
    step(|promise| {
        webrtcbin.emit_by_name_with_values("set-local-description", &[answer, promise.to_value()])
    })?;
    let begun = Instant::now();
    while nick(webrtcbin, "ice-gathering-state") != "complete" && begun.elapsed() < GATHERING {
        std::thread::sleep(Duration::from_millis(10));
    }
    let answer = description::text(&webrtcbin.property_value("local-description"));
    let answer = answer.ok_or("webrtcbin has no answer")?;
    if !answer.contains("a=candidate:") {
        return Err("this machine has no address that a client could reach".into());
    }
    Ok(answer)
}

/// Calls webrtcbin, and waits for what it replies.
fn step(call: impl FnOnce(&gst::Promise) -> Option<glib::Value>) -> Result<Option<gst::Structure>, String> {
    let (send, receive) = channel();
    let promise = gst::Promise::with_change_func(move |reply| {
        let reply = reply
            .map(|reply| reply.map(|reply| reply.to_owned()))
            .map_err(|error| format!("webrtcbin: {error:?}"));
        let _ = send.send(reply);
    });
    call(&promise);
    let reply = receive.recv_timeout(STEP).map_err(|_| "webrtcbin does not answer")??;
    match reply.as_ref().and_then(|reply| reply.get::<glib::Error>("error").ok()) {
        Some(error) => Err(error.message().to_owned()),
        None => Ok(reply),
    }
}

/// The short name of the value of an enumeration.
fn nick(object: &gst::Element, property: &str) -> String {
    let value = object.property_value(property);
    glib::EnumValue::from_value(&value).map(|(_, value)| value.nick().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_router_is_asked_for_a_port() {
        gst::init().unwrap();
        let format = Offer::read(super::super::offer::tests::CHROMIUM).unwrap().formats[0].clone();
        let Ok(pipeline) = FedPipeline::new(&description_of(&format)) else {
            return eprintln!("skipped: there is no webrtcbin");
        };
        let webrtcbin: gst::Element = pipeline.element("viewer").unwrap();
        prepare(&webrtcbin, &format).unwrap();
        let agent = webrtcbin.property::<glib::Object>("ice-agent");
        assert!(!agent.property::<bool>("ice-tcp"));
        let nice = agent.property::<glib::Object>("agent");
        assert!(nice.find_property("upnp").is_none() || !nice.property::<bool>("upnp"));
    }
}
