//! A pipeline that runs a model and makes objects of what comes out.

use std::path::Path;

use cudainfer_torture::{Ran, Scenario, Seam};

use super::pipeline::{FRAMES, Pipeline, init, no_mistakes};

/// A pipeline with gpunms, called `nms`, which sees all frames.
pub struct Inference {
    name: &'static str,
    seams: &'static [Seam],
    description: String,
    pipeline: Option<Pipeline>,
}

impl Inference {
    pub fn new(name: &'static str, seams: &'static [Seam], description: String) -> Self {
        Self { name, seams, description, pipeline: None }
    }
}

impl Scenario for Inference {
    fn name(&self) -> &'static str {
        self.name
    }

    fn seams(&self) -> &'static [Seam] {
        self.seams
    }

    fn prepare(&mut self, _: &Path) {
        init();
        self.pipeline = Some(Pipeline::new(&self.description));
    }

    fn run(&mut self) -> Ran {
        let pipeline = self.pipeline.as_ref().unwrap();
        let mut ran = pipeline.run();
        ran.complete &= pipeline.count("nms", "frames") == FRAMES;
        ran
    }

    fn settle(&mut self) -> Result<(), String> {
        no_mistakes()
    }
}
