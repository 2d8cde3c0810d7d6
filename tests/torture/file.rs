//! Records that go to a file, which gets a number and is followed by another one several times in a run.

use std::path::{Path, PathBuf};

use cudainfer_tests::{model, scratch};
use cudainfer_torture::{Ran, Scenario, Seam, torture};

use super::pipeline::{Publishing, detection, init};
use super::reader::{Arrived, note};

#[derive(Default)]
struct File {
    folder: PathBuf,
    publishing: Option<Publishing>,
}

impl Scenario for File {
    fn name(&self) -> &'static str {
        "file"
    }

    fn seams(&self) -> &'static [Seam] {
        &[Seam::Open, Seam::Write, Seam::Rename, Seam::Remove, Seam::Sync, Seam::Thread]
    }

    fn prepare(&mut self, folder: &Path) {
        init();
        self.folder = folder.to_owned();
        self.publishing = Some(Publishing::new(&format!(
            "{} ! inferpublish name=publish location={}/out.jsonl append=true max-size=1500 ! fakesink",
            detection(&model("detector")),
            folder.display()
        )));
    }

    fn run(&mut self) -> Ran {
        self.publishing.as_mut().unwrap().run()
    }

    fn settle(&mut self) -> Result<(), String> {
        let mut arrived = Arrived::new();
        for entry in std::fs::read_dir(&self.folder).unwrap() {
            let path = entry.unwrap().path();
            std::fs::read(&path)
                .unwrap()
                .split(|byte| *byte == b'\n')
                .for_each(|line| note(line, &mut arrived));
            std::fs::remove_file(path).unwrap();
        }
        let count = |source: &str| arrived.get(source).map_or(0, |frames| frames.len() as u64);
        self.publishing.as_mut().unwrap().settle(count)
    }
}

#[test]
fn a_fault_loses_nothing_that_the_file_has_accepted() {
    torture(File::default(), &scratch("torture-file"));
}
