//! The engine cache: that it is used, changes only the time, and that damaged files do no harm.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cudainfer_kernels::device::Choice;
use cudainfer_tests::{fetched, run, scratch};
use gstcudainfer::inference::{Config, Engine, FrameTensors, Provider, RunShape};

/// How a model is opened on the CPU with a cache in this folder.
fn config(model: &str, cache: &Path) -> Config {
    cudainfer_tests::init();
    Config {
        provider: Provider::Cpu,
        device: Choice::Cpu,
        cache: Some(cache.to_owned()),
        ..Config::new(model)
    }
}

fn open(config: &Config) -> Engine {
    Engine::open(config, &Arc::default(), &|_| ()).unwrap()
}

/// The outputs of every session for the same noise, as bytes; all must be equal.
fn results(engine: &Engine) -> Vec<Vec<u8>> {
    let image = &engine.input;
    let size = [image.width.unwrap_or(64), image.height.unwrap_or(64)];
    let tensors =
        FrameTensors::of(&engine.input, &engine.outputs, image.ty, size, Vec::new(), Vec::new(), Vec::new())
            .unwrap();
    let shape = RunShape::new(tensors, engine.batch).unwrap();
    let values = (0..shape.given_bytes() / 4).map(|i| (i * 7919 % 1009) as f32 / 1009.0);
    let data = gst::Buffer::from_slice(values.flat_map(f32::to_ne_bytes).collect::<Vec<u8>>());
    let all: Vec<Vec<Vec<u8>>> = engine
        .sessions
        .iter()
        .map(|session| {
            let outputs = session.lock().unwrap().run_on_host(&shape, &[&data], &[]).unwrap();
            outputs.iter().map(|output| output.data.map_readable().unwrap().to_vec()).collect()
        })
        .collect();
    assert!(all.iter().all(|one| *one == all[0]));
    all.into_iter().next().unwrap()
}

/// The entries of a cache, without the models' checksums and the mark.
fn entries(cache: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let mut entries: Vec<_> =
        all.filter(|path| !path.ends_with("models") && !path.ends_with("CACHEDIR.TAG")).collect();
    entries.sort();
    entries
}

#[test]
fn the_second_start_comes_from_the_cache_with_results_the_same_to_the_bit() {
    for name in ["nanodet", "posenet"] {
        let folder = scratch("cache");
        let config = Config { sessions: 2, ..config(&fetched(&format!("models/{name}.onnx")), &folder) };
        let without = Config { cache: Some("none".into()), ..config.clone() };
        let first = open(&config);
        assert!(!first.cached);
        let entry = &entries(&folder)[0];
        assert!(entry.file_name().unwrap().to_string_lossy().starts_with(&format!("{name}-")), "{entry:?}");
        let key = fs::read_to_string(entry.join("key.txt")).unwrap();
        for part in
            [&format!("model: {name}, SHA-256 "), "provider: cpu", "shapes: ", "runtime: ONNX Runtime 1."]
        {
            assert!(key.contains(part), "{key}");
        }
        let second = open(&config);
        assert!(second.cached && second.warnings.is_empty());
        let plain = open(&without);
        assert!(!plain.cached);
        assert_eq!(results(&first), results(&plain));
        assert_eq!(results(&second), results(&plain));

        assert_eq!(entries(&folder).len(), 1);
    }
}

