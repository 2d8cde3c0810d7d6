//! Wrong URIs of brokers, and secrets that must stay hidden.

use cudainfer_tests::{TestPipeline, run, scratch, until};
use gst::prelude::*;

const SOURCE: &str = "videotestsrc num-buffers=3 ! video/x-raw,width=16,height=16";

#[test]
fn a_broker_that_is_named_wrongly_is_a_sentence() {
    let folder = scratch("publishing");
    let none = folder.join("none");
    std::fs::write(&none, "no certificate").unwrap();
    let none = none.display();
    for (properties, parts) in [
        ("location=amqp://host/x", &["inferpublish", "'amqp'", "mqtt"][..]),
        ("location=mqtt:///x", &["no host"]),
        ("location=mqtt://localhost", &["no topic"]),
        ("location=mqtt://localhost/a/+/b", &["'a/+/b'", "wildcard"]),
        ("location=nats://localhost/a%20b", &["'a b'", "space"]),
        ("location=unix:", &["no path"]),
        (&format!("location=mqtts://localhost/x tls-ca={none}"), &["tls-ca", "no certificate"]),
        ("location=mqtt://localhost/x tls-ca=/x", &["tls-ca", "not encrypted"]),
        ("location=mqtt://localhost/x credentials=/nowhere/login", &["'/nowhere/login'", "first line"]),
        ("location=mqtt://localhost/x spool=/dev/null/spool", &["/dev/null/spool", "spool"]),
    ] {
        run(&format!("{SOURCE} ! inferpublish {properties} ! fakesink")).fails_with(parts);
    }
}

#[test]
fn a_spool_belongs_to_one_element() {
    let spool = scratch("spool");
    let publish = format!("inferpublish location=redis://localhost:1/x spool={}", spool.display());
    run(&format!("{SOURCE} ! {publish} ! {publish} ! fakesink"))
        .fails_with(&["in use by another part of this process"]);
}

#[test]
fn a_password_in_a_uri_is_refused_and_not_to_be_read() {
    for uri in
        ["mqtt://me:secret@localhost/x", "redis://:se/secret@localhost/x", "https://secret@localhost/x?a=b"]
    {
        let pipeline =
            TestPipeline::new(&format!("{SOURCE} ! inferpublish name=publish location={uri} ! fakesink"));
        let shown = pipeline.element("publish").property::<String>("location");
        assert!(shown.contains("***@localhost") && !shown.contains("secret"), "{shown}");
        let dot = pipeline.debug_to_dot_data(gst::DebugGraphDetails::all());
        assert!(!dot.contains("secret"), "{dot}");
        let _ = pipeline.set_state(gst::State::Playing);
        let report = pipeline.wait();
        report.fails_with(&["credentials", "CUDAINFER_PUBLISH_USER"]);
        assert!(!format!("{report:?}").contains("secret"), "{report:?}");
    }
}

#[test]
fn what_only_brokers_know_is_warned_about_with_a_file() {
    let report = run(&format!("{SOURCE} ! inferpublish location=/dev/null spool=/tmp ! fakesink")).succeeds();
    assert!(report.warnings.iter().any(|said| said.contains("spool has no effect")), "{report:?}");
}

/// A broker that does not answer, because port 1 is closed.
#[test]
fn frames_do_not_wait_for_a_broker_that_is_not_there_and_losses_are_counted() {
    let pipeline = TestPipeline::start(
        "videotestsrc num-buffers=200 ! video/x-raw,width=16,height=16 \
         ! inferpublish name=publish location=redis://localhost:1/x queue-size=10 ! fakesink name=out",
    );
    let count = |field: &str| {
        pipeline.element("publish").property::<gst::Structure>("stats").get::<u64>(field).unwrap()
    };
    until("all frames", || count("frames") == 200);
    let report = pipeline.wait();
    assert!(report.eos && report.errors.is_empty(), "{report:?}");
    let said = report.warnings.join("\n");
    for part in ["takes no messages", "a record was dropped", "leaky=downstream", "are not written"] {
        assert!(said.contains(part), "{said}");
    }
    pipeline.stop();
    // Records that were still in the queue or in delivery are lost at the end.
    assert_eq!(count("written"), 0);
    assert_eq!(count("dropped") + count("failed"), 200);
}
