//! Every property of every element, for a client and for the operator; and what is not a property.

use std::collections::BTreeSet;

use gst::glib;

use super::super::parse::parse;
use super::*;
use crate::config::Pipeline;
use crate::stream::hostile::factories;

/// A configuration with this description as its only pipeline, and a source of the operator's.
fn config(description: &str, operator: Option<SourceConfig>) -> Config {
    let pipeline = Pipeline { line: description.into(), ..Pipeline::default() };
    Config {
        pipelines: [("p".into(), pipeline)].into(),
        sources: operator.into_iter().collect(),
        ..Config::default()
    }
}

fn source() -> SourceConfig {
    SourceConfig {
        name: "a".into(),
        uri: "test://ball".into(),
        pipeline: "p".into(),
        ..SourceConfig::default()
    }
}

/// Whether the source may have these keys.
fn may(config: &Config, source: &SourceConfig) -> Result<(), (&'static str, String)> {
    let filled = config.pipelines["p"].filled_for(source).unwrap();
    let bare = template(&filled.text).text;
    let bin = parse(&FilledDescription { text: bare, values: BTreeMap::new() }).unwrap();
    let kind = SourceKind::parse(&source.uri).unwrap();
    check(config, source, &kind, &filled, &Description { bin, instances: Vec::new() })
}

fn writable(element: &gst::Element) -> Vec<String> {
    let specs = element
        .list_properties()
        .iter()
        .filter(|pspec| pspec.flags().contains(glib::ParamFlags::WRITABLE))
        .cloned()
        .collect::<Vec<_>>();
    specs
        .iter()
        .map(|pspec| pspec.name().to_owned())
        .filter(|name| !["name", "parent"].contains(&name.as_str()))
        .collect()
}

#[test]
fn each_property_of_each_element_is_the_operators_unless_the_table_grants_it() {
    let granted: BTreeSet<(&str, &str)> = table::all().into_iter().collect();
    let (mut granted_of_lines, mut refused) = (0, 0);
    for factory in factories() {
        let element = cudainfer_launch::elements::make(&factory, "element").unwrap();
        for property in writable(&element) {
            for key in ["override", "set"] {
                let (description, mut client) = (format!("{factory} {property}={{key}}"), source());
                let description = if key == "set" { description } else { factory.clone() };
                let value = Scalar::Text("1".into());
                if key == "set" {
                    client.set.insert("key".into(), value);
                } else {
                    client.overrides.insert(format!("{factory}.{property}"), value);
                }
                let by_client = may(&config(&description, None), &client);
                let by_operator = may(&config(&description, Some(client.clone())), &client);
                assert_eq!(by_operator, Ok(()), "{factory}.{property}");
                if granted.contains(&(&*factory, &*property))
                    && grant(&factory, &property) == Some(Grant::Any)
                {
                    // Also properties of videotestsrc and other sources, which no pipeline's description has.
                    assert_eq!(by_client, Ok(()), "{factory}.{property}");
                    granted_of_lines += 1;
                } else {
                    let (at, sentence) = by_client.unwrap_err();
                    assert!(
                        at == key && sentence.contains("client may"),
                        "{factory}.{property}: {at} {sentence}"
                    );
                    refused += 1;
                }
            }
        }
    }
    assert!(granted_of_lines > 60 && refused > 200, "{granted_of_lines} {refused}");
    for (factory, property) in [
        ("trtinfer", "onnxruntime"),
        ("trtinfer", "labels"),
        ("trtinfer", "constants"),
        ("trtinfer", "engine-cache"),
        ("trtinfer", "instance"),
        ("inferpublish", "location"),
        ("inferpublish", "spool"),
        ("inferpublish", "credentials"),
        ("zonecount", "zones-file"),
        ("inferoverlay", "font"),
        ("inferoverlay", "blur"),
        ("filesrc", "location"),
        ("filesink", "location"),
    ] {
        assert_eq!(grant(factory, property), None, "{factory}.{property}");
    }
}

#[test]
fn what_the_table_grants_are_properties_and_the_page_lists_them() {
    cudainfer_tests::init();
    for (factory, property) in table::all() {
        if let Ok(element) = gst::ElementFactory::make(factory).build() {
            assert!(writable(&element).iter().any(|own| own == property), "{factory}.{property}");
        }
    }
    let page = std::fs::read_to_string(cudainfer_tests::root().join("docs/serve-permissions.md")).unwrap();
    let mut listed = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let mut cells =
            row.split('|').skip(1).map(|cell| cell.split('`').skip(1).step_by(2).collect::<Vec<_>>());
        let (factory, properties) = (cells.next().unwrap(), cells.next().unwrap());
        listed.extend(properties.into_iter().map(|property| (factory[0].to_owned(), property.to_owned())));
    }
    let granted =
        table::all().into_iter().map(|(factory, property)| (factory.to_owned(), property.to_owned()));
    assert_eq!(listed, granted.collect::<BTreeSet<_>>(), "docs/serve-permissions.md");
}

