//! What the API has changed, kept for the next process.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use cudainfer_serve::config::{Config, SourceConfig};
use cudainfer_serve::fleet::Fleet;
use cudainfer_tests::scratch;
use cudainfer_torture::{Ran, Scenario, Seam, torture};

use super::logged::new_lines;

#[derive(Default)]
struct Changes {
    state: PathBuf,
    runs: u64,
    /// Streams that were reported to be kept: they are there at the next start.
    kept: Vec<String>,
    /// Streams that were not reported to be, and may yet have been.
    doubtful: Vec<String>,
    wrong: Option<String>,
}

impl Scenario for Changes {
    fn name(&self) -> &'static str {
        "state"
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
        let text = format!(
            "[server]\nstate = \"{}\"\n[restart]\nfirst = 0.1\nlongest = 0.2\n\
             [pipeline.plain]\nline = \"identity\"\n\
             [[source]]\nname = \"stays\"\nuri = \"test://ball?width=64&height=48&rate=50\"\npipeline = \"plain\"\n",
            self.state.display()
        );
        let (sender, _exit) = channel();
        let config = Config::read(&text, Path::new("serve.toml")).unwrap_or_else(|wrong| panic!("{wrong}"));
        let fleet = match Fleet::start(config, sender) {
            Ok(fleet) => fleet,
            Err(wrong) => {
                ran.errors.push(wrong.to_string());
                ran.remarks.append(&mut new_lines());
                return ran;
            }
        };
        let name = format!("run-{}", self.runs);
        for before in std::mem::take(&mut self.kept) {
            if fleet.remove(&before).is_ok() {
                continue;
            }
            let lines = new_lines();
            // One that gets no thread is not begun, which the log has; the next start has it again.
            if lines
                .iter()
                .any(|line| line.contains(&format!("no thread can be started for stream '{before}'")))
            {
                self.kept.push(before);
            } else {
                self.wrong = Some(format!("the stream {before} was kept, and is not there"));
            }
            ran.remarks.extend(lines);
        }
        self.doubtful.drain(..).for_each(|name| drop(fleet.remove(&name)));
        let source = SourceConfig {
            name: name.clone(),
            uri: "test://ball?width=64&height=48&rate=50".into(),
            pipeline: "plain".into(),
            ..SourceConfig::default()
        };
        match fleet.add(source) {
            Ok(_) if fleet.keeps() => {
                self.kept.push(name.clone());
                let playing = || fleet.stream(&name).is_some_and(|stream| stream.frames > 0);
                let stays = || fleet.stream("stays").is_some_and(|stream| stream.frames > 0);
                for _ in 0..2000 {
                    if playing() && stays() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                ran.complete = playing() && stays();
            }
            Ok(_) => {
                self.doubtful.push(name.clone());
                ran.remarks.extend(fleet.status().state_error);
            }
            Err(refusal) => ran.errors.push(format!("{refusal:?}")),
        }
        let status = ["stays", &name].map(|name| fleet.stream(name).and_then(|stream| stream.last_error));
        ran.remarks.extend(status.into_iter().flatten());
        let late = fleet.drain();
        if !late.is_empty() {
            ran.errors.push(format!("streams do not end: {late:?}"));
        }
        drop(fleet);
        ran.remarks.append(&mut new_lines());
        ran
    }

    fn settle(&mut self) -> Result<(), String> {
        self.wrong.take().map_or(Ok(()), Err)
    }
}

#[test]
fn a_stream_that_is_reported_to_be_kept_is_there_after_a_fault() {
    torture(Changes::default(), &scratch("torture-state"));
}
