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
        (String::new(), &["zones.toml' is invalid", "no [[zone]]", "no [ground]"][..]),
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

/// The pipeline with a file of this text.
fn with_file(text: &str) -> cudainfer_tests::Report {
    let path = scratch("ground").join("zones.toml");
    std::fs::write(&path, text).unwrap();
    with(&format!("zones-file={}", path.display()))
}

#[test]
fn what_is_wrong_with_the_ground_is_said_in_a_sentence() {
    const POINTS: &str = "points = [[20, 10], [40, 10], [60, 60], [4, 60]]\n";
    const METRES: &str = "metres = [7, 40]\n";
    let four = |text: &str| format!("[ground]\n{text}\n{METRES}");
    let metres = |text: &str| format!("[ground]\n{POINTS}metres = {text}\n");
    let zone = "[[zone]]\nname = \"a\"\nkind = \"polygon\"\npoints = [[1, 2], [30, 4], [20, 40]]\n";
    for (text, parts) in [
        ("[ground]\n".into(), &["zones.toml' is invalid: [ground] is empty", "points", "matrix"][..]),
        (format!("[ground]\n{POINTS}"), &["has points, but no metres", "[width, length]"]),
        (format!("[ground]\n{METRES}"), &["has metres, but no points"]),
        (
            format!("[ground]\n{POINTS}{METRES}matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n"),
            &["both a matrix and points or metres"],
        ),
        (four("points = [[20, 10], [40, 10], [60, 60]]"), &["[ground]: it has 3 points, expected four"]),
        (
            four("points = [[20, 10], [40, 10], [60, 60], [4, 60], [3, 9]]"),
            &["it has 5 points, expected four"],
        ),
        (
            four("points = [[20, 10], [40, 10], [60, 10], [4, 60]]"),
            &["numbers 1, 2 and 3 of points lie on one straight line"],
        ),
        (
            four("points = [[20, 10], [20, 10], [60, 60], [4, 60]]"),
            &["numbers 1 and 2 of points are the same"],
        ),
        (four("points = [[20, 10], [60, 60], [40, 10], [4, 60]]"), &["[ground]: no camera", "same order"]),
        (four("points = [[20, 10], [nan, 10], [60, 60], [4, 60]]"), &["number 2 of points is NaN"]),
        (four("points = [[20], [40, 10], [60, 60], [4, 60]]"), &["line 2", "length 1"]),
        (metres("[0, 40]"), &["0 m wide and 40 m long", "above 0"]),
        (metres("[7, -40]"), &["7 m wide and -40 m long", "above 0"]),
        (
            metres("[[0, 0], [7, 0], [7, 40]]"),
            &["metres has 3 places, expected one for each of the four points"],
        ),
        (
            metres("[[0, 0], [7, 0], [14, 0], [0, 40]]"),
            &["numbers 1, 2 and 3 of metres lie on one straight line"],
        ),
        (metres("7"), &["metres are four places", "[7, 30]"]),
        (
            "[ground]\nmatrix = [[1, 2, 3], [2, 4, 6], [0, 0, 1]]\n".into(),
            &["zones.toml' is invalid: [ground]: its matrix is singular", "four points"],
        ),
        ("[ground]\nmatrix = [[1, 2], [2, 4], [0, 0]]\n".into(), &["line 2", "length 2"]),
        ("[ground]\nmatrix = [[1, 0, 0], [0, inf, 0], [0, 0, 1]]\n".into(), &["NaN or infinite"]),
        (format!("[ground]\n{POINTS}{METRES}units = \"feet\"\n"), &["'feet' is none of pixels, fraction"]),
        (format!("[ground]\n{POINTS}{METRES}anchor = \"toe\"\n"), &["'toe' is none of", "bottom-center"]),
        (format!("[ground]\n{POINTS}{METRES}meters = 1\n"), &["there is no key 'meters'", "metres"]),
        (format!("{zone}min-speed = 5\n"), &["zone 'a': min-speed and max-speed need", "Add [ground]"]),
        (format!("{zone}min-speed = -5\n"), &["zone 'a': min-speed must be a number of m/s above 0, not -5"]),
        (
            format!("[ground]\n{POINTS}{METRES}{zone}min-speed = 9\nmax-speed = 5\n"),
            &["zone 'a': no speed is at least 9 m/s and at most 5 m/s"],
        ),
        (format!("{zone}loitering = 0\n"), &["zone 'a': loitering", "above 0"]),
        (format!("{zone}inertia = 0\n"), &["zone 'a': inertia", "from 1 to 1000, not 0"]),
        (format!("{zone}holes = [[[50, 50], [60, 50], [60, 60]]]\n"), &["zone 'a', hole 1: it lies outside"]),
        (format!("{zone}holes = [[[5, 5], [6, 5]]]\n"), &["zone 'a', hole 1", "three different points"]),
        (
            zone.replace("polygon", "line").replace(", [20, 40]", "") + "loitering = 5\n",
            &["zone 'a' is a line, which has no loitering"],
        ),
    ] {
        let report = with_file(&text);
        let error = report.fails_with(parts);
        assert!(!error.contains("untagged"), "{error}");
    }
    for (properties, parts) in [
        ("zones=a=polygon:1,2,30,4,20,40:min-speed=5", &["zone 'a'", "Add [ground]", "zones-file"][..]),
        ("zones=a=polygon:1,2,30,4,20,40:hole=1,2,3", &["zone 'a': hole: 3 coordinates"]),
        ("zones=a=polygon:1,2,30,4,20,40:loitering=long", &["'long' is not a number of seconds"]),
    ] {
        with(properties).fails_with(parts);
    }
}

#[test]
fn ground_in_other_units_than_its_points_is_warned_about() {
    const METRES: &str = "metres = [7, 40]\n";
    for (points, units, part) in [
        ("[[0.3, 0.1], [0.6, 0.1], [0.9, 0.9], [0.1, 0.9]]", "pixels", "set units = \"fraction\""),
        ("[[20, 10], [40, 10], [60, 60], [4, 60]]", "fraction", "set units = \"pixels\""),
        ("[[800, 400], [1100, 400], [1800, 1000], [300, 1000]]", "pixels", "outside the frame of 64x64"),
    ] {
        let report =
            with_file(&format!("[ground]\npoints = {points}\nunits = \"{units}\"\n{METRES}")).succeeds();
        let [warning] = &report.warnings[..] else { panic!("{points}: one warning: {report:?}") };
        assert!(warning.contains("count: the points of [ground]") && warning.contains(part), "{warning}");
    }
    let right = format!("[ground]\npoints = [[20, 10], [40, 10], [70, 66], [-4, 66]]\n{METRES}");
    assert_eq!(with_file(&right).succeeds().warnings, [""; 0]);
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
