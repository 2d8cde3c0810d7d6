//! Records that go to a socket by a spool on the disk.

use std::path::Path;
use std::time::{Duration, Instant};

use cudainfer_tests::{model, scratch};
use cudainfer_torture::{Ran, Scenario, Seam, torture};

use super::pipeline::{Publishing, detection, init};
use super::reader::Reader;

/// How long what was accepted may take to arrive, beyond a run.
const ARRIVAL: Duration = Duration::from_secs(5);

struct Spool {
    reader: Reader,
    publishing: Option<Publishing>,
}

impl Scenario for Spool {
    fn name(&self) -> &'static str {
        "spool"
    }

    fn seams(&self) -> &'static [Seam] {
        use Seam::{Connect, Folder, Open, Remove, Send, Socket, Sync, Thread, Write};
        &[Open, Write, Folder, Remove, Sync, Socket, Connect, Send, Thread]
    }

    fn prepare(&mut self, folder: &Path) {
        init();
        let folder = folder.display();
        self.publishing = Some(Publishing::new(&format!(
            "{} ! inferpublish name=publish leaky=no location=unix:{folder}/socket spool={folder}/spool max-spool=65536 \
             ! fakesink",
            detection(&model("detector"))
        )));
    }

    fn run(&mut self) -> Ran {
        self.publishing.as_mut().unwrap().run()
    }

    fn settle(&mut self) -> Result<(), String> {
        let (publishing, reader) = (self.publishing.as_mut().unwrap(), &self.reader);
        let arrived = |source: &str| reader.count(source);
        let end = Instant::now() + ARRIVAL;
        while publishing.misses(arrived) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        // A machine that is busy may not send all before the pipeline stops; the next one goes on.
        if publishing.misses(arrived) {
            publishing.run();
            std::thread::sleep(ARRIVAL);
        }
        publishing.settle(arrived)
    }
}

#[test]
fn a_fault_loses_nothing_that_the_spool_has_accepted() {
    let folder = scratch("torture-spool");
    let reader = Reader::start(&folder.join("socket"));
    torture(Spool { reader, publishing: None }, &folder);
}
