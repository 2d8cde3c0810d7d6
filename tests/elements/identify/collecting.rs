//! Unknowns: their numbers, and the file that they are collected in.

use cudainfer_tests::scratch;

use super::*;

#[test]
fn unknowns_are_numbered_known_again_and_collected_for_a_gallery() {
    let folder = scratch("identify-unknowns");
    let (people, file) = (folder.join("people.npz"), folder.join("unknowns.npz"));
    write(&people, "faces", &[("Ann", &[0.0])]);
    let properties =
        format!("gallery={} unknowns={} threshold=0.9 min-frames=3", people.display(), file.display());
    let mut scene = Scene::new(&properties, "");
    for frame in 0..4 {
        let found = scene.see(&[seen(1, 5.0), seen(2, 90.0), seen(3, 180.0 + 5.0 * f64::from(frame))]);
        assert_eq!(found[&1].name, "Ann");
        assert_eq!(found.len(), if frame < 2 { 1 } else { 3 }, "{found:?}");
        if frame >= 2 {
            assert_eq!((found[&2].unknown, found[&3].unknown), (Some(1), Some(2)));
            assert_eq!(found[&3].name, "unknown-2");
        }
    }
    // Another track of the same person.
    assert_eq!(scene.see(&[seen(9, 92.0)])[&9].unknown, Some(1));
    assert_eq!(scene.end().succeeds().warnings, [""; 0]);
    let read = Array::read_all(&file, 1 << 20).unwrap();
    let names: Vec<_> = read.iter().map(|(name, array)| (name.as_str(), array.dims.clone())).collect();
    assert_eq!(names, [("__model__", vec![5]), ("unknown-1", vec![1, 2]), ("unknown-2", vec![1, 2])]);
    assert_eq!(read[0].1.text(), Some("faces"));

    // The next start knows them again, and gives no number twice.
    let mut scene = Scene::new(&properties, "");
    assert_eq!(scene.see(&[face(0, None, Some(&at(91.0)))])[&0].unknown, Some(1));
    assert_eq!(scene.see(&[face(0, None, Some(&at(270.0)))])[&0].unknown, Some(3));
    scene.end().succeeds();
    // What was collected is a gallery.
    let mut scene = Scene::new(&format!("gallery={}", file.display()), "");
    assert_eq!(scene.name(face(0, None, Some(&at(270.0)))).as_deref(), Some("unknown-3"));
    scene.end().succeeds();
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the lock and unfinished files are gone: {left:?}");
}

#[test]
fn without_a_gallery_everybody_is_an_unknown() {
    let mut scene = Scene::new("threshold=0.9 min-frames=1", "");
    for (track, degrees, number) in [(1, 0.0, 1), (2, 90.0, 2), (3, 5.0, 1)] {
        assert_eq!(scene.see(&[seen(track, degrees)]).into_values().next().unwrap().unknown, Some(number));
    }
    assert_eq!(scene.end().succeeds().warnings, [""; 0]);
}

#[test]
fn more_unknowns_than_may_be_are_warned_about_once_and_counted() {
    let mut scene = Scene::new("threshold=0.9 max-unknowns=2", "");
    for degrees in [0.0, 90.0, 180.0, 270.0] {
        scene.see(&[face(0, None, Some(&at(degrees)))]);
    }
    assert_eq!((scene.stat("unknown"), scene.stat("left-out")), (2, 2));
    let warnings = scene.end().succeeds().warnings;
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains("who: there are 2 unknowns, which is max-unknowns"), "{warning}");
}

#[test]
fn the_file_cannot_be_written_is_a_warning_and_the_pipeline_goes_on() {
    let folder = scratch("identify-unwritable");
    let inner = folder.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mut scene = Scene::new(&format!("unknowns={}", inner.join("unknowns.npz").display()), "");
    scene.see(&[face(0, None, Some(&at(0.0)))]);
    // In a folder that is gone, nothing can be made, whoever the user is.
    std::fs::remove_dir_all(&inner).unwrap();
    let warnings = scene.end().succeeds().warnings;
    assert!(
        warnings[0].contains("who: the file of unknowns") && warnings[0].contains("cannot be written"),
        "{warnings:?}"
    );
}
