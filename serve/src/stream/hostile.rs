//! Values that clients have written, against every property of every element and every `{key}` of every pipeline description.

use cudainfer_launch::{elements, properties};
use std::collections::BTreeMap;

use gst::glib;
use gst::prelude::*;
use proptest::prelude::*;

use super::parse::{parse, template};
use crate::config::{FilledDescription, Scalar, keys};

/// Elements of GStreamer that the project's pipelines and the service use, besides the plugin's own.
const GSTREAMER: [&str; 14] = [
    "audioconvert",
    "capsfilter",
    "decodebin",
    "fakesink",
    "filesink",
    "filesrc",
    "identity",
    "mp4mux",
    "queue",
    "tee",
    "videoconvert",
    "videoconvertscale",
    "videotestsrc",
    "x264enc",
];

/// The factories of the plugin's elements, and those of GStreamer that pipelines have.
pub(super) fn factories() -> Vec<String> {
    cudainfer_tests::init();
    let registry = gst::Registry::get();
    let own = registry.features_by_plugin(cudainfer_launch::gstreamer::PLUGIN);
    let own = own
        .iter()
        .filter(|feature| feature.is::<gst::ElementFactory>())
        .map(|feature| feature.name().to_string());
    own.chain(GSTREAMER.map(str::to_owned)).filter(|name| gst::ElementFactory::find(name).is_some()).collect()
}

/// Pipeline descriptions with keys: those of the project, and some in which keys are in caps, quotes, paths and lists.
fn descriptions() -> Vec<String> {
    cudainfer_tests::init();
    let folder = cudainfer_tests::root().join("pipelines");
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "launch"));
    let read = files.map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    });
    let mut lines: Vec<String> = read.collect();
    assert!(lines.len() > 5);
    lines.extend(
        [
            "videoconvert ! video/x-raw,width={width},height={height} ! identity",
            "videoconvert ! video/x-raw, format=(string){format}, framerate={rate}/1 ! queue name=b max-size-bytes={size} ! identity",
            "capsfilter caps={caps} ! identity name=a silent={silent}",
            "capsfilter caps=\"video/x-raw,width={width}\" ! identity",
            "zonecount zones=\"all={kind}:{points}\" ! inferpublish location=\"out/{name}/a b/{file}.jsonl\" topic={source}/{topic}",
            "fusedpreproc mean=<{mean},1,1> ! identity",
            "inferpublish send={send} location=/tmp/{name}",
        ]
        .map(str::to_owned),
    );
    lines
}

/// What a description makes: elements by name with their factories and the properties that differ from the factory's
/// defaults; of caps, the structures with the names of their fields.
fn made(bin: &gst::Bin) -> Vec<String> {
    let mut made = Vec::new();
    for element in elements::all(bin) {
        let factory = element.factory().unwrap();
        let fresh = elements::make(&factory.name(), "fresh").unwrap();
        let differs = properties::all(&element)
            .into_iter()
            .zip(properties::all(&fresh))
            .filter(|((_, own), (_, other))| own != other)
            .map(|((pspec, _), _)| pspec.name().to_owned());
        // GStreamer numbers the capsfilters that it makes for caps between elements.
        let name = element.name().trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        made.push(format!("{name} {} {:?}", factory.name(), differs.collect::<Vec<_>>()));
        if let Some(caps) =
            element.find_property("caps").map(|_| element.property::<Option<gst::Caps>>("caps"))
        {
            let fields = |s: &gst::StructureRef| {
                format!("{} {:?}", s.name(), s.fields().map(|f| f.to_string()).collect::<Vec<_>>())
            };
            made.extend(caps.iter().flat_map(|caps| caps.iter()).map(fields));
        }
    }
    made
}

