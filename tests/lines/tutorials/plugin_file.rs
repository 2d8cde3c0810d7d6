//! The decoder in Rust as a plugin file, which has cudainfer's elements too, for GStreamer's own tools.

use std::path::PathBuf;

use cudainfer_tests::scratch;

use super::{SCENES, assert_published, before};
use crate::plugin::{text, tool};

/// A folder with nothing but this file of target/PROFILE.
fn alone(file: &str) -> PathBuf {
    let folder = scratch("plugin");
    let built = std::env::current_exe().unwrap().parent().unwrap().join(file);
    assert!(built.is_file(), "{} is missing: cargo test --workspace builds it", built.display());
    std::os::unix::fs::symlink(&built, folder.join(built.file_name().unwrap())).unwrap();
    folder
}

#[test]
fn a_plugin_with_a_decoder_of_ones_own_has_all_that_gst_launch_needs() {
    let folder = alone("../examples/libgstyolov2.so").display().to_string();
    for (color, preproc, wanted) in SCENES {
        let line =
            format!("{} ! yolov2rs ! tracker ! inferpublish ! fakesink", before(2, color, preproc, ""));
        let arguments: Vec<_> = ["gst-launch-1.0", "-q"].into_iter().chain(line.split_whitespace()).collect();
        let output = tool(&arguments, &[("GST_PLUGIN_PATH", &folder)]);
        assert!(output.status.success(), "{output:?}");
        assert_published(&text(&output.stdout), wanted);
    }
}

/// GObject's types exist once a process; registering one again would end it.
#[test]
fn where_gstreamer_finds_cudainfers_own_file_too_the_second_says_so_and_the_first_works() {
    let [with, without] = ["../examples/libgstyolov2.so", "libgstcudainfer.so"].map(alone);
    for (order, decoder) in [([&with, &without], true), ([&without, &with], false)] {
        let path = order.map(|folder| folder.display().to_string()).join(":");
        let environment =
            [("GST_PLUGIN_PATH", path.as_str()), ("GST_DEBUG", "2"), ("GST_DEBUG_NO_COLOR", "1")];
        let inspect = |element| tool(&["gst-inspect-1.0", element], &environment);
        let output = inspect("trtinfer");
        assert!(output.status.success(), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains("has cudainfer's elements, but this process has them already"), "{said}");
        assert_eq!(inspect("yolov2rs").status.success(), decoder, "{said}");
    }
}
