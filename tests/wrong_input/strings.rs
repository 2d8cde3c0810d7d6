//! Properties that are strings, set to bytes that are no UTF-8. Whatever an application sets, its process goes on.

use std::ffi::CString;
use std::path::PathBuf;

use cudainfer_tests::{CLOCK_LIMIT, init, model};
use glib::prelude::*;
use glib::translate::*;
use gst::prelude::*;

/// Sets a property as C does, to any bytes.
pub(crate) fn set_bytes(element: &gst::Element, property: &str, bytes: &[u8]) {
    let (property, bytes) = (CString::new(property).unwrap(), CString::new(bytes).unwrap());
    let mut value = glib::Value::from_type(glib::Type::STRING);
    // SAFETY: both strings end in a zero byte, the value is one of a string, and the object lives.
    unsafe {
        glib::gobject_ffi::g_value_set_string(value.to_glib_none_mut().0, bytes.as_ptr());
        let object = element.as_ptr().cast();
        glib::gobject_ffi::g_object_set_property(object, property.as_ptr(), value.to_glib_none().0);
    }
}

/// A property as C gets it.
pub(crate) fn bytes_of(element: &gst::Element, property: &str) -> Option<Vec<u8>> {
    // Paths are the only strings of glib's that may be any bytes.
    let value = element.property_value(property).get::<Option<PathBuf>>().unwrap();
    value.map(|path| path.into_os_string().into_encoded_bytes())
}

/// Names of files may be any bytes.
const PATHS: [(&str, &str); 14] = [
    ("trtinfer", "model"),
    ("trtinfer", "labels"),
    ("trtinfer", "onnxruntime"),
    ("trtinfer", "openvino"),
    ("trtinfer", "provider-library"),
    ("trtinfer", "engine-cache"),
    ("zonecount", "zones-file"),
    ("identify", "gallery"),
    ("identify", "unknowns"),
    ("inferpublish", "spool"),
    ("inferpublish", "tls-ca"),
    ("inferpublish", "tls-cert"),
    ("inferpublish", "tls-key"),
    ("inferpublish", "credentials"),
];

/// Every string that can be set, as element and property.
fn strings() -> Vec<(String, String)> {
    init();
    let mut found = Vec::new();
    for feature in gst::Registry::get().features_by_plugin("cudainfer") {
        let Ok(factory) = feature.downcast::<gst::ElementFactory>() else { continue };
        let element = factory.create().build().unwrap();
        for property in element.list_properties() {
            let settable = property.flags().contains(glib::ParamFlags::WRITABLE);
            if property.value_type() == glib::Type::STRING && settable && property.name() != "name" {
                found.push((factory.name().to_string(), property.name().to_owned()));
            }
        }
    }
    found
}

/// An element that can start, with a bus of its own.
fn element(factory: &str) -> (gst::Element, gst::Bus) {
    let element = gst::ElementFactory::make(factory).build().unwrap();
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    match factory {
        "trtinfer" => element.set_property("model", model("detector")),
        "zonecount" => element.set_property("zones", "a=line:1,2,3,4"),
        _ => (),
    }
    (element, bus)
}

#[test]
fn every_string_takes_any_bytes_and_a_start_with_them_ends_in_an_error_or_succeeds() {
    let strings = strings();
    assert!(strings.len() > 15, "{strings:?}");
    for path in PATHS {
        assert!(strings.iter().any(|(e, p)| (e.as_str(), p.as_str()) == path), "{path:?} is gone");
    }
    let long = vec![b'a'; 1_000_000];
    for (factory, property) in &strings {
        for bytes in [b"caf\xe9".as_slice(), b"\xff\xfe", b"", &long] {
            let (element, bus) = element(factory);
            let before = bytes_of(&element, property);
            set_bytes(&element, property, bytes);
            let after = bytes_of(&element, property);
            let what =
                format!("{factory} {property}={:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(9)]));
            // The destination checks `location` itself.
            if property != "location" {
                let is_path = PATHS.contains(&(factory.as_str(), property.as_str()));
                let refused = !is_path && std::str::from_utf8(bytes).is_err();
                let warning = bus.pop_filtered(&[gst::MessageType::Warning]);
                assert_eq!(warning.is_some(), refused, "{what}: {warning:?}");
                if refused {
                    assert_eq!(after, before, "{what}");
                } else if !bytes.is_empty() {
                    assert_eq!(after.as_deref(), Some(bytes), "{what}");
                }
            }
            let started = element.set_state(gst::State::Ready);
            let error = bus.pop_filtered(&[gst::MessageType::Error]);
            assert!(started.is_ok() || error.is_some(), "{what}: it does not start, and does not say why");
            element.set_state(gst::State::Null).unwrap();
        }
    }
}

#[test]
fn a_pipeline_with_such_strings_ends_in_an_error_or_at_its_end() {
    for (factory, property) in strings() {
        // These need no neighbours of ours.
        if !["zonecount", "identify", "inferoverlay", "tracker", "fusedpreproc"].contains(&factory.as_str()) {
            continue;
        }
        for bytes in [b"caf\xe9".as_slice(), &vec![b'a'; 1_000_000]] {
            let (element, _) = element(&factory);
            set_bytes(&element, &property, bytes);
            let pipeline = gst::Pipeline::new();
            let source =
                gst::ElementFactory::make("videotestsrc").property("num-buffers", 2).build().unwrap();
            let sink = gst::ElementFactory::make("fakesink").build().unwrap();
            pipeline.add_many([&source, &element, &sink]).unwrap();
            gst::Element::link_many([&source, &element, &sink]).unwrap();
            let _ = pipeline.set_state(gst::State::Playing);
            let ends = [gst::MessageType::Error, gst::MessageType::Eos];
            let end = pipeline.bus().unwrap().timed_pop_filtered(CLOCK_LIMIT, &ends);
            assert!(end.is_some(), "{factory} {property} hangs");
            pipeline.set_state(gst::State::Null).unwrap();
        }
    }
}
