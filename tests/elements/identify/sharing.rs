//! Streams and pipelines that share a gallery, and the numbers of unknowns.

use cudainfer_tests::scratch;

use super::*;

#[test]
fn two_cameras_of_one_instance_have_one_name_for_one_person() {
    let folder = scratch("identify-instance");
    let people = folder.join("people.npz");
    write(&people, "faces", &[("Ann", &[0.0])]);
    let shared = "instance=two-cameras threshold=0.9 min-frames=1";
    let mut door = Scene::new(&format!("{shared} gallery={}", people.display()), "");
    // It has the gallery that the instance has.
    let mut yard = Scene::new(shared, "");
    assert_eq!([door.name(seen(1, 3.0)), yard.name(seen(1, 5.0))], [Some("Ann".into()), Some("Ann".into())]);
    assert_eq!(door.name(seen(2, 90.0)).as_deref(), Some("unknown-1"));
    assert_eq!(
        yard.name(seen(2, 180.0)).as_deref(),
        Some("unknown-2"),
        "tracks of two cameras have nothing in common"
    );
    assert_eq!(yard.name(seen(3, 92.0)).as_deref(), Some("unknown-1"));
    // A gallery that one of them gets, both have.
    write(&people, "faces", &[("Ann", &[0.0]), ("Bob", &[90.0])]);
    yard.pipeline.element("who").set_property("gallery", people.display().to_string());
    assert_eq!(door.name(seen(2, 90.0)).as_deref(), Some("Bob"));
    assert_eq!(door.end().succeeds().warnings, [""; 0]);
    // The other one goes on.
    assert_eq!(yard.name(seen(2, 180.0)).as_deref(), Some("unknown-2"));
    assert_eq!(yard.end().succeeds().warnings, [""; 0]);
    // An instance that nobody has any more begins anew.
    let mut alone = Scene::new(shared, "");
    assert_eq!(alone.name(seen(2, 180.0)).as_deref(), Some("unknown-1"));
}

#[test]
fn who_sets_other_files_for_an_instance_is_warned_or_refused() {
    let folder = scratch("identify-other-files");
    let [one, two] = ["one", "two"].map(|name| folder.join(format!("{name}.npz")));
    write(&one, "faces", &[("Ann", &[0.0])]);
    write(&two, "faces", &[("Bob", &[0.0])]);
    let shared = |gallery: &Path| format!("instance=other-files gallery={}", gallery.display());
    let mut first = Scene::new(&shared(&one), "");
    let mut second = Scene::new(&shared(&two), "");
    let warnings = second.warnings();
    assert!(
        warnings.len() == 1 && warnings[0].contains("who: the instance 'other-files' had the gallery"),
        "{warnings:?}"
    );
    assert_eq!(
        [first.name(seen(1, 0.0)), second.name(seen(1, 0.0))],
        [Some("Bob".into()), Some("Bob".into())]
    );
    let file = folder.join("unknowns.npz");
    let third = format!(
        "videotestsrc num-buffers=1 ! identify instance=other-files unknowns={} ! fakesink",
        file.display()
    );
    cudainfer_tests::run(&third).fails_with(&["unknowns is", "has no file of unknowns", "Set the same"]);
}

#[test]
fn streams_that_share_the_element_share_names_and_not_tracks() {
    let path = scratch("identify-funnel").join("people.npz");
    write(&path, "faces", &[("Ann", &[0.0]), ("Bob", &[90.0])]);
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=a format=time caps=\"{FRAMES}\" ! funnel name=f ! identify gallery={} threshold=0.9 min-frames=1 \
         ! fakesink name=out async=false sync=false appsrc name=b format=time caps=\"{FRAMES}\" ! f.",
        path.display()
    ));
    let seen_frames = pipeline.collect("out");
    pipeline.play();
    let mut count = 0;
    let mut see = |source: &str, object: Object| {
        let mut buffer = filled(64 * 64 * 3, 0, count);
        object.put(buffer.get_mut().unwrap(), &Rect::default());
        push(&pipeline.element(source), buffer);
        count += 1;
        until("the frame", || seen_frames.lock().unwrap().len() as u64 == count);
        identities(seen_frames.lock().unwrap().last().unwrap()).into_values().next().map(|found| found.name)
    };
    assert_eq!(see("a", seen(1, 0.0)).as_deref(), Some("Ann"));
    assert_eq!(see("b", seen(1, 90.0)).as_deref(), Some("Bob"));
    assert_eq!(see("a", face(1, Some(1), None)).as_deref(), Some("Ann"));
    assert_eq!(see("b", face(1, Some(1), None)).as_deref(), Some("Bob"));
    assert_eq!(see("a", seen(2, 180.0)).as_deref(), Some("unknown-1"));
    assert_eq!(see("b", seen(2, 182.0)).as_deref(), Some("unknown-1"));
}
