//! A small pipeline beside the streams' pipelines, into which this process pushes frames.

use cudainfer_launch::elements;
use gst::prelude::*;
use gst_app::{AppSink, AppSrc};

use crate::resources;

/// The first element of its description. Times are those of the frames.
pub const FRAMES: &str = "appsrc name=frames format=time";

/// The pipeline; it stops when it is dropped.
#[derive(Debug)]
pub struct FedPipeline {
    pipeline: gst::Pipeline,
    /// The element into which frames are pushed.
    pub source: AppSrc,
}

impl FedPipeline {
    /// Builds a pipeline of this description, whose appsrc is called `frames`.
    ///
    /// # Errors
    /// What is wrong with the description, or missing, for the end of a sentence.
    pub fn new(description: &str) -> Result<Self, String> {
        resources::for_an_output()?;
        let mut context = gst::ParseContext::new();
        // Without this flag, what can be built of a wrong description comes with the error, and the binding loses it.
        let flags = gst::ParseFlags::FATAL_ERRORS;
        let parsed = gst::parse::launch_full(description, Some(&mut context), flags);
        let element = parsed.map_err(|e| match elements::missing_in(&context, &e) {
            Some(missing) => {
                format!("{} {}: install the package of its plugin", elements::MISSING, missing.join(", "))
            }
            None => e.message().to_owned(),
        })?;
        let pipeline =
            element.downcast::<gst::Pipeline>().map_err(|_| format!("'{description}' is no pipeline"))?;
        let source = named(&pipeline, "frames")?;
        Ok(Self { pipeline, source })
    }

    /// One of its elements.
    ///
    /// # Errors
    /// It has none of this name and type.
    pub fn element<T: IsA<gst::Element>>(&self, name: &str) -> Result<T, String> {
        named(&self.pipeline, name)
    }

    /// Starts it.
    ///
    /// # Errors
    /// The first error of an element that cannot start.
    pub fn play(&self) -> Result<(), String> {
        let started = self.pipeline.set_state(gst::State::Playing);
        started.map(drop).map_err(|_| self.failure().unwrap_or_else(|| "it does not start".into()))
    }

    /// Sends a frame of these caps. A fault that it causes is an error of the pipeline.
    pub fn push(&self, frame: gst::Buffer, caps: &gst::Caps) -> Result<gst::FlowSuccess, gst::FlowError> {
        if self.source.caps().as_ref() != Some(caps) {
            self.source.set_caps(Some(caps));
        }
        self.source.push_buffer(frame)
    }

    /// Sends a frame of these caps, and returns the bytes of what comes of it at `sink` within `limit`.
    ///
    /// # Errors
    /// Why there are none, for the end of a sentence.
    pub fn make(
        &self,
        frame: gst::Buffer,
        caps: &gst::Caps,
        sink: &AppSink,
        limit: gst::ClockTime,
    ) -> Result<Vec<u8>, String> {
        let pushed = self.push(frame, caps);
        let late = || format!("it was not there within {limit:.0}");
        let made = pushed.ok().and_then(|_| sink.try_pull_sample(limit));
        let made = made.ok_or_else(|| self.failure().unwrap_or_else(late))?;
        let bytes = made.buffer().and_then(|buffer| buffer.map_readable().ok()).ok_or("it cannot be read")?;
        Ok(bytes.to_vec())
    }

    /// Ends its stream, and waits until all of it has been written.
    ///
    /// # Errors
    /// An element's error, or that the end takes longer.
    pub fn end(&self, limit: gst::ClockTime) -> Result<(), String> {
        let late = || format!("it was not finished within {limit:.0}");
        self.source.end_of_stream().map_err(|_| self.failure().unwrap_or_else(late))?;
        let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
        let message = self.pipeline.bus().and_then(|bus| bus.timed_pop_filtered(limit, &kinds));
        match message.as_ref().map(|message| message.view()) {
            Some(gst::MessageView::Eos(_)) => Ok(()),
            Some(gst::MessageView::Error(error)) => Err(error.error().to_string()),
            _ => Err(late()),
        }
    }

    /// Why it has stopped, by its first error.
    pub fn failure(&self) -> Option<String> {
        let message = self.pipeline.bus()?.pop_filtered(&[gst::MessageType::Error])?;
        match message.view() {
            gst::MessageView::Error(error) => Some(error.error().to_string()),
            _ => None,
        }
    }

    /// Stops it: files are closed.
    pub fn stop(&self) {
        // Going to NULL is synchronous.
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

impl Drop for FedPipeline {
    fn drop(&mut self) {
        self.stop();
    }
}

fn named<T: IsA<gst::Element>>(pipeline: &gst::Pipeline, name: &str) -> Result<T, String> {
    let found = pipeline.by_name(name).and_downcast::<T>();
    found.ok_or_else(|| format!("the pipeline has no element '{name}' of the expected type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_that_cannot_be_built_leaves_nothing_open() {
        gst::init().unwrap();
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        for _ in 0..500 {
            let missing = FedPipeline::new(&format!("{FRAMES} ! queue ! nothing ! fakesink")).unwrap_err();
            assert!(missing.contains("element nothing: install"), "{missing}");
            let wrong = FedPipeline::new(&format!("{FRAMES} ! queue nothing=1 ! fakesink")).unwrap_err();
            assert!(wrong.contains("property"), "{wrong}");
        }
        // Other tests open files meanwhile.
        assert!(open() < before + 500, "{} are open, {before} were", open());
    }
}
