//! The engine cache: a model is opened with an empty one, and again with what that has left.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cudainfer_kernels::device::Choice;
use cudainfer_tests::{fetched, scratch};
use cudainfer_torture::{Ran, Scenario, Seam, torture};
use gstcudainfer::inference::{Config, Engine, FrameTensors, Provider, RunShape};

use super::pipeline::{init, no_mistakes};

#[derive(Default)]
struct Cache {
    folder: PathBuf,
    wanted: Option<Vec<u8>>,
}

impl Cache {
    /// Opens the model, and adds what is said to `ran`. Returns what it makes of noise.
    fn open(&self, ran: &mut Ran) -> Option<Vec<u8>> {
        let config = Config {
            provider: Provider::Cpu,
            device: Choice::Cpu,
            cache: Some(self.folder.join("cache")),
            sessions: 2,
            ..Config::new(fetched("models/posenet.onnx"))
        };
        let engine = match Engine::open(&config, &Arc::default(), &|_| ()) {
            Ok(engine) => engine,
            Err(error) => {
                ran.errors.push(error.to_string());
                return None;
            }
        };
        ran.remarks.extend(engine.warnings.iter().cloned());
        let image = &engine.input;
        let size = [image.width.unwrap_or(64), image.height.unwrap_or(64)];
        let none = Vec::new();
        let tensors =
            FrameTensors::of(image, &engine.outputs, image.ty, size, none, Vec::new(), Vec::new()).unwrap();
        let shape = RunShape::new(tensors, engine.batch).unwrap();
        let values = (0..shape.given_bytes() / 4).map(|i| (i * 7919 % 1009) as f32 / 1009.0);
        let data = gst::Buffer::from_slice(values.flat_map(f32::to_ne_bytes).collect::<Vec<u8>>());
        let mut session = engine.sessions.first()?.lock().unwrap();
        let outputs = session.run_on_host(&shape, &[&data], &[]);
        match outputs {
            Ok(outputs) => {
                Some(outputs.iter().flat_map(|one| one.data.map_readable().unwrap().to_vec()).collect())
            }
            Err(error) => {
                ran.errors.push(error.to_string());
                None
            }
        }
    }
}

impl Scenario for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn seams(&self) -> &'static [Seam] {
        use Seam::{Folder, Memory, Open, OrtOpen, Remove, Rename, Sync, Write};
        &[Open, Write, Rename, Sync, Folder, Remove, OrtOpen, Memory]
    }

    fn prepare(&mut self, folder: &Path) {
        init();
        self.folder = folder.to_owned();
    }

    fn run(&mut self) -> Ran {
        let mut ran = Ran::default();
        let made = [self.open(&mut ran), self.open(&mut ran)];
        let wanted = self.wanted.clone().or_else(|| made[0].clone());
        ran.complete = wanted.is_some() && made.iter().all(|made| *made == wanted);
        self.wanted = wanted;
        ran
    }

    /// The next run begins without a cache, but for what a fault has spoilt, which it must cope with once.
    fn settle(&mut self) -> Result<(), String> {
        no_mistakes()?;
        std::fs::remove_dir_all(self.folder.join("cache")).map_err(|e| e.to_string())
    }
}

#[test]
fn a_model_opens_with_the_same_results_whatever_becomes_of_the_cache() {
    torture(Cache::default(), &scratch("torture-cache"));
}
