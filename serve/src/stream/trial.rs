//! One frame through a stream's line, without its source: whether its models can be loaded, and its elements agree.

use cudainfer_launch::elements;
use gst::prelude::*;

use super::{Description, StreamSpec};

/// How long a line may take: a model may be compiled for minutes.
const LIMIT: gst::ClockTime = gst::ClockTime::from_seconds(600);

/// Sends one picture through the line of a stream. Returns what its models' elements warn about.
///
/// # Errors
/// The first error of an element.
pub(crate) fn try_line(spec: &StreamSpec) -> Result<Vec<String>, String> {
    let description = Description::new(spec).map_err(|(_, sentence)| sentence)?;
    if let Some(writer) = elements::all(&description.bin).into_iter().find(writes) {
        return Ok(vec![format!(
            "the line of pipeline '{}' is not tried, because its element {} would write",
            spec.source.pipeline,
            writer.name()
        )]);
    }
    let pipeline = gst::Pipeline::new();
    let source = elements::make("videotestsrc", "picture")?;
    source.set_property("num-buffers", 1);
    let filter = elements::make("capsfilter", "size")?;
    let video = gst::Caps::builder("video/x-raw").field("width", 1280).field("height", 720);
    filter.set_property("caps", video.field("framerate", gst::Fraction::new(25, 1)).build());
    let convert = elements::make("videoconvert", "convert")?;
    let sink = elements::make("fakesink", "sink")?;
    sink.set_property("async", false);
    let chain = [source, filter, convert, description.bin.clone().upcast(), sink];
    let failed = |e: gst::glib::BoolError| format!("it cannot be tried: {}", e.message);
    pipeline.add_many(&chain).and_then(|()| gst::Element::link_many(&chain)).map_err(failed)?;
    let _ = pipeline.set_state(gst::State::Playing);
    let said = first_error(&pipeline, &description.networks());
    let _ = pipeline.set_state(gst::State::Null);
    said.map_err(|sentence| format!("pipeline '{}': {sentence}", spec.source.pipeline))
}

/// Whether an element would write files or messages.
fn writes(element: &gst::Element) -> bool {
    let ends =
        element.element_flags().contains(gst::ElementFlags::SINK) && !elements::is(element, "fakesink");
    ends || elements::is(element, "inferpublish")
}

fn first_error(pipeline: &gst::Pipeline, networks: &[gst::Element]) -> Result<Vec<String>, String> {
    let bus = pipeline.bus().ok_or("it has no bus")?;
    let kinds = [gst::MessageType::Error, gst::MessageType::Warning, gst::MessageType::Eos];
    let mut warnings = Vec::new();
    loop {
        let Some(message) = bus.timed_pop_filtered(LIMIT, &kinds) else {
            return Err(format!("one picture takes longer than {} s", LIMIT.seconds()));
        };
        match message.view() {
            gst::MessageView::Error(error) => return Err(error.error().message().to_owned()),
            gst::MessageView::Warning(warning) => {
                // What others warn about may be the picture, which is none of the camera's.
                let is_network = networks.iter().any(|network| message.src() == Some(network.upcast_ref()));
                warnings.extend(is_network.then(|| warning.error().message().to_owned()));
            }
            _ => return Ok(warnings),
        }
    }
}
