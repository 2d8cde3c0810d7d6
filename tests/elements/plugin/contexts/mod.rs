//! How an application hands over the CUDA context that inference works in: the programs of docs/embedding.md, as far as a
//! machine without a GPU runs them. The elements that ask are stand-ins.

use std::process::Command;

use cudainfer_tests::{init, root, scratch};
use gst::prelude::*;

use crate::plugin::processes::{text, tool};

/// The CUDA context that inference works in; none without a GPU.
fn inference_context() -> Option<gst::Context> {
    let upload = gst::ElementFactory::make("cudainferupload").build().ok()?;
    let ready = upload.set_state(gst::State::Ready);
    let mut query = gst::query::Context::new("gst.cuda.context");
    let known = ready.is_ok() && upload.static_pad("src").is_some_and(|pad| pad.query(&mut query));
    let context = if known { query.context_owned() } else { None };
    let _ = upload.set_state(gst::State::Null);
    context
}

/// Hands the context to every element of the pipeline that asks for one.
fn hand_over(bus: &gst::Bus, context: gst::Context) {
    bus.set_sync_handler(move |_, message| {
        if let gst::MessageView::NeedContext(need) = message.view()
            && need.context_type() == context.context_type()
            && let Some(element) = message.src().and_then(|source| source.downcast_ref::<gst::Element>())
        {
            element.set_context(&context);
        }
        gst::BusSyncReply::Pass
    });
}

/// The code of this language in the section.
fn documented(language: &str) -> String {
    let page = std::fs::read_to_string(root().join("docs/embedding.md")).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with("One CUDA context\n")).unwrap();
    let (_, code) = section.split_once(&format!("```{language}\n")).unwrap();
    code.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_code_in_rust_is_that_of_this_file() {
    let own = std::fs::read_to_string(root().join("tests/elements/plugin/contexts/mod.rs")).unwrap();
    assert!(own.contains(&documented("rust")), "write the same functions to docs/embedding.md");
}

#[test]
fn who_asks_for_a_cuda_context_gets_the_one_handed_over_and_nobody_else_does() {
    init();
    if let Some(context) = inference_context() {
        assert_eq!(context.context_type(), "gst.cuda.context");
    }
    let context = gst::Context::new("gst.cuda.context", true);
    let bus = gst::Bus::new();
    hand_over(&bus, context);
    for (kind, wanted) in [("gst.cuda.context", true), ("gst.gl.GLDisplay", false)] {
        let element = gst::ElementFactory::make("identity").build().unwrap();
        bus.post(gst::message::NeedContext::builder(kind).src(&element).build()).unwrap();
        assert_eq!(element.context("gst.cuda.context").is_some(), wanted, "{kind}");
        assert!(bus.pop().is_some(), "the message goes on");
    }
}

/// Runs the program with the plugin that was built; the program must succeed.
#[track_caller]
fn succeeds(program: &[&str]) {
    let output = tool(program, &[]);
    assert!(output.status.success() && text(&output.stdout) == "as it must be\n", "{output:?}");
}

#[test]
fn the_code_in_c_does_so_too() {
    let folder = scratch("contexts");
    let [source, program] = ["contexts.c", "contexts"].map(|name| folder.join(name));
    let test = std::fs::read_to_string(root().join("tests/elements/plugin/contexts/test.c")).unwrap();
    std::fs::write(&source, format!("#include <gst/gst.h>\n{}\n{test}", documented("c"))).unwrap();
    let flags = Command::new("pkg-config").args(["--cflags", "--libs", "gstreamer-1.0"]).output().unwrap();
    let built = Command::new("cc")
        .args(["-Wall", "-Werror", "-o"])
        .args([&program, &source])
        .args(text(&flags.stdout).split_whitespace())
        .output();
    let built = built.unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    succeeds(&[&program.display().to_string()]);
}

#[test]
fn the_code_in_python_does_so_too() {
    let program = scratch("contexts").join("contexts.py");
    let test = std::fs::read_to_string(root().join("tests/elements/plugin/contexts/test.py")).unwrap();
    let head = "import gi\n\ngi.require_version(\"Gst\", \"1.0\")\nfrom gi.repository import Gst\n\nGst.init(None)\n\n\n";
    std::fs::write(&program, format!("{head}{}\n\n{test}", documented("python"))).unwrap();
    succeeds(&["/usr/bin/python3", &program.display().to_string()]);
}
