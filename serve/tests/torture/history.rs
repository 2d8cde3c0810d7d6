//! The history's database.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cudainfer_serve::config::{RetentionSettings, ServerSettings, Size};
use cudainfer_serve::history::{EventFilter, History};
use cudainfer_serve::retention::Retention;
use cudainfer_tests::scratch;
use cudainfer_torture::{Ran, Scenario, Seam, torture};

use super::logged::new_lines;

/// Events of a run.
const EVENTS: u64 = 3;
/// How long they may take until they are written, or counted as lost.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Kept {
    state: PathBuf,
    runs: u64,
    /// The names of zones whose events the history has counted as written.
    written: Vec<String>,
}

/// A frame with an event of a zone, as zonecount writes it.
fn frame(zone: &str) -> gst::Buffer {
    const META: &str = "GstCudaInferZoneMeta";
    if !gst::meta::CustomMeta::is_registered(META) {
        gst::meta::CustomMeta::register_simple(META);
    }
    let mut frame = gst::Buffer::new();
    let event = gst::Structure::builder("event").field("zone", zone).field("event", "enter").build();
    let mut meta = gst::meta::CustomMeta::add(frame.get_mut().unwrap(), META).unwrap();
    meta.mut_structure().set("events", gst::Array::new([event]));
    frame
}

impl Kept {
    fn zones(&self, history: &History) -> Result<Vec<String>, String> {
        let filter = EventFilter { limit: 1000, ..EventFilter::default() };
        let reader = history.reader().map_err(|why| format!("{why:?}"))?;
        let events = reader.events(&filter).map_err(|why| format!("{why:?}"))?.events;
        Ok(events.into_iter().filter_map(|event| event.zone).collect())
    }
}

impl Scenario for Kept {
    fn name(&self) -> &'static str {
        "history"
    }

    fn seams(&self) -> &'static [Seam] {
        use Seam::{Folder, Open, Remove, Rename, Sync, Thread, Write};
        &[Open, Write, Rename, Sync, Folder, Remove, Thread]
    }

    fn prepare(&mut self, folder: &Path) {
        cudainfer_tests::init();
        self.state = folder.to_owned();
        new_lines();
    }

    fn run(&mut self) -> Ran {
        self.runs += 1;
        let mut ran = Ran::default();
        let settings = RetentionSettings { min_free: Size(0), ..RetentionSettings::default() };
        let retention = match Retention::start(self.state.join("kept"), settings) {
            Ok(retention) => retention,
            Err(why) => {
                ran.errors.push(why);
                return ran;
            }
        };
        let server = ServerSettings { state: Some(self.state.clone()), ..ServerSettings::default() };
        let history = History::start(&server, Some(retention.room()));
        let stream = history.of("door");
        let zones: Vec<_> = (0..EVENTS).map(|number| format!("run {} {number}", self.runs)).collect();
        let counted = || history.status().map_or((EVENTS, 0), |status| (status.written, status.lost));
        for (number, zone) in (1..).zip(&zones) {
            stream.results(&frame(zone));
            let end = Instant::now() + PATIENCE;
            // One after the other, so that each is written by itself.
            while counted().0 + counted().1 < number && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let status = history.status();
        if status.as_ref().is_some_and(|status| status.lost == 0 && status.written == EVENTS) {
            self.written.extend(zones.iter().cloned());
            match self.zones(&history) {
                Ok(found) => ran.complete = zones.iter().all(|zone| found.contains(zone)),
                Err(why) => ran.errors.push(why),
            }
        }
        ran.remarks.extend(status.and_then(|status| status.last_error));
        history.close();
        drop((stream, history, retention));
        ran.remarks.append(&mut new_lines());
        ran
    }

    fn settle(&mut self) -> Result<(), String> {
        let server = ServerSettings { state: Some(self.state.clone()), ..ServerSettings::default() };
        let settings = RetentionSettings { min_free: Size(0), ..RetentionSettings::default() };
        let retention = Retention::start(self.state.join("kept"), settings)?;
        let history = History::start(&server, Some(retention.room()));
        let found = self.zones(&history)?;
        history.close();
        let missing: Vec<_> = self.written.drain(..).filter(|zone| !found.contains(zone)).collect();
        if !missing.is_empty() {
            return Err(format!("events were written and are gone: {missing:?}"));
        }
        if self.state.join("history-damaged.sqlite").exists() {
            return Err("the database was damaged".to_owned());
        }
        // Each run makes it again.
        drop((history, retention));
        std::fs::remove_file(self.state.join("history.sqlite")).map_err(|e| e.to_string())
    }
}

#[test]
fn events_that_the_history_has_counted_as_written_are_listed_after_a_fault() {
    torture(Kept::default(), &scratch("torture-history"));
}
