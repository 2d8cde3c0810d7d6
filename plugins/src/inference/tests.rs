//! How an engine comes to its fastest variant, with a library that runs nothing.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudainfer_kernels::device::{Counters, CudaStream};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::backend::{Backend, Opened};
use super::cache::{Cache, Choices};
use super::rival::Rival;
use super::search::open_first;
use super::stop::Interrupt;
use super::*;
use crate::meta::tensor::Tensor;
use crate::sync::lock;

const VARIANTS: [&str; 2] = ["plain", "quick"];
/// The shape of the tests, as the cache names it.
const SHAPE: &str = "image:uint8:1x3x4x4 from uint8";

/// What a library that runs nothing has been asked for.
#[derive(Debug, Default)]
struct Log {
    /// Sessions that were opened, by their variants.
    opened: Vec<&'static str>,
    /// Runs: the variant, the width of the image, the frames.
    runs: Vec<(&'static str, usize, usize)>,
}

/// Where runs of the quick variant report that they have begun, and wait until they may end.
type Gate = (Sender<()>, Receiver<()>);

#[derive(Debug)]
struct Library {
    log: Arc<Mutex<Log>>,
    /// What the cache knows.
    known: Option<&'static str>,
    /// Whether runs of the quick variant fail.
    fails: bool,
    /// Whether the quick variant does not open.
    refused: bool,
    /// Whether the quick variant gives the outputs of a batch in another order.
    mixes: bool,
    /// The first dimension of the model's input and output.
    batch: &'static str,
    gate: Mutex<Option<Gate>>,
    /// What further sessions are.
    further: &'static str,
    /// How long a run of the default variant takes.
    slow: Duration,
}

impl Library {
    fn session(&self, variant: &'static str) -> Result<Box<dyn Session>, InferenceError> {
        lock(&self.log).opened.push(variant);
        if self.refused && variant == VARIANTS[1] {
            return Err(InferenceError::Failed("refused on purpose".into()));
        }
        let gate = if variant == VARIANTS[1] { lock(&self.gate).take() } else { None };
        Ok(Box::new(Runs {
            variant,
            log: Arc::clone(&self.log),
            inputs: [format!("image:uint8:{}x3x?x?", self.batch).parse().unwrap()],
            outputs: [format!("scores:uint8:{}x2", self.batch).parse().unwrap()],
            fails: self.fails && variant == VARIANTS[1],
            mixes: self.mixes && variant == VARIANTS[1],
            slow: if variant == VARIANTS[0] { self.slow } else { Duration::ZERO },
            gate: Mutex::new(gate),
            interrupted: Arc::default(),
        }))
    }
}

impl Backend for Library {
    fn version(&self) -> String {
        "runs nothing".into()
    }

    fn open(
        &self,
        config: &Config,
        _: &Arc<Counters>,
        _: &mut Cache,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<Opened, InferenceError> {
        let mut choices = Choices::default();
        self.known.iter().for_each(|known| choices.add(SHAPE, known));
        let (session, variant) =
            open_first(&choices, &VARIANTS, config.warm_up, |variant| self.session(variant))?;
        Ok(Opened { provider: Provider::Cuda, session, variant, choices, refused: Vec::new() })
    }

    fn variants(&self, _: &Config, _: Provider) -> Vec<&'static str> {
        VARIANTS.to_vec()
    }

    fn open_variant(
        &self,
        _: &Config,
        _: &Arc<Counters>,
        variant: &str,
    ) -> Result<Box<dyn Session>, InferenceError> {
        let variant = VARIANTS.into_iter().find(|known| *known == variant).unwrap();
        self.session(variant)
    }

    fn warning(&self, _: Provider) -> Option<String> {
        None
    }

