//! Properties that are set when it is too late.

use cudainfer_tests::{TestPipeline, model};
use glib::ParamSpec;
use gst::prelude::*;

/// A value of the property's type that is not `present`.
fn another(spec: &ParamSpec, present: &glib::Value) -> glib::Value {
    let candidates: Vec<glib::Value> = if let Some(spec) = spec.downcast_ref::<glib::ParamSpecUInt>() {
        vec![spec.minimum().to_value(), spec.maximum().to_value()]
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecUInt64>() {
        vec![spec.minimum().to_value(), spec.maximum().to_value()]
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecInt>() {
        vec![spec.minimum().to_value(), spec.maximum().to_value()]
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecInt64>() {
        vec![spec.minimum().to_value(), spec.maximum().to_value()]
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecFloat>() {
        vec![spec.minimum().to_value(), spec.maximum().to_value()]
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecDouble>() {
        vec![spec.minimum().to_value(), spec.maximum().to_value()]
    } else if spec.is::<glib::ParamSpecBoolean>() {
        vec![true.to_value(), false.to_value()]
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecEnum>() {
        let class = spec.enum_class();
        class.values().iter().map(|value| value.to_value(&class)).collect()
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecFlags>() {
        let class = spec.flags_class();
        class.values().iter().map(|value| value.to_value(&class)).collect()
    } else if spec.is::<glib::ParamSpecString>() {
        vec!["another".to_value()]
    } else if spec.value_type() == gst::Array::static_type() {
        vec![gst::Array::new([7.0f64]).to_value()]
    } else {
        panic!("{} is of a type that this test does not know: {}", spec.name(), spec.value_type())
    };
    let differs = |value: &glib::Value| format!("{value:?}") != format!("{present:?}");
    candidates.into_iter().find(differs).unwrap_or_else(|| panic!("{} has only one value", spec.name()))
}

#[test]
fn what_cannot_change_while_playing_stays_and_a_warning_says_so() {
    let pipeline = TestPipeline::start(&format!(
        "videotestsrc is-live=true ! video/x-raw,format=RGB,width=64,height=64,framerate=30/1 ! cudainferupload \
         ! cudainferdownload ! fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! zonecount zones=all=polygon:0,0,1,0,1,1,0,1 ! inferoverlay \
         ! inferpublish location=/dev/null ! fakesink  \
         videotestsrc is-live=true ! video/x-raw,format=RGB,width=64,height=64,framerate=30/1 ! fusedpreproc \
         ! trtinfer model={} ! segmask name=mask ! fakesink",
        model("detector"),
        model("masks-colours")
    ));
    // These elements get no frames, which setting properties does not need.
    for alone in ["classify", "peakfind", "tensormap"] {
        let element = gst::ElementFactory::make(alone).build().unwrap();
        pipeline.add(&element).unwrap();
        element.set_state(gst::State::Playing).unwrap();
    }
    pipeline.reach(gst::State::Playing);
    let bus = pipeline.bus().unwrap();
    let (mut kinds, mut properties) = (std::collections::BTreeSet::new(), 0);
    for element in pipeline.iterate_recurse().into_iter().flatten() {
        let Some(factory) = element.factory() else { continue };
        if factory.plugin().is_none_or(|plugin| plugin.plugin_name() != "cudainfer") {
            continue;
        }
        kinds.insert(factory.name());
        for spec in element.list_properties() {
            let ours =
                spec.owner_type() == element.type_() && spec.flags().contains(glib::ParamFlags::WRITABLE);
            if !ours || spec.flags().contains(gst::PARAM_FLAG_MUTABLE_PLAYING) {
                continue;
            }
            while bus.pop_filtered(&[gst::MessageType::Warning]).is_some() {}
            let before = element.property_value(spec.name());
            element.set_property_from_value(spec.name(), &another(&spec, &before));
            let after = element.property_value(spec.name());
            let what = format!("{}.{}", factory.name(), spec.name());
            assert_eq!(format!("{after:?}"), format!("{before:?}"), "{what}");
            let mut said =
                std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Warning])).map(|message| {
                    let gst::MessageView::Warning(warning) = message.view() else { unreachable!() };
                    warning.error().to_string()
                });
            let wanted = format!("{}: {} cannot be set in P", element.name(), spec.name());
            assert!(said.any(|text| text.starts_with(&wanted)), "{what}: no '{wanted}'");
            properties += 1;
        }
    }
    assert!(kinds.len() >= 11 && properties > 70, "{kinds:?}: {properties}");
    pipeline.stop();
}

#[test]
fn in_ready_properties_are_taken() {
    let pipeline = TestPipeline::new(
        "videotestsrc num-buffers=2 ! cudainferupload name=up ! cudainferdownload name=down ! fakesink",
    );
    pipeline.set_state(gst::State::Ready).unwrap();
    for name in ["up", "down"] {
        pipeline.element(name).set_property("device", "cpu");
        assert_eq!(pipeline.element(name).property::<String>("device"), "cpu");
    }
    pipeline.play();
    let report = pipeline.wait().succeeds();
    assert!(!report.warnings.iter().any(|text| text.contains("cannot be set")), "{report:?}");
}

#[test]
fn a_device_that_is_set_while_frames_flow_changes_nothing() {
    for name in ["cudainferupload", "cudainferdownload"] {
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps=video/x-raw,format=RGB,width=8,height=4,framerate=10/1 ! {name} name=e ! fakesink"
        ));
        pipeline.play();
        let frame =
            |number| cudainfer_tests::push(&pipeline.element("in"), cudainfer_tests::filled(96, 1, number));
        frame(0);
        pipeline.element("e").set_property("device", "cuda:0");
        // New caps: the element negotiates again with the device that it has chosen.
        pipeline.element("in").set_property(
            "caps",
            "video/x-raw,format=BGR,width=8,height=4,framerate=10/1".parse::<gst::Caps>().unwrap(),
        );
        frame(1);
        cudainfer_tests::end(&pipeline.element("in"));
        pipeline.wait().succeeds();
    }
}
