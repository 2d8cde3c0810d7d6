//! Why a stream is started again, from the errors of its elements.

use gst::glib::translate::IntoGlib;
use gst::prelude::*;
use serde::{Deserialize, Serialize};

use cudainfer_launch::elements;
use cudainfer_launch::error::{is_gpu_fault, text};

use super::cause::Posted;
use crate::config::SourceConfig;

/// The GObject type from which the elements derive that decode a model's outputs.
const DECODING: &str = "GstCudaInferDecodingElement";

/// Why a stream was started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The source cannot be reached, or the connection broke.
    Connection,
    /// No frame came.
    Stall,
    /// The decoder failed too often.
    Decode,
    /// The GPU failed.
    Gpu,
    /// Any other error.
    Error,
    /// A source without an end has ended the stream.
    End,
    /// A client has requested it.
    Request,
    /// The configuration changed.
    Change,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Connection,
        Self::Stall,
        Self::Decode,
        Self::Gpu,
        Self::Error,
        Self::End,
        Self::Request,
        Self::Change,
    ];

    /// Its name in JSON and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Stall => "stall",
            Self::Decode => "decode",
            Self::Gpu => "gpu",
            Self::Error => "error",
            Self::End => "end",
            Self::Request => "request",
            Self::Change => "change",
        }
    }
}

/// An error that an element has posted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    /// The kind of error.
    pub reason: Reason,
    /// Whether starting again cannot help: the configuration is wrong.
    pub permanent: bool,
    /// The element's sentence.
    pub text: String,
}

impl Failure {
    /// Reads an ERROR message of a stream with this source. If GStreamer does not know why a connection broke, `may_try` has the address tried.
    pub fn of(error: &gst::message::Error, source: &SourceConfig, may_try: bool) -> Self {
        let posted = error.error();
        let debug = error.debug().unwrap_or_default();
        let element = error.src().and_then(|source| source.downcast_ref::<gst::Element>());
        let own = element.and_then(ElementExt::factory).and_then(|factory| factory.plugin_name());
        let own = own.is_some_and(|plugin| plugin == cudainfer_launch::gstreamer::PLUGIN);
        let settings = posted.matches(gst::ResourceError::Settings)
            || posted.matches(gst::LibraryError::Settings)
            || posted.matches(gst::ResourceError::NotFound)
            // A decoder that cannot read this model's outputs never will.
            || (posted.matches(gst::CoreError::Negotiation) && element.is_some_and(reads_outputs));
        let broken = breaks_the_connection(error, element);
        let gpu = is_gpu_fault(posted.message()) || is_gpu_fault(&debug);
        let reason = if gpu {
            Reason::Gpu
        } else if !own && posted.matches(gst::StreamError::Decode) {
            Reason::Decode
        } else if !own && (posted.is::<gst::ResourceError>() || broken) {
            Reason::Connection
        } else {
            Reason::Error
        };
        let whole = Posted::error(error);
        let text = if !own && !gpu && whole.is_of_source() {
            whole.sentence(source, may_try && reason == Reason::Connection)
        } else {
            text(error)
        };
        Self { reason, permanent: own && settings && !gpu, text }
    }
}

/// Whether an element makes results of a model's outputs: gpunms, peakfind and others that derive from the same class. What they
/// refuse is the model's or their properties', never the camera's.
fn reads_outputs(element: &gst::Element) -> bool {
    gst::glib::Type::from_name(DECODING).is_some_and(|decoding| element.type_().is_a(decoding))
}

/// Whether a source, or an element in a urisourcebin, has failed without a reason, as souphttpsrc and hlsdemux2 do if a server
/// does not answer. If elements downstream of a source do not take its data, `flow-return` is not `error`.
fn breaks_the_connection(error: &gst::message::Error, element: Option<&gst::Element>) -> bool {
    let flow = error.details().and_then(|details| details.get::<i32>("flow-return").ok());
    let refused = flow.is_some_and(|flow| flow != gst::FlowError::Error.into_glib());
    let Some(element) = element.filter(|_| !refused && error.error().matches(gst::StreamError::Failed))
    else {
        return false;
    };
    let around = |object: &gst::Object| object.parent();
    let mut bins = std::iter::successors(element.parent(), around);
    element.element_flags().contains(gst::ElementFlags::SOURCE)
        || bins.any(|bin| bin.downcast_ref().is_some_and(|bin| elements::is(bin, "urisourcebin")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(element: &str, message: &gst::Message) -> Failure {
        let gst::MessageView::Error(error) = message.view() else { panic!("{element}") };
        Failure::of(error, &source(), true)
    }

    /// A source that nobody tries to connect to.
    fn source() -> SourceConfig {
        SourceConfig { uri: "file:///a.mp4".into(), ..SourceConfig::default() }
    }

    #[test]
    fn errors_have_different_reasons() {
        gst::init().unwrap();
        let element = gst::ElementFactory::make("identity").build().unwrap();
        let post =
            |message: gst::message::ErrorBuilder<'_>| failure("identity", &message.src(&element).build());
        let lost = post(gst::message::Error::builder(gst::ResourceError::NotFound, "no such camera"));
        assert_eq!((lost.reason, lost.permanent), (Reason::Connection, false), "a camera may come back");
        let in_use = post(gst::message::Error::builder(gst::ResourceError::Busy, "the instance is in use"));
        assert!(!in_use.permanent, "others may release it");
        let decode = post(gst::message::Error::builder(gst::StreamError::Decode, "broken"));
        assert_eq!(decode.reason, Reason::Decode);
        let other =
            post(gst::message::Error::builder(gst::StreamError::Failed, "Internal data stream error."));
        assert_eq!(other.reason, Reason::Error);
        let text =
            "CUDA's cuMemcpy failed: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)";
        let gpu = post(gst::message::Error::builder(gst::LibraryError::Failed, text));
        assert_eq!((gpu.reason, gpu.permanent), (Reason::Gpu, false));
        // A source that fails, and a source whose data downstream elements do not take.
        let source = gst::ElementFactory::make("fakesrc").build().unwrap();
        for (flow, reason) in [
            (gst::FlowError::Error, Reason::Connection),
            (gst::FlowError::NotNegotiated, Reason::Error),
            (gst::FlowError::NotLinked, Reason::Error),
        ] {
            let message =
                gst::message::Error::builder(gst::StreamError::Failed, "Internal data stream error.")
                    .debug("streaming stopped")
                    .details(
                        gst::Structure::builder("details").field("flow-return", flow.into_glib()).build(),
                    )
                    .src(&source);
            let failure = failure("fakesrc", &message.build());
            assert_eq!((failure.reason, failure.permanent), (reason, false), "{flow}");
            let sentence = "'file:///a.mp4': fakesrc0: Internal data stream error. (streaming stopped)";
            assert_eq!(failure.text, sentence);
        }
        assert!(!is_gpu_fault("the GPU has no 100 bytes left (cuMemAlloc): use a smaller model"));
    }
}
