//! The first frame of a source, by a pipeline that ends with it.

use std::time::{Duration, Instant};

use gst::prelude::*;

use super::failure::Failure;
use super::{Built, StreamSpec};
use crate::config::SourceConfig;
use crate::resources;

/// How long a source may take. Cameras answer within seconds; a decoder waits for a key frame, of which some send one in ten.
const LIMIT: Duration = Duration::from_secs(15);

/// How often the sink is looked at.
const PERIOD: gst::ClockTime = gst::ClockTime::from_mseconds(50);

/// The first frame of a source.
///
/// # Errors
/// Why there is none: an element's error, the end of the source, or that none came in time.
pub(crate) fn first_frame(spec: &StreamSpec) -> Result<gst::Sample, String> {
    resources::for_a_stream()?;
    let file = spec.file()?;
    let built = Built::new(spec, file)?;
    let started = built.pipeline.set_state(gst::State::Playing);
    let found = wait(&built, &spec.source, started.is_err());
    built.stop();
    found.map_err(|why| spec.without_secrets(&why))
}

fn wait(built: &Built, source: &SourceConfig, failed: bool) -> Result<gst::Sample, String> {
    let bus = built.pipeline.bus().ok_or("the pipeline has no bus")?;
    let kinds = [gst::MessageType::Error, gst::MessageType::Eos];
    let begun = Instant::now();
    loop {
        let message = bus.timed_pop_filtered(PERIOD, &kinds);
        if let Some(sample) = built.sink.property::<Option<gst::Sample>>("last-sample") {
            return Ok(sample);
        }
        match message.as_ref().map(|message| message.view()) {
            Some(gst::MessageView::Error(error)) => return Err(Failure::of(error, source, true).text),
            Some(gst::MessageView::Eos(_)) => return Err("the source has ended without a picture".into()),
            _ if failed => return Err("the source does not start".into()),
            _ if begun.elapsed() > LIMIT => {
                return Err(format!("no picture has come within {} s", LIMIT.as_secs()));
            }
            _ => (),
        }
    }
}
