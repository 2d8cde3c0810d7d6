//! Wrong properties of inferoverlay.

use cudainfer_tests::{init, run};

const SOURCE: &str = "videotestsrc num-buffers=2 ! video/x-raw,format=RGB,width=64,height=64";

#[test]
fn a_list_of_labels_without_labels_hides_nothing_and_is_an_error() {
    for blur in ["\",\"", "\" \"", "\" , ,\""] {
        run(&format!("{SOURCE} ! inferoverlay name=view blur={blur} ! fakesink")).fails_with(&[
            "view: blur=",
            "names no label",
            "blur=face,plate",
            "blur=*",
        ]);
        for property in ["heatmap-classes", "classes"] {
            run(&format!("{SOURCE} ! inferoverlay name=view {property}={blur} ! fakesink"))
                .fails_with(&[&format!("view: {property}="), "names no label"]);
        }
    }
}

#[test]
fn modes_and_numbers_that_are_none_are_refused_where_the_pipeline_is_built() {
    init();
    for (setting, named) in [
        ("blur-mode=mosaic", "mosaic"),
        ("blur-cells=many", "blur-cells"),
        ("blur-margin=wide", "blur-margin"),
    ] {
        let error = gst::parse::launch(&format!("inferoverlay {setting}")).unwrap_err().to_string();
        assert!(error.contains(named) && error.contains("inferoverlay"), "{setting}: {error}");
    }
}

#[test]
fn a_font_that_is_not_there_or_is_none_is_an_error_with_what_to_set() {
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    for (font, parts) in [
        ("Grotesk Unheard", &["there is no such family", "Install", "or name"][..]),
        ("/nowhere/font.ttf", &["No such file", "Name a .ttf"]),
        ("nowhere.OTF", &["No such file", "Name a .ttf"]),
        ("/dev/zero", &["a device", "Name a .ttf"]),
        (own, &["no TrueType or OpenType font", "Name a .ttf"]),
    ] {
        let report = run(&format!("{SOURCE} ! inferoverlay name=view font=\"{font}\" ! fakesink"));
        let error = report.fails_with(parts);
        assert!(error.starts_with(&format!("view: font='{font}': ")), "{error}");
        assert!(error.matches(". ").count() <= 2, "three sentences: {error}");
    }
}
