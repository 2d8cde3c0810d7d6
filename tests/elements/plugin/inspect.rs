//! What gst-inspect-1.0 shows: every element and property explains itself.

use gst::prelude::*;

/// Our elements.
pub(crate) fn factories() -> Vec<gst::ElementFactory> {
    cudainfer_tests::init();
    let features = gst::Registry::get().features_by_plugin("cudainfer");
    let mut factories: Vec<_> =
        features.into_iter().filter_map(|f| f.downcast::<gst::ElementFactory>().ok()).collect();
    factories.sort_by_key(|f| f.name());
    factories
}

/// Properties that `element` has beyond GStreamer's classes.
pub(crate) fn own(element: &gst::Element) -> Vec<glib::ParamSpec> {
    let is_ours = |p: &&glib::ParamSpec| p.owner_type().name().starts_with("GstCudaInfer");
    element.list_properties().iter().filter(is_ours).cloned().collect()
}

#[test]
fn names_of_types_are_the_plugins_own() {
    for factory in factories() {
        let element = factory.create().build().unwrap();
        let ty = element.type_();
        assert!(ty.name().starts_with("GstCudaInfer"), "{}: {}", factory.name(), ty.name());
        let ours = own(&element);
        assert!(ours.iter().any(|property| property.name() == "stats"), "{}", factory.name());
        // An element without a given name is named after its factory, not after its type; a given name stays.
        let known_as = match factory.name().as_str() {
            // The same elements by a second name.
            "cudaupload" => "cudainferupload",
            "cudadownload" => "cudainferdownload",
            name => name,
        }
        .to_owned();
        let number = element.name().strip_prefix(&known_as).map(str::to_owned);
        assert!(number.is_some_and(|n| n.parse::<u32>().is_ok()), "{}", element.name());
        let named = factory.create().name("cudainfer-tracker").build().unwrap();
        assert_eq!(named.name(), "cudainfer-tracker");
        for property in ours {
            let value = property.value_type();
            let known = !value.is_a(glib::Type::ENUM) || value.name().starts_with("GstCudaInfer");
            assert!(known, "{} {}: {}", factory.name(), property.name(), value.name());
        }
    }
}

#[test]
fn elements_that_decode_tensors_share_a_class_and_describe_what_they_count() {
    for (name, counts) in [
        ("gpunms", "objects, candidates (above the threshold)"),
        ("peakfind", "peaks, instances"),
        ("classify", "objects (that were given classes, values or text)"),
        ("embed", "objects (that were given embeddings)"),
        ("segmask", "masks, non-finite"),
        ("tensormap", "maps (and pictures), non-finite"),
    ] {
        cudainfer_tests::init();
        let element = gst::ElementFactory::make(name).build().unwrap();
        let base = element.type_().parent().unwrap();
        assert_eq!(base.name(), "GstCudaInferDecodingElement");
        let blurb = element.find_property("stats").unwrap().blurb().unwrap_or_default().to_owned();
        assert!(blurb.contains(counts), "{name}: {blurb}");
        let device = element.find_property("device").unwrap();
        assert_eq!(device.owner_type(), base);
        element.set_property("device", "cpu");
        assert_eq!(element.property::<String>("device"), "cpu");
        let stats = element.property::<gst::Structure>("stats");
        assert_eq!((stats.get::<u64>("frames"), stats.get::<u64>("non-finite")), (Ok(0), Ok(0)));
    }
}

#[test]
fn elements_that_copy_frames_share_a_class() {
    cudainfer_tests::init();
    for name in ["cudainferupload", "cudainferdownload"] {
        let element = gst::ElementFactory::make(name).build().unwrap();
        let base = element.type_().parent().unwrap();
        assert_eq!(base.name(), "GstCudaInferTransferElement");
        for property in ["device", "stats"] {
            assert_eq!(element.find_property(property).unwrap().owner_type(), base);
        }
    }
}

#[test]
fn every_element_is_registered() {
    let names: Vec<_> = factories().iter().map(|f| f.name().to_string()).collect();
    for name in [
        "classify",
        "embed",
        "cudainferdownload",
        "cudainferupload",
        "fusedpreproc",
        "gpunms",
        "identify",
        "inferoverlay",
        "inferpublish",
        "peakfind",
        "segmask",
        "tensormap",
        "tracker",
        "trtinfer",
        "zonecount",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
}

#[test]
fn every_element_says_what_it_is() {
    for factory in factories() {
        let name = factory.name();
        let text = |key| factory.metadata(key).unwrap_or_default().to_owned();
        assert!(text("long-name").split_whitespace().count() >= 2, "{name}: {}", text("long-name"));
        let klass = text("klass");
        assert!(klass.split('/').count() >= 2 && klass.contains("Video"), "{name}: {klass}");
        let description = text("description");
        assert!(
            description.split_whitespace().count() >= 6 && description.starts_with(char::is_uppercase),
            "{name}: {description}"
        );
        assert!(!text("author").is_empty(), "{name}");
        let templates: Vec<_> =
            factory.static_pad_templates().iter().map(|t| t.name_template().to_string()).collect();
        assert_eq!(templates.len(), 2, "{name}: {templates:?}");
        assert!(templates.contains(&"sink".to_owned()) && templates.contains(&"src".to_owned()), "{name}");
    }
}

#[test]
fn every_property_has_a_nick_a_blurb_and_a_default_that_holds() {
    for factory in factories() {
        let element = factory.create().build().unwrap();
        for property in own(&element) {
            let name = format!("{} {}", factory.name(), property.name());
            assert!(
                property.nick().starts_with(char::is_uppercase)
                    || property.nick() == property.nick().to_uppercase(),
                "{name}: nick '{}'",
                property.nick()
            );
            assert_ne!(property.nick(), property.name(), "{name} has no nick of its own");
            let blurb = property.blurb().unwrap_or_default();
            assert!(blurb.split_whitespace().count() >= 3, "{name}: blurb '{blurb}'");
            assert!(blurb.starts_with(char::is_uppercase), "{name}: blurb '{blurb}'");
            let simple = !property.value_type().is_a(gst::Array::static_type());
            if property.flags().contains(glib::ParamFlags::WRITABLE) && simple {
                let (now, default) = (element.property_value(property.name()), property.default_value());
                assert_eq!(text(&now), text(default), "{name}");
                // Setting a property to its present value changes nothing.
                element.set_property_from_value(property.name(), &now);
                let after = element.property_value(property.name());
                assert_eq!(text(&after), text(&now), "{name}");
            }
        }
    }
}

#[test]
fn every_enum_value_explains_itself() {
    for factory in factories() {
        let element = factory.create().build().unwrap();
        for property in own(&element) {
            if let Some(class) = glib::EnumClass::with_type(property.value_type()) {
                for value in class.values() {
                    assert!(
                        value.name().len() >= 3 && value.name() != value.nick(),
                        "{} {}: {}",
                        factory.name(),
                        property.name(),
                        value.nick()
                    );
                }
            }
        }
    }
}

/// A value as text, to compare values of any type.
fn text(value: &glib::Value) -> String {
    // For a user, NULL and an empty text are the same.
    value.serialize().map(|s| s.trim_matches('"').to_owned()).unwrap_or_default()
}