    fn open_another(
        &self,
        _: &Config,
        _: Provider,
        _: &mut Cache,
    ) -> Result<Box<dyn Session>, InferenceError> {
        self.session(self.further)
    }
}

/// A session that notes its runs.
#[derive(Debug)]
struct Runs {
    variant: &'static str,
    log: Arc<Mutex<Log>>,
    inputs: [TensorDesc; 1],
    outputs: [TensorDesc; 1],
    fails: bool,
    mixes: bool,
    slow: Duration,
    gate: Mutex<Option<Gate>>,
    interrupted: Arc<Interrupted>,
}

/// Whether the current run is ended, or the next one.
#[derive(Debug, Default)]
struct Interrupted(AtomicBool);

impl Interrupt for Interrupted {
    fn interrupt(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn withdraw(&self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Session for Runs {
    fn inputs(&self) -> &[TensorDesc] {
        &self.inputs
    }

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn stream(&self) -> Option<&Arc<CudaStream>> {
        None
    }

    fn reserve(&mut self, _: usize) {}

    fn sizes(&self, batch: usize) -> Vec<usize> {
        vec![1, batch]
    }

    fn warm_up_runs(&self) -> usize {
        1
    }

    fn rows(&self, _: &RunShape, frames: usize) -> usize {
        frames
    }

    fn run(
        &mut self,
        shape: &Arc<RunShape>,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        self.run_on_host(shape, images, fed)
    }

    fn run_on_host(
        &mut self,
        shape: &RunShape,
        images: &[&gst::BufferRef],
        _: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        if let Some((begun, go_on)) = lock(&self.gate).take() {
            begun.send(()).unwrap();
            go_on.recv().unwrap();
        }
        std::thread::sleep(self.slow);
        if self.fails || self.interrupted.0.swap(false, Ordering::SeqCst) {
            return Err(InferenceError::Failed("on purpose".into()));
        }
        let rows = images.len();
        lock(&self.log).runs.push((self.variant, shape.image.dims[3].unwrap(), rows));
        let desc = TensorDesc::fixed("scores", TensorType::UInt8, &[rows, 2]);
        // How many pixels are dark, and the same for all.
        let dark = |image: &&gst::BufferRef| {
            image.map_readable().unwrap().iter().filter(|pixel| **pixel == 0).count()
        };
        let mut scores: Vec<[u8; 2]> =
            images.iter().map(|image| [u8::try_from(dark(image)).unwrap(), 7]).collect();
        if self.mixes {
            scores.rotate_left(1);
        }
        Ok(vec![Tensor { desc, data: gst::Buffer::from_slice(scores.concat()) }])
    }

    fn wait_for_turn(&mut self) -> Result<Outlook, InferenceError> {
        Ok(Outlook::default())
    }

    fn interrupt(&self) -> Option<Arc<dyn Interrupt>> {
        Some(self.interrupted.clone())
    }

    fn finish(&mut self) -> Result<(), InferenceError> {
        Ok(())
    }
}

/// An engine whose cache knows that a variant is the fastest, and its folder.
fn engine(name: &str, library: Library) -> (PathBuf, Engine) {
    engine_with(name, library, WarmUp::Background)
}

fn engine_with(name: &str, library: Library, warm_up: WarmUp) -> (PathBuf, Engine) {
    gst::init().unwrap();
    let root = std::env::temp_dir().join(format!("cudainfer-upgrade-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).unwrap();
    let model = root.join("a.onnx");
    fs::write(&model, [7 << 3 | 2, 0]).unwrap();
    let config = Config {
        batch: (library.batch == "?").then_some(4),
        cache: Some("none".into()),
        warm_up,
        ..Config::new(model)
    };
    let library = Box::new(library);
    let engine =
        Engine::open_with(library, StartTimes::default(), &config, &Arc::default(), &|_| ()).unwrap();
    (root, engine)
}

fn library(known: Option<&'static str>) -> (Arc<Mutex<Log>>, Library) {
    let log = Arc::<Mutex<Log>>::default();
    (
        Arc::clone(&log),
        Library {
            log,
            known,
            fails: false,
            refused: false,
            mixes: false,
            batch: "?",
            gate: Mutex::default(),
            further: VARIANTS[0],
            slow: Duration::ZERO,
        },
    )
}

fn shape(engine: &Engine, side: usize) -> RunShape {
    let tensors = FrameTensors::of(
        &engine.input,
        &engine.outputs,
        TensorType::UInt8,
        [side, side],
        Vec::new(),
        Vec::new(),
        Vec::new(),
    )
    .unwrap();
    RunShape::new(tensors, engine.batch).unwrap()
}

fn warm_up(engine: &Engine, side: usize) -> Arc<RunShape> {
    engine.warm_up(shape(engine, side), &|_| (), &Stop::default()).unwrap().0
}

/// The variant that serves, by what a run of it notes.
fn serving(engine: &Engine, log: &Mutex<Log>, shape: &Arc<RunShape>) -> &'static str {
    let image = gst::Buffer::from_slice(vec![0u8; shape.given_bytes()]);
    lock(&engine.sessions[0]).run(shape, &[&image], &[]).unwrap();
    lock(log).runs.last().unwrap().0
}

#[test]
fn the_default_variant_serves_until_the_fastest_is_warm_in_every_size() {
    let (log, library) = library(Some("quick"));
    let (root, engine) = engine("serves", library);
    let shape = warm_up(&engine, 4);
    assert!(engine.has_upgrade() && engine.variant() == "plain");
    assert_eq!(serving(&engine, &log, &shape), "plain");
    assert_eq!(lock(&log).opened, ["plain"], "the others are not opened before frames come through");
    lock(&log).runs.clear();
    assert!(engine.upgrade(&Stop::default()).unwrap().is_some());
    assert_eq!(lock(&log).runs, [("quick", 4, 1), ("quick", 4, 4)]);
    assert_eq!((engine.variant(), serving(&engine, &log, &shape)), ("quick", "quick"));
    assert!(!engine.has_upgrade() && engine.upgrade(&Stop::default()).unwrap().is_none());
    assert!(engine.take_found().is_none(), "nothing was measured");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_variant_that_is_named_serves_whichever_is_the_fastest_and_no_other_name_does() {
    let (log, library) = library(Some("plain"));
    let (root, engine) = engine("named", library);
    let shape = warm_up(&engine, 4);
    assert_eq!(engine.variants(), VARIANTS);
    for name in ["quick", "plain"] {
        assert!(engine.run_as(name).unwrap().is_some());
        assert_eq!((engine.variant(), serving(&engine, &log, &shape)), (name, name));
    }
    let refused = engine.run_as("slow").unwrap_err().to_string();
    assert!(refused.contains("'slow'") && refused.contains("plain, quick"), "{refused}");
    assert_eq!(engine.variant(), "plain");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_shape_that_comes_meanwhile_is_warm_too_before_the_variant_serves() {
    let (log, library) = library(Some("quick"));
    let ((begun, wait_for_begin), (go_on, wait)) = (channel(), channel());
    *lock(&library.gate) = Some((begun, wait));
    let (root, engine) = engine("shapes", library);
    let first = warm_up(&engine, 4);
    std::thread::scope(|scope| {
        let upgrade = scope.spawn(|| engine.upgrade(&Stop::default()));
        wait_for_begin.recv().unwrap();
        assert_eq!(serving(&engine, &log, &first), "plain", "frames do not wait for it");
        let second = warm_up(&engine, 8);
        go_on.send(()).unwrap();
        assert!(upgrade.join().unwrap().unwrap().is_some());
        assert_eq!(serving(&engine, &log, &second), "quick");
    });
    let quick: Vec<_> =
        lock(&log).runs.iter().filter(|run| run.0 == "quick").map(|run| (run.1, run.2)).collect();
    assert_eq!(quick, [(4, 1), (4, 4), (8, 1), (8, 4), (8, 1)]);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn who_stops_interrupts_the_run_that_is_under_way_and_nothing_is_replaced() {
    let (log, library) = library(Some("quick"));
    let ((begun, wait_for_begin), (go_on, wait)) = (channel(), channel());
    *lock(&library.gate) = Some((begun, wait));
    let (root, engine) = engine("stops", library);
    let shape = warm_up(&engine, 4);
    let stop = Stop::default();
    std::thread::scope(|scope| {
        let upgrade = scope.spawn(|| engine.upgrade(&stop));
        wait_for_begin.recv().unwrap();
        stop.set();
        go_on.send(()).unwrap();
        // The upgrade was interrupted, which is no error.
        assert!(upgrade.join().unwrap().unwrap().is_none());
    });
    assert_eq!((engine.variant(), serving(&engine, &log, &shape)), ("plain", "plain"));
    assert!(lock(&log).runs.iter().all(|run| run.0 == "plain"));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_search_that_is_stopped_ends_with_its_run_and_the_next_start_searches() {
    let (log, library) = library(None);
    let ((begun, wait_for_begin), (go_on, wait)) = (channel(), channel());
    *lock(&library.gate) = Some((begun, wait));
    let (root, engine) = engine("stops-search", library);
    let stop = Stop::default();
    std::thread::scope(|scope| {
        let start = scope.spawn(|| engine.warm_up(shape(&engine, 4), &|_| (), &stop).map(|_| ()));
        wait_for_begin.recv().unwrap();
        stop.set();
        go_on.send(()).unwrap();
        assert!(matches!(start.join().unwrap(), Err(InferenceError::Interrupted)));
    });
    let opened = lock(&log).opened.len();
    assert!(engine.take_found().is_none() && lock(&log).runs.iter().all(|run| run.0 == "plain"));
    warm_up(&engine, 4);
    assert!(engine.take_found().is_some() && lock(&log).opened.len() > opened);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_variant_that_fails_is_an_error_and_what_served_goes_on() {
    let (log, library) = library(Some("quick"));
    let (root, engine) = engine("fails", Library { fails: true, ..library });
    let shape = warm_up(&engine, 4);
    assert!(engine.upgrade(&Stop::default()).unwrap_err().to_string().contains("on purpose"));
    assert_eq!((engine.variant(), serving(&engine, &log, &shape)), ("plain", "plain"));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn where_the_default_is_the_fastest_there_is_nothing_to_replace() {
    let (log, library) = library(Some("plain"));
    let (root, engine) = engine("nothing", library);
    warm_up(&engine, 4);
    assert!(!engine.has_upgrade() && lock(&log).opened == ["plain"]);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn without_a_choice_the_variants_are_measured_and_the_result_is_reported_once() {
    let (log, library) = library(None);
    let (root, engine) = engine("measured", library);
    warm_up(&engine, 4);
    assert!(!engine.has_upgrade() && lock(&log).opened == VARIANTS);
    let found = engine.take_found().unwrap();
    assert!(found.starts_with(&format!("the model runs as {}", engine.variant())), "{found}");
    assert!(found.contains("quick"), "{found}");
    assert!(engine.take_found().is_none());
    // Another shape is not measured again.
    warm_up(&engine, 8);
    assert!(lock(&log).opened == VARIANTS && engine.take_found().is_none());
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_model_of_a_fixed_batch_is_fed_with_whole_batches_of_frames() {
    let (log, library) = library(Some("plain"));
    let (root, engine) = engine("fixed", Library { batch: "8", ..library });
    let shape = warm_up(&engine, 4);
    assert_eq!((engine.batch, shape.image.to_string()), (8, "image:uint8:1x3x4x4".into()));
    assert_eq!(shape.outputs[0].to_string(), "scores:uint8:1x2");
    assert!(lock(&log).runs.iter().all(|run| *run == ("plain", 4, 8)), "{:?}", lock(&log).runs);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn an_output_without_the_fixed_batch_is_refused_with_its_name() {
    let (_, library) = library(None);
    let (root, mut engine) = engine("without", Library { batch: "8", ..library });
    engine.outputs = vec!["sums:float32:1x2".parse().unwrap()];
    let refused = FrameTensors::of(
        &engine.input,
        &engine.outputs,
        TensorType::UInt8,
        [4, 4],
        Vec::new(),
        Vec::new(),
        Vec::new(),
    )
    .unwrap_err()
    .to_string();
    assert!(refused.contains("sums:float32:1x2") && refused.contains('8'), "{refused}");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_variant_that_mixes_up_the_frames_of_a_batch_is_left_out() {
    let (log, library) = library(None);
    let (root, engine) = engine("mixes", Library { mixes: true, ..library });
    warm_up(&engine, 4);
    assert_eq!((engine.variant(), lock(&log).opened.as_slice()), ("plain", &VARIANTS[..]));
    assert_eq!(engine.take_found().unwrap(), "the model runs as plain");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_known_variant_that_does_not_open_any_more_is_reported_and_the_default_serves() {
    let (log, library) = library(Some("quick"));
    let messages = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&messages);
    gst::init().unwrap();
    crate::log::ENGINE.set_threshold(gst::DebugLevel::Warning);
    let listener = gst::log::add_log_function(move |_, level, _, _, _, _, message| {
        let text = message.get().map(|text| text.to_string()).unwrap_or_default();
        lock(&heard).push(format!("{level:?}: {text}"));
    });
    let (root, engine) = engine_with("refused", Library { refused: true, ..library }, WarmUp::Complete);
    assert_eq!((engine.variant(), lock(&log).opened.as_slice()), ("plain", &["quick", "plain"][..]));
    let shape = warm_up(&engine, 4);
    assert_eq!((engine.variant(), serving(&engine, &log, &shape)), ("plain", "plain"));
    gst::log::remove_log_function(listener);
    let messages = lock(&messages);
    let warned = messages.iter().any(|line| {
        line.starts_with("Warning")
            && line.contains("does not open as quick")
            && line.contains("refused on purpose")
    });
    assert!(warned, "{messages:?}");
    // The new measurement is remembered instead.
    assert_eq!(engine.take_found().unwrap(), "the model runs as plain");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn frames_that_wait_for_the_best_are_served_by_it_from_the_first_on() {
    let (log, library) = library(Some("quick"));
    let (root, engine) = engine_with("complete", library, WarmUp::Complete);
    let shape = warm_up(&engine, 4);
    assert_eq!((engine.variant(), serving(&engine, &log, &shape)), ("quick", "quick"));
    assert!(lock(&log).opened == ["quick"] && !engine.has_upgrade());
    fs::remove_dir_all(root).unwrap();
}

/// An engine whose runs take a while, beside which this other runtime is measured.
fn engine_with_rival(name: &str, rival: Library) -> (PathBuf, Engine, Arc<Mutex<Log>>) {
    let (log, library) = library(Some("plain"));
    let (root, engine) = engine(name, Library { slow: Duration::from_millis(5), ..library });
    let rival = Library { further: VARIANTS[1], log: Arc::clone(&log), ..rival };
    let config = Config { provider: Provider::OpenVino, ..engine.config.clone() };
    *lock(&engine.variant.rival) = Some(Rival::new(Box::new(rival), config, Cache::off()));
    (root, engine, log)
}

#[test]
fn a_faster_runtime_with_the_same_results_serves_in_every_session_once_it_is_warm_for_every_shape() {
    let (root, mut engine, log) = engine_with_rival("rival", library(None).1);
    let another = engine.backend.open_another(&engine.config, Provider::Cuda, &mut Cache::off()).unwrap();
    engine.sessions.push(Arc::new(Mutex::new(another)));
    let shapes = [4, 8].map(|side| warm_up(&engine, side));
    assert!(engine.has_upgrade() && engine.provider() == Provider::Cuda);
    assert!(engine.upgrade(&Stop::default()).unwrap().is_some());
    for shape in &shapes {
        for session in 0..2 {
            let image = gst::Buffer::from_slice(vec![0u8; shape.given_bytes()]);
            lock(&engine.sessions[session]).run(shape, &[&image], &[]).unwrap();
            assert_eq!(lock(&log).runs.last().unwrap().0, "quick");
        }
    }
    let warm =
        |width, frames| lock(&log).runs.iter().filter(|run| **run == ("quick", width, frames)).count() >= 2;
    assert!(warm(8, 1) && warm(8, 4), "the shape that was not measured is warm as well");
    assert_eq!(engine.provider(), Provider::OpenVino);
    let found = engine.take_found().unwrap();
    assert!(
        found.starts_with("the model runs on openvino; a frame takes 0.") && found.ends_with(" on cuda"),
        "{found}"
    );
    assert!(!engine.has_upgrade() && engine.upgrade(&Stop::default()).unwrap().is_none());
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_runtime_with_other_results_or_that_fails_serves_no_frame_however_fast_it_is() {
    for (name, rival, why) in [
        (
            "rival-differs",
            Library { mixes: true, ..library(None).1 },
            Some("the model stays on cuda: OpenVINO gives other results ("),
        ),
        ("rival-fails", Library { fails: true, ..library(None).1 }, None),
        ("rival-refused", Library { refused: true, ..library(None).1 }, None),
    ] {
        let (root, engine, log) = engine_with_rival(name, rival);
        let shape = warm_up(&engine, 4);
        assert!(engine.upgrade(&Stop::default()).unwrap().is_none());
        assert_eq!((engine.provider(), serving(&engine, &log, &shape)), (Provider::Cuda, "plain"));
        let found = engine.take_found();
        match why {
            Some(why) => assert!(found.as_ref().unwrap().starts_with(why), "{found:?}"),
            None => assert_eq!(found, None),
        }
        assert!(!engine.has_upgrade(), "it is measured once");
        fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn who_stops_interrupts_the_contest_and_nothing_is_replaced_or_found() {
    let rival = library(None).1;
    let ((begun, wait_for_begin), (go_on, wait)) = (channel(), channel());
    *lock(&rival.gate) = Some((begun, wait));
    let (root, engine, log) = engine_with_rival("rival-stops", rival);
    let shape = warm_up(&engine, 4);
    let stop = Stop::default();
    std::thread::scope(|scope| {
        let upgrade = scope.spawn(|| engine.upgrade(&stop));
        wait_for_begin.recv().unwrap();
        stop.set();
        go_on.send(()).unwrap();
        assert!(upgrade.join().unwrap().unwrap().is_none());
    });
    assert_eq!((engine.provider(), serving(&engine, &log, &shape)), (Provider::Cuda, "plain"));
    assert!(engine.take_found().is_none());
    fs::remove_dir_all(root).unwrap();
}
