//! A table of labels, and the JSON file that is written with it.

use std::path::{Path, PathBuf};

use cudainfer_tests::{model, scratch};
use cudainfer_torture::{Ran, Scenario, Seam, disarm, torture};

use super::pipeline::{Pipeline, init, no_mistakes};

#[derive(Default)]
struct Table {
    folder: PathBuf,
    pipeline: Option<Pipeline>,
    /// What a run writes in which nothing fails.
    wanted: Option<[Vec<u8>; 2]>,
}

impl Table {
    fn written(&self) -> [Vec<u8>; 2] {
        ["out.csv", "out.json"].map(|name| std::fs::read(self.folder.join(name)).unwrap_or_default())
    }
}

impl Scenario for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn seams(&self) -> &'static [Seam] {
        &[Seam::Open, Seam::Write, Seam::Rename, Seam::Sync, Seam::Remove]
    }

    fn prepare(&mut self, folder: &Path) {
        init();
        self.folder = folder.to_owned();
        self.pipeline = Some(Pipeline::new(&format!(
            "videotestsrc num-buffers=6 ! video/x-raw,format=GRAY8,width=64,height=48 ! fusedpreproc device=cpu \
             ! trtinfer model={} provider=cpu device=cpu engine-cache=none ! peakfind device=cpu \
             ! tracker min-hits=1 similarity=keypoint-boxes auto-confidence=false min-confidence=0.1 new-confidence=0.1 \
             ! inferpublish name=publish source=arena.mp4 format=sleap location={}/out.csv ! fakesink",
            model("sleap-bottom-up"),
            folder.display()
        )));
    }

    fn run(&mut self) -> Ran {
        let mut ran = self.pipeline.as_ref().unwrap().run();
        disarm();
        let written = self.written();
        ran.complete &= *self.wanted.get_or_insert(written.clone()) == written;
        ran
    }

    fn settle(&mut self) -> Result<(), String> {
        no_mistakes()?;
        let [table, beside] = self.wanted.as_ref().unwrap();
        if table.is_empty() || beside.is_empty() {
            return Err("there is no table".to_owned());
        }
        let other: Vec<_> = std::fs::read_dir(&self.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| !["out.csv", "out.json"].contains(&name.as_str()))
            .collect();
        if other.is_empty() { Ok(()) } else { Err(format!("files are left over: {other:?}")) }
    }
}

#[test]
fn a_table_that_a_fault_spoils_is_said_to_be_and_the_next_one_is_right() {
    torture(Table::default(), &scratch("torture-table"));
}
