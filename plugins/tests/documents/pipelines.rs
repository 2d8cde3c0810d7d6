//! That the pipelines in the pages are ones that GStreamer can build: elements, properties and their values are right.

use gst::prelude::*;

use crate::{init, page, pages};

/// Commands in code blocks that begin with `word`, a line each.
fn commands(text: &str, word: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let code = line.trim();
        if !open && !code.starts_with(word) {
            continue;
        }
        let (part, more) = code.strip_suffix('\\').map_or((code, false), |part| (part, true));
        if open {
            found.last_mut().unwrap().push_str(part);
        } else {
            found.push(part.to_owned());
        }
        open = more;
    }
    found
}

/// A pipeline as the shell hands it to gst-launch-1.0: without its options, quotes, comments and what it is piped to.
fn description(command: &str) -> Option<String> {
    // A loop of the shell is no pipeline before it has run.
    if command.contains("$(") {
        return None;
    }
    let words = command.split(" | ").next()?.split(" # ").next()?;
    let words = words.split_whitespace().skip(1).skip_while(|word| word.starts_with('-'));
    Some(words.collect::<Vec<_>>().join(" "))
}

#[test]
fn every_pipeline_in_the_pages_can_be_built() {
    init();
    let mut built = 0;
    for name in pages() {
        for command in commands(&page(&name), "gst-launch-1.0 ") {
            let Some(line) = description(&command) else { continue };
            match gst::parse::launch(&line) {
                Ok(_) => built += 1,
                Err(error) if error.matches(gst::ParseError::NoSuchElement) => {
                    // NVIDIA's decoders are there only with its driver.
                    assert!(error.message().contains("\"nv"), "{name}: {error}: {line}");
                }
                Err(error) => panic!("{name}: {error}: {line}"),
            }
        }
    }
    assert!(built > 10, "{built}");
}

#[test]
fn a_pipeline_with_a_wrong_property_or_value_is_none() {
    init();
    for line in
        ["videotestsrc ! gpunms threshold=1 ! fakesink", "videotestsrc ! gpunms decoder=yolo99 ! fakesink"]
    {
        assert!(gst::parse::launch(line).is_err(), "{line}");
    }
}

/// The pipeline that README shows first runs as it is typed, in the repository, for as long as a test may.
#[test]
fn readmes_first_pipeline_runs_as_typed() {
    init();
    let readme = page("README.md");
    let command = commands(&readme, "gst-launch-1.0 ").into_iter().next().unwrap();
    let line = description(&command).unwrap();
    for file in [".cache/video/vtest.avi", ".cache/models/nanodet.onnx"] {
        assert!(line.contains(file), "{line}");
        assert!(crate::root().join(file).is_file(), "{file} is missing: run scripts/setup, which fetches it");
    }
    // Nowhere but in the repository do these paths hold; what it writes goes elsewhere.
    let folder = std::env::temp_dir().join(format!("cudainfer-documents-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let line = line.replace(".cache/", &format!("{}/.cache/", crate::root().display()));
    let line = line.replace("location=out/", &format!("location={}/", folder.display()));
    let line = line.replace("decodebin !", "decodebin ! identity eos-after=11 !");
    let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let bus = pipeline.bus().unwrap();
    let end = bus.timed_pop_filtered(
        gst::ClockTime::from_seconds(120),
        &[gst::MessageType::Eos, gst::MessageType::Error],
    );
    pipeline.set_state(gst::State::Null).unwrap();
    match end.as_ref().map(|message| message.view()) {
        Some(gst::MessageView::Eos(_)) => {}
        other => panic!("{other:?}: {line}"),
    }
    let written: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let text = std::fs::read_to_string(&written[0]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(text.lines().count() >= 10 && text.contains("\"track\""), "{text}");
}
