//! Changes that come while a pipeline is being built, or while another one replaces it: a change that is answered with `live` is
//! in the pipeline that plays.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use cudainfer_serve::fleet::{Applied, Fleet};
use cudainfer_tests::{LIMIT, until};
use gst::prelude::*;
use serde_json::{Value, json};

use crate::fleet::{ends_undisturbed, fleet, frames_come};

/// An element that passes frames. While the gate is closed, the first one that is made waits in the thread that builds a stream's
/// pipeline.
mod gate {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Mutex, Once};

    use gst::glib;
    use gst::prelude::*;
    use gst::subclass::prelude::*;

    /// Gets a message when the element waits, and the receiver on which the element waits.
    static CLOSED: Mutex<Option<(Sender<()>, Receiver<()>)>> = Mutex::new(None);

    #[derive(Default)]
    pub struct GateImp;

    #[glib::object_subclass]
    impl ObjectSubclass for GateImp {
        const NAME: &'static str = "TestGate";
        type Type = Gate;
        type ParentType = gst::Bin;
    }

    impl ObjectImpl for GateImp {
        fn constructed(&self) {
            self.parent_constructed();
            let inner = gst::ElementFactory::make("identity").name("passes").build().unwrap();
            self.obj().add(&inner).unwrap();
            for name in ["sink", "src"] {
                let pad = gst::GhostPad::with_target(&inner.static_pad(name).unwrap()).unwrap();
                self.obj().add_pad(&pad).unwrap();
            }
            if std::thread::current().name().is_some_and(|name| name.starts_with("run:gated")) {
                let closed = CLOSED.lock().unwrap().take();
                if let Some((waits, opened)) = closed {
                    waits.send(()).unwrap();
                    // Nothing is sent: this returns when the sender is dropped.
                    let _ = opened.recv();
                }
            }
        }
    }

    impl GstObjectImpl for GateImp {}
    impl ElementImpl for GateImp {}
    impl BinImpl for GateImp {}

    glib::wrapper! {
        pub struct Gate(ObjectSubclass<GateImp>) @extends gst::Bin, gst::Element, gst::Object, @implements gst::ChildProxy;
    }

    /// Has the next pipeline wait while it is built. Returns a receiver, which gets a message when it waits, and a sender:
    /// dropping it lets the pipeline go on.
    pub fn close() -> (Receiver<()>, Sender<()>) {
        static REGISTERED: Once = Once::new();
        cudainfer_tests::init();
        REGISTERED.call_once(|| {
            gst::Element::register(None, "gate", gst::Rank::NONE, Gate::static_type()).unwrap()
        });
        let ((waits, waiting), (open, opened)) = (channel(), channel());
        *CLOSED.lock().unwrap() = Some((waits, opened));
        (waiting, open)
    }
}

fn source(name: &str) -> String {
    format!(
        "[[source]]\nname = \"{name}\"\nuri = \"test://ball?width=64&height=48&rate=20\"\npipeline = \"count\"\n\
         zones = [{{ name = \"old\", kind = \"line\", points = [[0, 10], [60, 10]] }}]\n"
    )
}

fn new_zones() -> Value {
    json!({"zones": [{"name": "new", "kind": "line", "points": [[0, 20], [60, 20]]}]})
}

fn zones(fleet: &Fleet, name: &str) -> String {
    let counter = fleet.built(name).unwrap().description.element("zonecount").unwrap();
    counter.property::<Option<String>>("zones").unwrap()
}

#[test]
fn zones_that_are_set_while_a_pipeline_is_built_are_in_it() {
    let (waits, open) = gate::close();
    let fleet = fleet(&format!("[pipeline.count]\nline = \"gate ! zonecount\"\n{}", source("gated")));
    waits.recv_timeout(LIMIT).unwrap();
    assert_eq!(fleet.change("gated", &new_zones()).unwrap().applied, Applied::Live);
    drop(open);
    frames_come(&fleet, "gated", 5);
    assert!(zones(&fleet, "gated").starts_with("new="), "{}", zones(&fleet, "gated"));
    ends_undisturbed(&fleet);
}

#[test]
fn zones_that_are_set_on_a_pipeline_that_stops_are_in_the_one_that_takes_its_place() {
    let fleet = fleet(&format!("[pipeline.count]\nline = \"zonecount\"\n{}", source("stopping")));
    frames_come(&fleet, "stopping", 5);
    let stops = fleet.built("stopping").unwrap();
    let ((waits, waiting), (open, opened)) = (channel(), channel::<()>());
    let opened = Mutex::new(opened);
    stops.description.element("zonecount").unwrap().connect_notify(Some("zones"), move |_, _| {
        let _ = waits.send(());
        let _ = opened.lock().unwrap().recv();
    });
    let changes = {
        let fleet = fleet.clone();
        std::thread::spawn(move || fleet.change("stopping", &new_zones()).unwrap().applied)
    };
    waiting.recv_timeout(LIMIT).unwrap();
    gst::element_error!(stops.pipeline, gst::StreamError::Failed, ["as a camera that breaks off"]);
    until("another pipeline is there", || {
        fleet.built("stopping").is_some_and(|built| built.pipeline != stops.pipeline)
    });
    frames_come(&fleet, "stopping", 5);
    drop(open);
    assert_eq!(changes.join().unwrap(), Applied::Live);
    assert!(zones(&fleet, "stopping").starts_with("new="), "{}", zones(&fleet, "stopping"));
    ends_undisturbed(&fleet);
}