#[test]
fn a_client_names_no_files_no_devices_and_no_huge_test_pictures() {
    cudainfer_tests::init();
    let config = config("identity", Some(source()));
    let with_uri = |uri: &str| SourceConfig { uri: uri.into(), ..source() };
    for good in [
        "rtsp://camera/1",
        "https://server/a.m3u8",
        "v4l2:///dev/video12",
        "v4l2:///dev/v4l/by-id/usb-cam-index0",
        "test://ball?width=3840&height=2160",
    ] {
        assert_eq!(may(&config, &with_uri(good)), Ok(()), "{good}");
    }
    for (wrong, part) in [
        ("file:///etc/passwd", "set files in [server]"),
        ("v4l2:///dev/watchdog", "/dev/video0 and the like"),
        ("v4l2:///dev/v4l/by-id/../../watchdog", "/dev/video0 and the like"),
        ("v4l2:///tmp/video0", "/dev/video0 and the like"),
        ("test://ball?width=16384&height=16384", "8294400 pixels"),
        ("test://ball?rate=1000", "120 frames a second"),
    ] {
        let refused = may(&config, &with_uri(wrong)).unwrap_err();
        assert!(refused.0 == "uri" && refused.1.contains(part), "{wrong}: {refused:?}");
        let own = Config { sources: vec![with_uri(wrong)], ..config.clone() };
        assert_eq!(may(&own, &with_uri(wrong)), Ok(()), "the operator may: {wrong}");
    }
    let zones = SourceConfig { zones_file: Some("/etc/shadow".into()), ..source() };
    assert_eq!(may(&config, &zones).unwrap_err().0, "zones-file");
    assert_eq!(may(&Config { sources: vec![zones.clone()], ..config }, &zones), Ok(()));
}

#[test]
fn the_configurations_login_does_not_go_to_another_uri() {
    cudainfer_tests::init();
    let element = cudainfer_launch::elements::make("rtspsrc", "source").unwrap();
    let value = |text: &str| Scalar::Text(text.into());
    let mut own = SourceConfig { uri: "rtsp://camera/1".into(), ..source() };
    own.properties = [("user-pw".into(), value("secret")), ("proxy".into(), value("tcp://10.0.0.1"))].into();
    let config = config("identity", Some(own.clone()));
    assert_eq!(check_source(&config, &own, &element), Ok(()));
    let mut moved = SourceConfig { uri: "rtsp://elsewhere/1".into(), ..own };
    assert!(check_source(&config, &moved, &element).unwrap_err().contains("property 'proxy'"));
    moved.properties.remove("proxy");
    assert!(check_source(&config, &moved, &element).unwrap_err().contains("not for another uri"));
    moved.properties.insert("user-pw".into(), value("own"));
    assert_eq!(check_source(&config, &moved, &element), Ok(()));
}

#[test]
fn models_are_those_that_the_configuration_names_and_those_of_the_folder() {
    cudainfer_tests::init();
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    std::fs::create_dir(&models).unwrap();
    std::fs::write(models.join("a.onnx"), "x").unwrap();
    std::fs::write(folder.path().join("secret"), "x").unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret"), models.join("link.onnx")).unwrap();
    // Folders as exporters write them: one with a model, one with a link out of the folder, one with nothing.
    for name in ["export", "leads-out", "empty"] {
        std::fs::create_dir(models.join(name)).unwrap();
    }
    std::fs::write(models.join("export/model.onnx"), "x").unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret"), models.join("leads-out/model.onnx")).unwrap();
    let text = |text: &str| Scalar::Text(text.into());
    let mut own = source();
    own.set.insert("model".into(), text("of/source.onnx"));
    let mut other = SourceConfig { name: "b".into(), ..own.clone() };
    other.overrides.insert("trtinfer.model".into(), text("of/override.onnx"));
    let mut config = config("fusedpreproc ! trtinfer model={model}", Some(own));
    config.sources.push(other);
    config.pipelines.get_mut("p").unwrap().set.insert("model".into(), text("of/pipeline.onnx"));
    config.server.models = Some(models.clone());
    let below = ["a.onnx", "export"].map(|name| models.join(name).to_str().unwrap().to_owned());
    let named = ["of/source.onnx", "of/override.onnx", "of/pipeline.onnx"];
    for good in named.into_iter().chain(below.iter().map(String::as_str)) {
        assert_eq!(check_model(&config, good), Ok(()), "{good}");
        let client =
            SourceConfig { name: "c".into(), set: [("model".into(), text(good))].into(), ..source() };
        assert_eq!(may(&config, &client), Ok(()), "{good}");
    }
    for wrong in ["link.onnx", "none.onnx", "../secret", "", "leads-out", "empty"] {
        let wrong = models.join(wrong);
        assert!(check_model(&config, wrong.to_str().unwrap()).is_err(), "{}", wrong.display());
    }
    assert!(check_model(&config, "/etc/passwd").is_err());
}
