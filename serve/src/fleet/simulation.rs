//! A fleet with clients, an operator who writes its configuration file, a folder that cannot be written at times, and the end of the
//! process at any time: the product's code, but for the pipelines, as a seed says.
//!
//! After each step the fleet's streams are those of a model of a few lines: what the file has, but for what the API has changed since
//! the file last said something else of it. What an answer calls kept is there in the next process.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use cudainfer_fuzzing::{Tally, simulate};
use serde_json::json;

use super::{Applied, Exit, Fleet, Refusal};
use crate::config::{Config, SourceConfig, read_json};
use crate::log;
use crate::stream::made_up::MadeUp;

/// Seeds of `cargo test`.
const SEEDS: u64 = 30;
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// As `most-streams` in the file.
const MOST_STREAMS: usize = 4;

/// Sources by name.
type Sources = BTreeMap<String, SourceConfig>;

/// A change by the API: the source in the file at that time, and as it is now; `None` where there is none.
type Changed = (Option<SourceConfig>, Option<SourceConfig>);

/// What a process may know of its sources.
#[derive(Clone, Debug, Default)]
struct Known {
    file: Sources,
    changed: BTreeMap<String, Changed>,
}

impl Known {
    fn now(&self) -> Sources {
        let mut now = self.file.clone();
        for (name, (_, changed)) in &self.changed {
            match changed {
                Some(source) => drop(now.insert(name.clone(), source.clone())),
                None => drop(now.remove(name)),
            }
        }
        now
    }

    /// A source is this now.
    fn change(&mut self, name: &str, now: Option<SourceConfig>) {
        let file = self.file.get(name).cloned();
        if file == now {
            self.changed.remove(name);
        } else {
            self.changed.insert(name.to_owned(), (file, now));
        }
    }

    /// The file says this now.
    fn read(&mut self, file: &Sources) {
        self.changed.retain(|name, (before, _)| *before == file.get(name).cloned());
        self.file.clone_from(file);
    }
}

fn source(name: &str, random: &mut fastrand::Rng) -> SourceConfig {
    let uri = format!("test://ball?rate={}", random.u8(1..4));
    let mut value = json!({"name": name, "uri": uri, "pipeline": "plain"});
    if random.bool() {
        value["override"] = json!({"i.thickness": random.u8(1..4)});
    }
    read_json(value).unwrap()
}

/// The operator's, the clients' and the disk's doings, and what must have come of them.
struct Story {
    random: fastrand::Rng,
    folder: tempfile::TempDir,
    fleet: Option<Fleet>,
    exit: Receiver<Exit>,
    pipelines: Arc<MadeUp>,
    known: Known,
    /// What the next process must know, if this one ends now.
    kept: Known,
    /// What it may know instead, where the service was still trying to write that when it was killed.
    perhaps: Option<Known>,
    tally: Tally,
}

