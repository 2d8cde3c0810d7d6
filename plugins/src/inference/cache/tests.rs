//! What is kept when, with fakes for ONNX Runtime and TensorRT.

use std::fs;

use super::*;

/// A cache and an entry in a folder of its own.
fn cache(name: &str) -> (PathBuf, Cache, Entry) {
    let root = std::env::temp_dir().join(format!("cudainfer-cache-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    let (cache, entry) = again(&root);
    (root, cache, entry)
}

/// The same in the next process.
fn again(root: &Path) -> (Cache, Entry) {
    let key = Key { name: "model-0123456789ab".into(), text: "model: 1\n".into() };
    let cache = Cache::at(Some(root.to_owned()), "", "");
    (cache, Entry::new(root, key))
}

/// What TensorRT does: it takes the engine in the folder or builds one; says whether it built.
fn tensorrt(folder: Option<&Path>) -> Result<bool, ()> {
    let engine = folder.unwrap().join("model_sm90.engine");
    match fs::read_to_string(&engine) {
        Ok(text) if text == "engine" => Ok(false),
        Ok(_) => Err(()),
        Err(_) => fs::write(engine, "engine").map(|()| true).map_err(|_| ()),
    }
}

#[test]
fn an_engine_is_built_once_and_in_the_cache_when_the_session_is_ready() {
    let (root, mut cache, entry) = cache("engines");
    assert_eq!(cache.engines(entry.clone(), tensorrt), Ok(true));
    assert!(!cache.hit && entry.check() == Ok(false));
    cache.finish();
    assert_eq!(entry.check(), Ok(true));
    let (mut next, entry) = again(&root);
    assert_eq!(next.engines(entry.clone(), tensorrt), Ok(false));
    assert!(next.hit && next.warnings().is_empty());
    // An engine for another size, by a later run.
    fs::write(next.pending.as_ref().unwrap().work.file("other.engine"), "engine").unwrap();
    drop(next);
    assert!(entry.check() == Ok(true) && entry.folder().join("other.engine").exists());
    assert_eq!(fs::read_dir(&root).unwrap().count(), 2, "the entry and the mark");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn what_a_refused_session_has_built_serves_the_next_attempt_and_is_never_published_alone() {
    let (root, mut cache, entry) = cache("attempts");
    let refused = cache.engines(entry.clone(), |folder| tensorrt(folder).and(Err::<bool, ()>(())));
    assert_eq!(refused, Err(()));
    assert_eq!(cache.engines(entry.clone(), tensorrt), Ok(false));
    assert!(!cache.hit, "it was built a moment ago");
    drop(cache);
    assert_eq!(entry.check(), Ok(true));
    entry.discard();
    let (mut cache, entry) = again(&root);
    assert!(cache.engines(entry.clone(), |folder| tensorrt(folder).and(Err::<bool, ()>(()))).is_err());
    assert!(!cache.distrust(), "nothing came from the cache");
    drop(cache);
    assert_eq!(entry.check(), Ok(false));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn engines_that_are_damaged_or_refused_are_built_anew_with_one_warning() {
    for (name, published, part) in
        [("damaged", "engine", "model_sm90.engine"), ("refused", "of another version", "refused")]
    {
        let (root, _, entry) = cache(name);
        let work = entry.work().unwrap();
        fs::write(work.file("model_sm90.engine"), published).unwrap();
        entry.publish(&work).unwrap();
        if name == "damaged" {
            fs::write(entry.folder().join("model_sm90.engine"), "engin").unwrap();
        }
        let (mut cache, entry) = again(&root);
        let mut session = cache.engines(entry.clone(), tensorrt);
        if session.is_err() {
            assert!(cache.distrust());
            session = cache.engines(entry.clone(), tensorrt);
        }
        assert_eq!(session, Ok(true), "{name}");
        let warnings = cache.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains(part), "{name}: {warnings:?}");
        assert!(warnings[0].contains(&entry.folder().display().to_string()), "{warnings:?}");
        cache.finish();
        let (mut next, entry) = again(&root);
        assert_eq!(next.engines(entry, tensorrt), Ok(false), "{name}");
        fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn a_graph_that_cannot_be_saved_is_loaded_without() {
    let (root, mut cache, entry) = cache("full");
    let load = |graph: Graph<'_>| match graph {
        Graph::Save(path) => {
            fs::write(path, "half").unwrap();
            Err(())
        }
        Graph::Saved(_) => Err(()),
        Graph::Model => Ok(()),
    };
    assert_eq!(cache.graph(entry.clone(), load), Ok(()));
    let warnings = cache.warnings();
    assert!(!cache.hit && warnings.len() == 1 && warnings[0].contains("cannot save"), "{warnings:?}");
    drop(cache);
    assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "nothing half is left but the mark, {entry:?}");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_model_whose_saved_graph_is_refused_is_loaded_as_it_is_from_the_next_start_on() {
    let (root, mut cache, entry) = cache("not-cacheable");
    let loads = std::cell::RefCell::new(Vec::new());
    let load = |graph: Graph<'_>| {
        loads.borrow_mut().push(match &graph {
            Graph::Model => "model",
            Graph::Save(_) => "save",
            Graph::Saved(_) => "saved",
        });
        match graph {
            Graph::Save(path) => fs::write(path, "refused").map_err(|_| ()),
            Graph::Saved(_) => Err(()),
            Graph::Model => Ok(()),
        }
    };
    let loaded = |cache: &mut Cache, entry: Entry| {
        loads.borrow_mut().clear();
        assert_eq!(cache.graph(entry, load), Ok(()));
        assert!(!cache.hit && cache.warnings().is_empty());
        loads.borrow().clone()
    };
    assert_eq!(loaded(&mut cache, entry), ["save"]);
    let (mut next, entry) = again(&root);
    assert_eq!(loaded(&mut next, entry), ["saved", "save", "saved"]);
    for _ in 0..2 {
        let (mut next, entry) = again(&root);
        assert_eq!(loaded(&mut next, entry.clone()), ["model"]);
        assert!(entry.has(NOT_CACHEABLE) && !entry.has(GRAPH));
    }
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_folder_with_other_things_gets_the_cache_below_it_and_loses_nothing() {
    let root = std::env::temp_dir().join(format!("cudainfer-cache-{}-home", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("build.tmp")).unwrap();
    fs::write(root.join("thesis.tmp"), "a year's work").unwrap();
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(48 * 3600);
    for old in ["build.tmp", "thesis.tmp"] {
        fs::File::open(root.join(old)).unwrap().set_modified(before).unwrap();
    }
    let model = root.join("a.onnx");
    fs::write(&model, [7 << 3 | 2, 0]).unwrap();
    let config = Config { cache: Some(root.clone()), ..Config::new(model) };
    let mut cache = Cache::new(&config, "batch 1", "1.31");
    let entry = cache.entry(&config, Provider::TensorRt, None).unwrap();
    assert_eq!(cache.engines(entry.clone(), tensorrt), Ok(true));
    cache.finish();
    assert_eq!(entry.folder().parent(), Some(root.join("cudainfer").as_path()));
    assert_eq!(entry.check(), Ok(true));
    assert_eq!(fs::read_to_string(root.join("thesis.tmp")).unwrap(), "a year's work");
    assert!(root.join("build.tmp").is_dir());
    assert!(root.join("cudainfer").join(folder::TAG).is_file());
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn where_both_folders_hold_other_things_the_user_hears_that_the_cache_is_off() {
    let root = std::env::temp_dir().join(format!("cudainfer-cache-{}-taken", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("cudainfer/src")).unwrap();
    let model = root.join("a.onnx");
    fs::write(&model, [7 << 3 | 2, 0]).unwrap();
    let config = Config { cache: Some(root.clone()), ..Config::new(model) };
    let mut cache = Cache::new(&config, "batch 1", "1.31");
    for _ in 0..2 {
        assert!(cache.entry(&config, Provider::TensorRt, None).is_none());
    }
    let warnings = cache.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("the engine cache is off"), "{warnings:?}");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_stops_nothing_and_is_reported_once() {
    let (mut cache, entry) = again(Path::new("/proc/cudainfer"));
    assert_eq!(cache.engines(entry.clone(), |folder| Ok::<_, ()>(folder.is_none())), Ok(true));
    assert_eq!(cache.graph(entry, |graph| Ok::<_, ()>(matches!(graph, Graph::Model))), Ok(true));
    let warnings = cache.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("cannot be written: "), "{warnings:?}");
}

#[test]
fn files_are_kept_as_they_were_written_and_damaged_ones_are_not_used() {
    let (root, mut cache, entry) = cache("files");
    assert!(cache.files(&entry).is_empty());
    let files = |text: &str| HashMap::from([("image-1".to_owned(), text.as_bytes().to_vec())]);
    cache.replace(&entry, &files("first"));
    cache.replace(&entry, &files("second"));
    let (mut next, entry) = again(&root);
    assert_eq!(next.files(&entry), files("second"));
    fs::write(entry.folder().join("image-1"), "secand").unwrap();
    let (mut next, entry) = again(&root);
    assert!(next.files(&entry).is_empty() && next.warnings().len() == 1);
    assert_eq!(entry.check(), Ok(false), "it is gone");
    fs::remove_dir_all(root).unwrap();
}
