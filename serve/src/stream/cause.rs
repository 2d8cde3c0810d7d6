//! What an error of a source means: its address and the reason, in a sentence.
//!
//! GStreamer's own sentences name neither: "Could not read from resource." is all of them for a server that answers nonsense, and
//! "Internal data stream error." for one that refuses the connection. The reason is in the details, in the debug text, or nowhere;
//! then the address is tried once more.

use gst::prelude::*;

use cudainfer_launch::elements;
use cudainfer_launch::gstreamer::PLUGIN;

use super::reach;
use crate::config::SourceConfig;

/// The name of an element, or of its kind if it has none.
fn name(element: &gst::Element) -> String {
    let kind = || element.factory().map(|factory| factory.name().to_string());
    Some(element.name().to_string()).filter(|name| !name.is_empty()).or_else(kind).unwrap_or_default()
}

/// An error or a warning of an element, as GStreamer posts it.
#[derive(Clone, Debug)]
pub(super) struct Posted {
    element: Option<gst::Element>,
    pub error: gst::glib::Error,
    debug: String,
    status: Option<u32>,
}

impl Posted {
    /// Reads an ERROR message.
    pub fn error(message: &gst::message::Error) -> Self {
        let debug = message.debug().map(|debug| debug.to_string());
        Self::new(message.src(), message.error(), debug, message.details())
    }

    /// Reads a WARNING message.
    pub fn warning(message: &gst::message::Warning) -> Self {
        let debug = message.debug().map(|debug| debug.to_string());
        Self::new(message.src(), message.error(), debug, message.details())
    }

    fn new(
        source: Option<&gst::Object>,
        error: gst::glib::Error,
        debug: Option<String>,
        details: Option<&gst::StructureRef>,
    ) -> Self {
        let names = ["rtsp-status-code", "http-status-code"];
        let status = details.and_then(|details| names.iter().find_map(|name| details.get::<u32>(*name).ok()));
        let element = source.and_then(|source| source.downcast_ref::<gst::Element>()).cloned();
        Self { element, error, debug: debug.unwrap_or_default(), status }
    }

    /// Whether an element posted it that reads the source, or finds and decodes the video in it.
    pub fn is_of_source(&self) -> bool {
        const BINS: [&str; 4] = ["urisourcebin", "parsebin", "decodebin", "v4l2src"];
        let Some(element) = &self.element else { return false };
        let around = |object: &gst::Object| object.parent();
        let mut all = std::iter::successors(Some(element.clone().upcast::<gst::Object>()), around);
        let is_one = |object: gst::Object| {
            object.downcast_ref().is_some_and(|element| BINS.iter().any(|name| elements::is(element, name)))
        };
        // urisourcebin tries its source before it holds it.
        let alone = element.parent().is_none() && element.element_flags().contains(gst::ElementFlags::SOURCE);
        alone || all.any(is_one)
    }

    /// Whether an element of this project posted it, whose sentences say all.
    pub fn is_own(&self) -> bool {
        let factory = self.element.as_ref().and_then(ElementExt::factory);
        factory.and_then(|factory| factory.plugin_name()).is_some_and(|plugin| plugin == PLUGIN)
    }

    /// The last line of the debug text, without the place in the element's code and its path.
    fn detail(&self) -> Option<&str> {
        let last = self.debug.lines().rfind(|line| !line.trim().is_empty())?;
        (![".c(", ".rs("].iter().any(|place| last.contains(place))).then(|| last.trim())
    }

    /// The element's name, its sentence and the end of its debug text.
    fn whole(&self) -> String {
        let message = self.error.message();
        // Many elements begin with their names.
        let name = self.element.as_ref().map(name).filter(|name| !message.starts_with(&format!("{name}: ")));
        let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
        match self.detail().filter(|detail| !message.contains(detail)) {
            Some(detail) => format!("{name}{message} ({detail})"),
            None => format!("{name}{message}"),
        }
    }

    /// What the debug text and the details mean; `None` if they do not have the reason.
    fn known(&self) -> Option<String> {
        let detail = self.detail().unwrap_or_default();
        let text = format!("{} {detail}", self.error.message());
        let has = |part: &str| text.to_lowercase().contains(part);
        let is = |error: gst::StreamError| self.error.matches(error);
        Some(match self.status {
            Some(401) => "unauthorised (401). The server wants another user or password: correct them in uri, or user-id and user-pw \
                          in source"
                .into(),
            Some(403) => "forbidden (403). The server does not let this user see it: correct user and path in uri".into(),
            Some(404) => "not found (404). The server has nothing at this path: correct uri".into(),
            Some(status) => format!("the server answers with status {status}: {}", self.whole()),
            None if has("connection refused") => refused(),
            None if has("resolve") || has("name or service not known") => unknown_host(),
            None if has("permission denied") || self.error.matches(gst::ResourceError::NotAuthorized) => {
                format!("no permission: {}. Give this service's user the right to read it", self.whole())
            }
            None if has("timeout") || has("timed out") => {
                format!("timeout: the server does not answer in time ({})", self.whole())
            }
            None if has("parse error") => {
                format!("what answers there is no RTSP server: correct address and port in uri ({})", self.whole())
            }
            // Only a pad with video is linked.
            None if has("not-linked") => format!("no video is there: correct uri ({})", self.whole()),
            None if has("end-of-file") => {
                format!("the server has closed the connection without an answer ({})", self.whole())
            }
            None if is(gst::StreamError::TypeNotFound) && has("type of stream")
                || is(gst::StreamError::WrongType)
                || self.missing_decoder().is_some_and(|caps| !is_video(caps)) =>
            {
                format!("no video is there: correct uri ({})", self.whole())
            }
            None => match self.missing_decoder() {
                Some(caps) => format!(
                    "GStreamer has no decoder for {caps}. Install the plugin that has one: gstreamer1.0-libav has most"
                ),
                None => return None,
            },
        })
    }

    /// The caps for which decodebin has found no element.
    fn missing_decoder(&self) -> Option<&str> {
        let missing = self.error.matches(gst::CoreError::MissingPlugin);
        self.debug
            .lines()
            .find_map(|line| line.split_once("Missing decoder: "))
            .and_then(|(_, rest)| rest.rsplit_once('(')?.1.split(')').next())
            .filter(|_| missing)
    }

    /// What has happened to a source, with its address. If GStreamer does not know the reason and the connection is `broken`, its
    /// address is tried, for a few seconds at most.
    pub fn sentence(&self, source: &SourceConfig, broken: bool) -> String {
        let reason = self.known().unwrap_or_else(|| {
            let tried = broken.then(|| reach::try_address(source)).flatten();
            match tried {
                Some(Err(why)) => match why.kind() {
                    std::io::ErrorKind::ConnectionRefused => refused(),
                    std::io::ErrorKind::TimedOut => "timeout: the address does not answer".into(),
                    std::io::ErrorKind::PermissionDenied => format!("no permission: {why}"),
                    _ if why.to_string().contains("lookup") => unknown_host(),
                    _ => format!("no connection: {why}"),
                },
                Some(Ok(())) => {
                    format!("the server does not answer, or has broken the connection ({})", self.whole())
                }
                None => self.whole(),
            }
        });
        format!("'{}': {reason}", source.uri)
    }
}

fn refused() -> String {
    "connection refused. No server listens there: correct address and port in uri, unless the camera is off"
        .into()
}

fn unknown_host() -> String {
    "unknown host. The name has no address: correct the host in uri, unless the name server is off".into()
}

fn is_video(caps: &str) -> bool {
    caps.starts_with("video/") || caps.starts_with("image/")
}