impl Story {
    fn begin(seed: u64) -> Self {
        let mut story = Self {
            random: fastrand::Rng::with_seed(seed),
            folder: tempfile::Builder::new().prefix("fleet").tempdir_in("/dev/shm").unwrap(),
            fleet: None,
            exit: channel().1,
            pipelines: Arc::default(),
            known: Known::default(),
            kept: Known::default(),
            perhaps: None,
            tally: Tally::new(),
        };
        let file = story.any_file();
        story.write(&file);
        story.start(&file);
        story
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("serve.toml")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn fleet(&self) -> Fleet {
        self.fleet.clone().unwrap()
    }

    fn count(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    fn any_name(&mut self) -> &'static str {
        self.random.choice(NAMES).unwrap_or("a")
    }

    fn any_file(&mut self) -> Sources {
        let names: Vec<_> = NAMES.into_iter().filter(|_| self.random.u8(..3) == 0).collect();
        names.into_iter().map(|name| (name.to_owned(), source(name, &mut self.random))).collect()
    }

    /// Writes the configuration's file.
    fn write(&self, sources: &Sources) {
        let server = format!(
            "[server]\nstate = {:?}\nhistory = false\nmost-streams = {MOST_STREAMS}\nstop-timeout = 20\n",
            self.state()
        );
        let restart = "[restart]\nfirst = 0.1\nlongest = 0.2\n";
        let pipeline = "[pipeline.plain]\nline = 'inferoverlay name=i'\n";
        let mut text = [server.as_str(), restart, pipeline].concat();
        for source in sources.values() {
            let overrides = source.overrides.iter().map(|(key, value)| format!("'{key}' = {value}"));
            let overrides = overrides.collect::<Vec<_>>().join(", ");
            text += &format!(
                "[[source]]\nname = '{}'\nuri = '{}'\npipeline = 'plain'\noverride = {{ {overrides} }}\n",
                source.name,
                source.uri.whole()
            );
        }
        fs::write(self.path(), text).unwrap();
    }

    /// A process starts, and the file has these sources.
    fn start(&mut self, file: &Sources) {
        let (exit, has_ended) = channel();
        let start = || {
            let config = Config::load(&self.path()).unwrap();
            Fleet::start_with(config, self.pipelines.runs(), exit.clone())
        };
        // A thread of the killed one may be writing, which holds the folder's lock: a process that is gone has none.
        let mut started = start();
        cudainfer_tests::until("the folder is free", || {
            if started.is_err() {
                started = start();
            }
            started.is_ok()
        });
        let fleet = started.unwrap();
        self.exit = has_ended;
        self.known = self.kept.clone();
        self.known.read(file);
        if let Some(mut perhaps) = self.perhaps.take() {
            perhaps.read(file);
            let now = perhaps.now();
            let is_that = now.iter().all(|(name, source)| fleet.source(name).as_ref() == Some(source));
            if is_that && fleet.status().streams.len() == now.len() {
                self.known = perhaps;
            }
        }
        self.fleet = Some(fleet);
        self.note_kept();
    }

    /// The process ends: as an operator ends it, or at once.
    fn end(&mut self) {
        let fleet = self.fleet.take().unwrap();
        if self.random.bool() {
            assert_eq!(fleet.drain(), Vec::<String>::new(), "these streams have not ended");
            self.count("ends");
            if fleet.keeps() {
                self.kept.clone_from(&self.known);
            }
        } else {
            self.perhaps = (!fleet.keeps()).then(|| self.known.clone());
            self.count("kills");
        }
    }

    fn note_kept(&mut self) {
        if self.fleet().keeps() {
            self.kept.clone_from(&self.known);
        }
    }

    /// Whether the folder for what is kept is there.
    fn is_writable(&self) -> bool {
        self.state().is_dir()
    }

    fn spoil(&mut self) {
        fs::rename(self.state(), self.folder.path().join("away")).unwrap();
        fs::write(self.state(), "").unwrap();
        self.count("spoiled");
    }

    fn mend(&mut self) {
        fs::remove_file(self.state()).unwrap();
        fs::rename(self.folder.path().join("away"), self.state()).unwrap();
    }

    fn step(&mut self) {
        let (fleet, name) = (self.fleet(), self.any_name());
        let is_there = self.known.now().contains_key(name);
        match self.random.u8(..14) {
            0..3 => {
                let added = source(name, &mut self.random);
                let is_full = self.known.now().len() >= MOST_STREAMS;
                match fleet.add(added.clone()) {
                    Ok(status) => {
                        assert!(!is_there && !is_full && status.name == name, "{status:?}");
                        self.known.change(name, Some(added));
                        self.count("added");
                    }
                    Err(Refusal::Exists(_)) => assert!(is_there),
                    Err(Refusal::Conflict(_)) => assert!(is_full && !is_there),
                    Err(refusal) => panic!("{refusal:?}"),
                }
            }
            3..6 => self.change(name, is_there),
            6 => match fleet.remove(name) {
                Ok(()) => {
                    assert!(is_there);
                    self.known.change(name, None);
                    self.count("removed");
                }
                Err(refusal) => assert!(!is_there && matches!(refusal, Refusal::NotFound(_)), "{refusal:?}"),
            },
            7 => match fleet.restart(name) {
                Ok(status) => assert!(is_there && status.name == name),
                Err(refusal) => assert!(!is_there && matches!(refusal, Refusal::NotFound(_)), "{refusal:?}"),
            },
            8 | 9 => {
                let file = self.any_file();
                self.write(&file);
                fleet.reload().unwrap();
                self.known.read(&file);
                self.count("reloads");
            }
            10 => {
                fs::write(self.path(), "[[source]]\nname = 'a'\nuri = 'nothing://'\n").unwrap();
                let refusal = fleet.reload().unwrap_err();
                assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal:?}");
                assert!(fleet.status().configuration_error.is_some());
                self.write(&self.known.file);
                self.count("wrong-files");
            }
            11 if self.is_writable() => self.spoil(),
            11 => {
                self.mend();
                if self.random.bool() {
                    assert!(fleet.0.files.save_unwritten());
                }
            }
            12 if self.is_writable() => {
                let file = self.known.file.clone();
                drop(fleet);
                self.end();
                self.start(&file);
            }
            _ => std::thread::yield_now(),
        }
        self.note_kept();
    }

