//! zonecount: where zones come from, where they lie in frames of any size, and where inferoverlay draws them.

use cudainfer_kernels::zones::EventKind;
use cudainfer_tests::{TestPipeline, end, filled, push, scratch, until};
use gst::prelude::*;

use crate::zonecount::zones::{FRAMES, MS, ZONES, counts, play, reported, tracked, walker};

#[test]
fn a_file_says_the_same_as_the_property_and_its_units_count_before_the_propertys() {
    let path = scratch("zones-file").join("zones.toml");
    std::fs::write(
        &path,
        "units = \"fraction\"\n\
         [[zone]]\nname = \"door\"\nkind = \"line\"\npoints = [[0.5, 1], [0.5, 0.0]]\nclasses = [\"person\", 7]\n\
         [[zone]]\nname = \"yard\"\nkind = \"polygon\"\nanchor = \"bottom-center\"\ndwell = 0.4\noccupancy = 1\n\
         points = [[0.3125, 0.0], [0.6875, 0], [0.6875, 1.0], [0.3125, 1.0]]\n",
    )
    .unwrap();
    let told_with = |zones: &str| {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=10 ! {FRAMES} ! identity name=scene ! tracker \
             ! zonecount name=count {zones} ! fakesink name=out"
        ));
        play(&pipeline, walker);
        let seen = pipeline.collect("out");
        pipeline.play();
        assert_eq!(pipeline.wait().succeeds().warnings, [""; 0]);
        reported(&seen)
    };
    let from_file = told_with(&format!("zones-file={} units=pixels", path.display()));
    let zones = "zones=\"door = line: 32,64, 32,0 :classes=person,7; \
                 yard=polygon:20,0,44,0,44,64,20,64:anchor=bottom-center:dwell=0.4:occupancy=1\"";
    assert_eq!(from_file, told_with(zones));
    let events: Vec<_> = from_file.iter().flat_map(|(_, events)| events.iter().map(|e| e.what)).collect();
    assert!(events.contains(&EventKind::Dwell { dwell: 400 * MS }), "{events:?}");
    assert!(events.contains(&EventKind::Occupancy { reached: false }), "{events:?}");
}

#[test]
fn a_file_is_read_when_it_is_named_and_again_at_the_start_and_frames_do_not_wait_for_it() {
    let folder = scratch("zones-read");
    let zone = |name: &str| {
        let path = folder.join(format!("{name}.toml"));
        let text = format!("[[zone]]\nname = \"{name}\"\nkind = \"line\"\npoints = [[1, 2], [3, 4]]\n");
        std::fs::write(&path, text).unwrap();
        path
    };
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=\"{FRAMES}\" ! zonecount name=count zones-file={} ! fakesink name=out async=false",
        folder.join("door.toml").display()
    ));
    let (seen, source, count) = (pipeline.collect("out"), pipeline.element("in"), pipeline.element("count"));
    let names = || counts(&pipeline).iter().map(|zone| zone.get("name").unwrap()).collect::<Vec<String>>();
    let feed = |frames: usize| {
        push(&source, filled(64 * 64 * 3, 0, 0));
        until("the frame", || seen.lock().unwrap().len() == frames);
    };
    // The file did not exist yet when the property was set.
    zone("door");
    pipeline.play();
    feed(1);
    assert_eq!(names(), ["door"]);
    // The file is removed before the next frame comes, but was read when the property was set.
    let gate = zone("gate");
    count.set_property("zones-file", gate.to_str().unwrap());
    std::fs::remove_file(&gate).unwrap();
    feed(2);
    assert_eq!(names(), ["gate"]);
    // A file that does not exist changes nothing, whatever else is set.
    count.set_property("zones-file", folder.join("none.toml").to_str().unwrap());
    count.set_property("min-frames", 2u32);
    feed(3);
    assert_eq!(names(), ["gate"]);
    end(&source);
    let warnings = pipeline.wait().succeeds().warnings;
    assert!(warnings.iter().any(|text| text.contains("none.toml")), "{warnings:?}");
}