/// Values that would add elements or properties if they were pasted into a description.
fn value() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("! filesink location=/tmp/stolen"),
        Just("\" ! filesink location=/tmp/stolen name=\"x"),
        Just(" location=/tmp/stolen"),
        Just("' silent=true name='x"),
        Just(",format=RGB"),
        Just(";video/x-h264"),
        Just("(memory:CUDAMemory)"),
        Just("\\\""),
        Just("\\"),
        Just("{name}"),
        Just("{"),
        Just("["),
        Just("<"),
        Just(" "),
        Just("\n"),
        Just("="),
        Just("ANY"),
        Just("640"),
        Just("NV12"),
        Just("30/1"),
        Just("true"),
        Just("../../etc/passwd"),
        Just("\0"),
        Just("é"),
        Just("name=x"),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn a_value_changes_nothing_but_the_properties_that_its_key_is_in(values in prop::collection::vec(value(), 12)) {
        for description in descriptions() {
            let template = template(&description);
            // The description without the values has what must be there whatever the values are.
            let Ok(bare) = parse(&FilledDescription { text: template.text.clone(), values: BTreeMap::new() }) else { continue };
            let bare = made(&bare);
            let filled = keys(&description).into_iter().zip(values.iter().cycle()).map(|(key, value)| (key.to_owned(), value.clone()));
            let Ok(bin) = parse(&FilledDescription { text: description.clone(), values: filled.collect() }) else { continue };
            for slot in &template.slots {
                for element in elements::all(&bin).into_iter().filter(|element| element.name() == slot.element) {
                    let pspec = element.find_property(&slot.property).unwrap();
                    // The caps of a filter are compared as well, unless a key is all of them.
                    let caps = pspec.value_type() == gst::Caps::static_type() && !slot.is_whole();
                    if !caps {
                        element.set_property_from_value(&slot.property, pspec.default_value());
                    }
                }
            }
            let made = made(&bin);
            if !template.slots.iter().any(|slot| slot.property == "caps") {
                prop_assert_eq!(&made, &bare, "{}", description);
            }
            let stolen = made.iter().any(|part| part.contains("sink [") && part.contains("location") && !description.contains("filesink"));
            prop_assert!(!stolen, "{:?}", made);
            if description.contains("width={width},height={height}") {
                prop_assert!(made.iter().any(|part| part == "video/x-raw [\"width\", \"height\"]"), "{:?}", made);
            }
        }
    }
}

#[test]
fn keys_in_caps_quotes_and_paths_are_filled_in() {
    cudainfer_tests::init();
    let of = |description: &str, values: &[(&str, &str)]| {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        parse(&FilledDescription { text: description.to_owned(), values })
    };
    let text = |bin: &gst::Bin, name: &str, property: &str| {
        let element = elements::all(bin).into_iter().find(|element| element.name() == name).unwrap();
        let pspec = element.find_property(property).unwrap();
        properties::all(&element).into_iter().find(|(own, _)| *own == pspec).unwrap().1
    };
    let bin = of(
        "videoconvert ! video/x-raw, width={width}, framerate={rate}/1 ! inferpublish location=\"out/{name} {source}\" ! gpunms classes={classes}",
        &[("width", "640"), ("rate", "15"), ("name", "a \" ! b"), ("classes", "a b,\"c")],
    )
    .unwrap();
    let caps = text(&bin, "capsfilter", "caps").replace('\\', "");
    assert!(caps.contains("video/x-raw, width=(int)640, framerate=(fraction)15/1"), "{caps}");
    assert_eq!(text(&bin, "inferpublish", "location"), "out/a \" ! b {source}");
    assert_eq!(text(&bin, "gpunms", "classes"), "a b,\"c");
    for (description, part) in [
        ("videoconvert ! video/x-raw,width={width} ! identity", "use letters, digits"),
        ("{width} ! identity", "no key can"),
        ("identity name={width}", "no key can"),
        ("gpunms top-k-after={width}", "expected a whole number"),
    ] {
        let refused = of(description, &[("width", "1,format=RGB ! x")]).unwrap_err();
        assert!(refused.contains(part), "{description}: {refused}");
    }
}

#[test]
fn no_value_of_any_property_panics() {
    let texts = [
        "",
        "255",
        "-1",
        "4294967296",
        "1e300",
        "nan",
        "true",
        "a+b",
        "0x7fffffff",
        "1/0",
        "0/0",
        "<1,2>",
        "{ 1, 2 }",
        "[ 1, 2 ]",
        "video/x-raw,width=1",
        "x, a=(int)1",
        "ANY",
        "NULL",
        "\0",
        "a\0b",
        "\u{1f600}",
        "( fakesink )",
        "fakesink",
        "(string)x",
    ];
    let scalars = texts.map(|text| Scalar::Text(text.into())).into_iter().chain([
        Scalar::Bool(true),
        Scalar::Integer(i64::MIN),
        Scalar::Integer(i64::MAX),
        Scalar::Integer(255),
        Scalar::Number(f64::NAN),
        Scalar::Number(f64::INFINITY),
        Scalar::Number(-0.5),
    ]);
    let scalars: Vec<Scalar> = scalars.chain([Scalar::Text("x".repeat(100_000))]).collect();
    let (mut tried, mut taken) = (0, 0);
    for factory in factories() {
        let element = elements::make(&factory, "element").unwrap();
        for pspec in element.list_properties().iter().filter(|pspec| pspec.name() != "name") {
            for value in &scalars {
                tried += 1;
                taken += usize::from(properties::set(&element, pspec.name(), value).is_ok());
                assert!(
                    !pspec.flags().contains(glib::ParamFlags::CONSTRUCT_ONLY)
                        || properties::set(&element, pspec.name(), value).is_err()
                );
            }
        }
    }
    assert!(tried > 5000 && taken > 1000, "{tried} {taken}");
    let publish = elements::make("inferpublish", "publish").unwrap();
    let refused = properties::set(&publish, "send", &Scalar::Integer(255)).unwrap_err();
    assert!(refused.contains("expected some of frames"), "{refused}");
}