#[test]
fn a_spoilt_entry_is_built_anew_with_one_warning_and_right_results() {
    let model = fetched("models/posenet.onnx");
    type Spoil = fn(&Path);
    let spoils: [(&str, Spoil); 5] = [
        ("a flipped bit", |graph| {
            let mut bytes = fs::read(graph).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(graph, bytes).unwrap();
        }),
        ("half of it", |graph| {
            let bytes = fs::read(graph).unwrap();
            fs::write(graph, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("nothing", |graph| fs::write(graph, "").unwrap()),
        ("a folder", |graph| {
            fs::remove_file(graph).unwrap();
            fs::create_dir(graph).unwrap();
        }),
        ("noise with a right checksum", |graph| {
            // The checksum of a file with the same content is known: that of key.txt.
            let entry = graph.parent().unwrap();
            fs::copy(entry.join("key.txt"), graph).unwrap();
            let sums = fs::read_to_string(entry.join("checksums.txt")).unwrap();
            let key = sums.lines().find(|line| line.ends_with(" key.txt")).unwrap();
            let sums = format!("{key}\n{}\n", key.replace("key.txt", "graph.onnx"));
            fs::write(entry.join("checksums.txt"), sums).unwrap();
        }),
    ];
    let reference = results(&open(&config(&model, Path::new("none"))));
    for (what, spoil) in spoils {
        let folder = scratch("spoilt");
        let config = Config { sessions: 2, ..config(&model, &folder) };
        drop(open(&config));
        spoil(&entries(&folder)[0].join("graph.onnx"));
        let engine = open(&config);
        assert!(!engine.cached, "{what}");
        assert_eq!(engine.warnings.len(), 1, "{what}: {:?}", engine.warnings);
        let named = entries(&folder)[0].display().to_string();
        assert!(engine.warnings[0].contains(&named), "{what}: {:?}", engine.warnings);
        assert_eq!(results(&engine), reference, "{what}");
        let next = open(&config);
        assert!(next.cached && next.warnings.is_empty(), "{what}: {:?}", next.warnings);
        assert_eq!(results(&next), reference, "{what}");
    }
}

#[test]
fn the_user_hears_of_a_spoilt_entry_as_a_warning_on_the_bus() {
    let (folder, model) = (scratch("heard"), fetched("models/posenet.onnx"));
    let description = format!(
        "videotestsrc num-buffers=2 ! fusedpreproc device=cpu ! trtinfer name=t provider=cpu model={model} engine-cache={} ! fakesink",
        folder.display()
    );
    assert_eq!(run(&description).succeeds().warnings, [""; 0]);
    fs::write(entries(&folder)[0].join("graph.onnx"), "").unwrap();
    let warnings = run(&description).succeeds().warnings;
    assert!(warnings.len() == 1 && warnings[0].starts_with("t: in the engine cache, '"), "{warnings:?}");
    assert_eq!(run(&description).succeeds().warnings, [""; 0]);
}

#[test]
fn another_model_under_the_same_name_is_not_taken_for_the_one_that_is_kept() {
    let (folder, models) = (scratch("changed"), scratch("changed-models"));
    let model = models.join("model.onnx");
    let config = config(&model.display().to_string(), &folder);
    fs::copy(fetched("models/posenet.onnx"), &model).unwrap();
    let posenet = results(&open(&config));
    fs::copy(fetched("models/nanodet.onnx"), &model).unwrap();
    let nanodet = open(&config);
    assert!(!nanodet.cached);
    assert_ne!(results(&nanodet), posenet);
    assert!(open(&config).cached);
    // The cache has both models now; the number of threads makes no difference.
    fs::copy(fetched("models/posenet.onnx"), &model).unwrap();
    let back = open(&Config { intra_threads: 2, ..config });
    assert!(back.cached);
    assert_eq!(results(&back), posenet);
    assert_eq!(entries(&folder).len(), 2);
}

#[test]
fn several_that_open_at_once_leave_one_whole_entry() {
    let folder = scratch("at-once");
    let config = config(&fetched("models/posenet.onnx"), &folder);
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| results(&open(&config)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|one| *one == all[0]));
    assert_eq!(entries(&folder).len(), 1);
    let after = open(&config);
    assert!(after.cached && after.warnings.is_empty());
    assert_eq!(results(&after), all[0]);
}

#[test]
fn a_cache_that_cannot_be_written_or_is_turned_off_stops_nothing() {
    let model = fetched("models/posenet.onnx");
    let file = scratch("no-folder").join("file");
    fs::write(&file, "").unwrap();
    for folder in [file.as_path(), &file.join("below"), Path::new("/proc/cudainfer"), Path::new("none")] {
        for _ in 0..2 {
            let engine = open(&config(&model, folder));
            let is_off = folder == Path::new("none");
            let said: Vec<_> =
                engine.warnings.iter().map(|said| said.contains("cannot be written: ")).collect();
            assert!(!engine.cached, "{folder:?}");
            assert_eq!(said, if is_off { vec![] } else { vec![true] }, "{folder:?}: {:?}", engine.warnings);
        }
    }
    assert!(!Path::new("none").exists());
    // Tiny models are not cached: they load as quickly as a cache can be read.
    let folder = scratch("tiny");
    drop(open(&config(&cudainfer_tests::model("detector"), &folder)));
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}