#[test]
fn zones_change_between_two_frames_and_those_that_cannot_be_do_not() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=\"{FRAMES}\" ! identity name=scene \
         ! zonecount name=count zones={ZONES} min-frames=1 ! fakesink name=out async=false"
    ));
    play(&pipeline, |_| vec![tracked(1, 30.0)]);
    let seen = pipeline.collect("out");
    let mut frame = 0;
    let mut next = || {
        push(&pipeline.element("in"), filled(64 * 64 * 3, 0, 10 * frame));
        frame += 1;
        until("the frame", || seen.lock().unwrap().len() as u64 == frame);
        reported(&seen).pop().unwrap()
    };
    pipeline.play();
    assert_eq!(next().1.len(), 1);
    let set = |zones: &str| pipeline.element("count").set_property("zones", zones);
    set("all=polygon:0,0,64,0,64,64,0,64;yard=polygon:20,0,44,0,44,64,20,64");
    let (zones, events) = next();
    assert_eq!(
        zones.iter().map(|z| (z.name.as_str(), z.counts.entered)).collect::<Vec<_>>(),
        [("all", 1), ("yard", 1)]
    );
    assert_eq!(
        events.iter().map(|e| e.zone.as_str()).collect::<Vec<_>>(),
        ["all"],
        "it was in the yard already"
    );
    set("all=polygon:0,0,64");
    assert_eq!(next().0, zones);
    end(&pipeline.element("in"));
    let report = pipeline.wait().succeeds();
    let [warning] = &report.warnings[..] else { panic!("one warning: {report:?}") };
    assert!(
        warning.contains("count: zones: zone 'all': 3 coordinates") && warning.contains("are not changed"),
        "{warning}"
    );
}

#[test]
fn fractions_follow_the_frames_size() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=8 ! capsfilter name=size caps={FRAMES} ! identity name=scene \
         ! zonecount name=count units=fraction zones=yard=polygon:0.25,0,0.75,0,0.75,1,0.25,1 min-frames=1 ! fakesink name=out"
    ));
    let size = pipeline.element("size");
    play(&pipeline, move |frame| {
        if frame == 3 {
            size.set_property("caps", FRAMES.replace("64", "128").parse::<gst::Caps>().unwrap());
        }
        // This object is on the right in a small frame, and in the middle of a large one.
        vec![tracked(1, 55.0)]
    });
    let seen = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let widths: Vec<_> = reported(&seen).iter().map(|(zones, _)| zones[0].points[1][0]).collect();
    let grown = widths.iter().position(|w| *w == 96.0).expect("the frames have grown");
    assert!(
        widths[..grown].iter().all(|w| *w == 48.0) && widths[grown..].iter().all(|w| *w == 96.0),
        "{widths:?}"
    );
    let occupancy: Vec<_> = reported(&seen).iter().map(|(zones, _)| zones[0].counts.occupancy).collect();
    assert!((0..8).all(|i| occupancy[i] == u32::from(i >= grown)), "{occupancy:?}");
}

#[test]
fn the_overlay_draws_the_zones_and_can_leave_them_out() {
    let changed = |settings: &str| {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=1 pattern=black ! {FRAMES} ! zonecount zones={ZONES} \
             ! inferoverlay thickness=1 text-scale=1 font=built-in {settings} ! fakesink name=out"
        ));
        let seen = pipeline.collect("out");
        pipeline.play();
        pipeline.wait().succeeds();
        let frame = seen.lock().unwrap()[0].map_readable().unwrap().to_vec();
        let lit = frame.chunks(3).zip(0..).filter(|(p, _)| *p != [0, 0, 0]).map(|(_, i)| (i % 64, i / 64));
        lit.collect::<Vec<(usize, usize)>>()
    };
    assert_eq!(changed("zones=false"), []);
    let lit = changed("labels=false");
    for row in 1..63 {
        for column in [20, 32, 44] {
            assert!(
                lit.iter().any(|(x, y)| x.abs_diff(column) <= 1 && *y == row),
                "nothing at {column},{row}"
            );
        }
    }
    // The arrow is on the right of the line only.
    assert!(
        lit.iter().any(|(x, _)| (35..41).contains(x))
            && !lit.iter().any(|(x, y)| (22..30).contains(x) && (2..62).contains(y))
    );
    assert!(changed("").len() > lit.len() + 50, "no captions");
}
