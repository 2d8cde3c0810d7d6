//! Zones with mistakes in them, and zones that are probably not meant so.

use cudainfer_tests::{model, run, scratch};

fn with(properties: &str) -> cudainfer_tests::Report {
    run(&format!(
        "videotestsrc num-buffers=2 ! video/x-raw,width=64,height=64 ! zonecount name=count {properties} ! fakesink"
    ))
}

#[test]
fn what_is_wrong_in_the_property_is_named_with_the_zone() {
    for (properties, parts) in [
        ("", &["count: no zones are set", "zones-file", "door=line:"][..]),
        ("zones=\";\"", &["no zones are set"]),
        ("zones=100,200", &["count: zones:", "'100,200' has no name"]),
        ("zones=a=lime:1,2,3,4", &["zone 'a'", "'lime'", "line or polygon"]),
        ("zones=a=line:1,2,3", &["zone 'a'", "3 coordinates"]),
        ("zones=a=line:1,2,3,x", &["zone 'a'", "'x' is not a number"]),
        ("zones=a=line:1,2,nan,4", &["zone 'a'", "point 2 is NaN"]),
        ("zones=a=line:1,2,1,2", &["zone 'a'", "same point"]),
        ("zones=a=polygon:1,2,3,4", &["zone 'a'", "three different points"]),
        ("zones=a=polygon:0,0,9,9,9,0,0,9", &["zone 'a'", "meets itself", "two zones"]),
        ("zones=a=line:1,2,3,4;a=line:5,6,7,8", &["two zones are called 'a'"]),
        ("zones=a=line:1,2,3,4:anchor=toe", &["'toe' is not an anchor", "bottom-center"]),
        ("zones=a=line:1,2,3,4:dwell=never", &["'never'", "seconds"]),
        ("zones=a=line:1,2,3,4 zones-file=b.toml", &["zones and zones-file", "set only one"]),
    ] {
        with(properties).fails_with(parts);
    }
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_the_line() {
    let folder = scratch("zones");
    with(&format!("zones-file={}", folder.join("none.toml").display())).fails_with(&[
        "count: zones-file",
        "none.toml' cannot be read",
        "No such file",
    ]);
    with(&format!("zones-file={}", folder.display())).fails_with(&["cannot be read", "directory"]);
    let zone = "[[zone]]\nname = \"a\"\nkind = \"line\"\npoints = [[1, 2], [3, 4]]\n";
    for (text, parts) in [
        (String::new(), &["zones.toml' is invalid", "no [[zone]]"][..]),
        ("[[zone\n".into(), &["line 1"]),
        ("[[zone]]\nname = \"a\"\nkind = \"line\"\n".into(), &["line 1", "the key 'points' is missing"]),
        (zone.replace("line", "circle"), &["line 3", "circle", "polygon"]),
        (zone.replace("[3, 4]", "[3]"), &["line 4", "length 1"]),
        (format!("{zone}class = \"b\"\n"), &["line 5", "there is no key 'class'", "classes"]),
        (format!("{zone}classes = [1.5]\n"), &["line 5", "its name or its number"]),
        (format!("{zone}anchor = \"toe\"\n"), &["'toe' is none of", "bottom-center"]),
        (format!("units = \"inches\"\n{zone}"), &["'inches' is none of pixels, fraction"]),
        (format!("{zone}dwell = -1\n"), &["zone 'a'", "above 0"]),
        (format!("{zone}occupancy = 0\n"), &["zone 'a'", "above 0"]),
        (zone.replace("[3, 4]", "[1, 2]"), &["zones.toml' is invalid", "zone 'a'", "same point"]),
        (zone.replace("\"a\"", "\"\""), &["number 1 has no name"]),
        (format!("{zone}{zone}"), &["two zones are called 'a'"]),
    ] {
        let path = folder.join("zones.toml");
        std::fs::write(&path, &text).unwrap();
        let report = with(&format!("zones-file={}", path.display()));
        let error = report.fails_with(parts);
        assert!(!error.contains("untagged"), "{error}");
    }
}

#[test]
fn zones_off_the_frame_are_warned_about_and_the_pipeline_goes_on() {
    for (properties, parts) in [
        ("zones=a=line:100,0,100,64", &["count: zone 'a' lies outside", "64x64"][..]),
        ("zones=a=polygon:0,-9,9,-9,9,-1", &["zone 'a' lies outside"]),
        ("zones=a=line:0.5,0,0.5,1", &["zone 'a'", "units=fraction"]),
        ("zones=a=line:32,0,32,64 units=fraction", &["zone 'a' lies outside", "units=pixels"]),
    ] {
        let report = with(properties).succeeds();
        let [warning] = &report.warnings[..] else { panic!("{properties}: one warning: {report:?}") };
        for part in parts {
            assert!(warning.contains(part), "'{part}' is not in: {warning}");
        }
    }
    for properties in [
        "zones=a=line:32,-9,32,99",
        "zones=a=line:0.5,0,0.5,1 units=fraction",
        "zones=a=polygon:-9,-9,99,-9,0,99",
    ] {
        assert_eq!(with(properties).succeeds().warnings, [""; 0], "{properties}");
    }
}

/// The warnings of a pipeline with real objects after a model that knows its classes.
fn warned(elements: &str) -> Vec<String> {
    run(&format!(
        "videotestsrc num-buffers=3 pattern=red ! video/x-raw,width=64,height=64 ! fusedpreproc \
         ! trtinfer model={} ! gpunms ! {elements} ! fakesink",
        model("detector")
    ))
    .succeeds()
    .warnings
    .into_iter()
    .filter(|warning| warning.contains("zonecount"))
    .collect()
}

#[test]
fn a_class_that_the_model_does_not_have_is_warned_about() {
    let warnings = warned("tracker ! zonecount zones=a=line:32,0,32,64:classes=red,rde,1,99");
    let [first, second] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(first.contains("zone 'a': the model has no class 'rde'; it has red, "), "{first}");
    assert!(second.contains("no class '99'"), "{second}");
}

#[test]
fn objects_without_identities_are_warned_about_once() {
    let warnings = warned("zonecount zones=a=line:32,0,32,64");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(
        warning.contains("Put tracker before this element") && warning.contains("untracked=true"),
        "{warning}"
    );
    assert_eq!(warned("tracker ! zonecount zones=a=line:32,0,32,64"), [""; 0]);
}