    fn change(&mut self, name: &str, is_there: bool) {
        let patch = match self.random.u8(..4) {
            0 => json!({"uri": format!("test://ball?rate={}", self.random.u8(1..4))}),
            1 => json!({"override": {"i.thickness": self.random.u8(0..3)}}),
            2 => json!({"max-latency": self.random.u8(0..2)}),
            _ => json!({"nothing": true}),
        };
        let is_wrong = patch.get("nothing").is_some();
        let before = self.known.now().get(name).cloned();
        match self.fleet().change(name, &patch) {
            Ok(change) => {
                assert!(is_there && !is_wrong && change.stream.name == name, "{change:?}");
                let now = self.fleet().source(name).unwrap();
                assert_eq!(change.applied == Applied::Nothing, Some(&now) == before.as_ref(), "{change:?}");
                let value = serde_json::to_value(&now).unwrap();
                for (key, wanted) in patch.as_object().unwrap() {
                    // The URI that is shown is the one that is used; other numbers of a source are floats.
                    let is_as_wanted = value[key] == *wanted || value[key].as_f64() == wanted.as_f64();
                    assert!(is_as_wanted, "{key} of {value} is not {wanted}");
                }
                self.known.change(name, Some(now));
                self.count("changed");
            }
            Err(Refusal::NotFound(_)) => assert!(!is_there),
            Err(Refusal::Invalid(_)) => assert!(is_there && is_wrong),
            Err(refusal) => panic!("{refusal:?}"),
        }
    }

    /// What holds after each step.
    fn check(&self) {
        let fleet = self.fleet();
        let now = self.known.now();
        let status = fleet.status();
        let names: Vec<_> = status.streams.iter().map(|stream| stream.name.clone()).collect();
        assert_eq!(names, now.keys().cloned().collect::<Vec<_>>());
        for (name, source) in &now {
            assert_eq!(fleet.source(name).as_ref(), Some(source));
        }
        assert!(!self.pipelines.two_at_once(), "a stream had two pipelines at once");
        assert_eq!(status.keeps, status.state_error.is_none());
        assert!(self.exit.try_recv().is_err(), "the process wants to end");
    }
}

fn story(seed: u64) -> Tally {
    cudainfer_tests::init();
    log::quiet();
    let mut story = Story::begin(seed);
    story.check();
    for _ in 0..story.random.u32(5..40) {
        story.step();
        story.check();
    }
    if !story.is_writable() {
        story.mend();
    }
    let file = story.known.file.clone();
    story.end();
    story.start(&file);
    story.check();
    let mut tally = std::mem::take(&mut story.tally);
    tally.insert("pipelines", story.pipelines.started());
    tally
}

#[test]
fn streams_are_what_the_file_and_the_api_say_and_what_was_kept_is_there_after_any_end() {
    let tally = simulate("fleet", SEEDS, story);
    if tally["added"] > 100 {
        for what in ["changed", "removed", "reloads", "wrong-files", "spoiled", "ends", "kills", "pipelines"]
        {
            assert!(
                tally.get(what).is_some_and(|count| *count > 0),
                "the simulation has no {what}: {tally:?}"
            );
        }
    }
}
