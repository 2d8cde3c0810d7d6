//! Messages that several elements post.

use gst::glib;
use gst::prelude::*;

use crate::memory::Elsewhere;
use crate::refused;
use crate::streams;

/// Posts an INFO message. Its debug string has the text as well: gst-launch-1.0 prints nothing else of such a message.
macro_rules! post_info {
    ($element:expr, $error:expr, ($($text:tt)*) $(, details: $details:expr)?) => {{
        let text = format!($($text)*);
        gst::element_info!($element, $error, ("{text}"), ["{text}"] $(, details: $details)?);
    }};
}
pub(crate) use post_info;

/// Remarks for users, in sentences without the element's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// An INFO message: something was assumed.
    Info(String),
    /// A WARNING: something cannot be right.
    Warning(String),
}

impl Remark {
    /// Posts it on the bus.
    pub fn post(self, element: &gst::Element, error: impl gst::MessageErrorDomain) {
        let name = element.name();
        match self {
            Self::Info(text) => post_info!(element, error, ("{name}: {text}")),
            Self::Warning(text) => gst::element_warning!(element, error, ("{name}: {text}")),
        }
    }
}

/// A limit that has left results of a frame out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The property that sets it, or the sidecar's key.
    pub name: &'static str,
    /// Its value.
    pub value: usize,
    /// The results that the limit counts, in the plural.
    pub what: &'static str,
    /// How many were left out; `None` where there are as many as may be, and more may have been left out.
    pub cut: Option<usize>,
    /// Whether the user has set it.
    pub is_set: bool,
}

/// Posts one WARNING on the bus of the pipeline that `element` is in, unless one of our elements has done so already.
pub fn running_on_cpu(element: &gst::Element, reason: &str) {
    if first_in_pipeline(element, "cudainfer.cpu") {
        gst::element_warning!(
            element,
            gst::LibraryError::Init,
            (
                "{}: no GPU is used: {reason}. The pipeline runs on the CPU, with the same results",
                element.name()
            )
        );
    }
}

/// Reports on the bus of the pipeline that `element` is in that its frames lie elsewhere than on GPU `own` in the primary
/// context, unless one of our elements has done so already: an INFO where they are processed where they lie, a WARNING where each
/// is copied.
pub fn frames_elsewhere(element: &gst::Element, elsewhere: Elsewhere, own: u32) {
    let name = element.name();
    // Each kind has its own mark, looked up after the kind is known: a guard of a match would go on to the next kind.
    match elsewhere {
        Elsewhere::SameGpu => {
            if first_in_pipeline(element, "cudainfer.foreign-context") {
                post_info!(
                    element,
                    gst::ResourceError::Settings,
                    ("{name}: the frames are in another CUDA context than the device's primary one, in which inference works. They are read where they are, but the GPU changes between the contexts. To have one, {HAND_OVER}")
                );
            }
        }
        Elsewhere::Copied(gpu) if gpu != own => {
            if first_in_pipeline(element, "cudainfer.other-gpu") {
                gst::element_warning!(
                    element,
                    gst::ResourceError::Settings,
                    ("{name}: the frames are on GPU {gpu}, but this element works on GPU {own}, so each is copied there. Give all elements of the stream the same device, and use a decoder of that GPU, as nvh264device1dec for cuda:1")
                );
            }
        }
        Elsewhere::Copied(_) => {
            if first_in_pipeline(element, "cudainfer.foreign-context") {
                gst::element_warning!(
                    element,
                    gst::ResourceError::Settings,
                    ("{name}: the frames are in another CUDA context than the device's primary one, in which inference works, so each is copied. To have one context, {HAND_OVER}")
                );
            }
        }
    }
}

/// How frames come to be in the context that inference works in.
const HAND_OVER: &str = "put one of cudainfer's elements directly after the element that makes the frames, or give that element \
                         the context of cudainferupload when it asks for one (docs/embedding.md, \"One CUDA context\")";

/// Posts the WARNING of an element whose streams were forgotten while they waited for their turn; `what` begins anew.
pub fn streams_forgotten(element: &impl glib::object::IsA<gst::Element>, what: &str) {
    let element = element.upcast_ref::<gst::Element>();
    gst::element_warning!(
        element,
        gst::StreamError::Failed,
        (
            "{}: more than {} streams take turns, and those that have waited longest are forgotten, so that {what} begin anew. \
             Give each {} streams an element of their own",
            element.name(),
            streams::MOST,
            streams::MOST
        )
    );
}

/// Whether this is the first call for the pipeline that `element` is in since it was started. The pipeline remembers it in a
/// `GstContext` of this type.
fn first_in_pipeline(element: &gst::Element, context_type: &str) -> bool {
    let root = refused::root(element.upcast_ref());
    let Some(root) = root.downcast_ref::<gst::Element>() else { return true };
    let first = root.context(context_type).is_none();
    if first {
        root.set_context(&gst::Context::new(context_type, false));
    }
    first
}

/// Posts the WARNING of an element that could work on the GPU, and gets its frames in system memory.
pub fn frames_on_host(element: &impl glib::object::IsA<gst::Element>) {
    let element = element.upcast_ref::<gst::Element>();
    gst::element_warning!(
        element,
        gst::StreamError::Format,
        (
            "{}: the frames are in system memory, so the CPU prepares them although there is a GPU. Put \
             cudainferupload before this element, and cudainferdownload before elements that need system memory",
            element.name()
        )
    );
}

/// Posts the ERROR of an element that cannot work with the caps it gets, unless the same caps event was refused so before.
pub fn refused_caps(element: &impl glib::object::IsA<gst::Element>, why: &str) {
    let element = element.upcast_ref::<gst::Element>();
    if !refused::is_new(element, why) {
        return;
    }
    gst::element_error!(element, gst::CoreError::Negotiation, ("{}: {why}", element.name()));
}

/// Posts the WARNING of an element that dropped `count` values, called `what`, because they are no numbers.
pub fn non_finite(element: &impl glib::object::IsA<gst::Element>, count: usize, what: &str) {
    let element = element.upcast_ref::<gst::Element>();
    gst::element_warning!(
        element,
        gst::StreamError::Decode,
        (
            "{}: the model's outputs contain NaN or infinity: {count} {what} were dropped. The property stats counts \
             them in non-finite",
            element.name()
        )
    );
}

/// Reports a limit that has left results of a frame out, which `stats` counts in `count`: a WARNING, or an INFO where the number of
/// results is one that the user has set.
pub fn limited(element: &impl glib::object::IsA<gst::Element>, count: &str, limit: &Limit) {
    let element = element.upcast_ref::<gst::Element>();
    let Limit { name, value, what, cut, is_set } = *limit;
    let text = match cut {
        Some(cut) => format!(
            "{cut} {what} of a frame were left out, because {name} is {value}. Raise {name} if objects are missing. The \
             property stats counts them in {count}"
        ),
        None => format!(
            "a frame has as many {what} as {name}={value} allows, and others may have been left out. Raise {name} if \
             objects are missing. The property stats counts such frames in {count}"
        ),
    };
    let remark = if cut.is_none() && is_set { Remark::Info(text) } else { Remark::Warning(text) };
    remark.post(element, gst::StreamError::Decode);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages that frames in these places cause in one pipeline, on an element that works on GPU 1.
    fn messages(places: &[Elsewhere]) -> Vec<String> {
        gst::init().unwrap();
        let pipeline = gst::Pipeline::new();
        let element = gst::ElementFactory::make("identity").name("reader").build().unwrap();
        pipeline.add(&element).unwrap();
        let bus = pipeline.bus().unwrap();
        pipeline.set_state(gst::State::Ready).unwrap();
        for place in places {
            frames_elsewhere(&element, *place, 1);
        }
        let kinds = [gst::MessageType::Warning, gst::MessageType::Info];
        let texts = std::iter::from_fn(|| bus.pop_filtered(&kinds)).map(|message| match message.view() {
            gst::MessageView::Warning(warning) => format!("warning: {}", warning.error()),
            gst::MessageView::Info(info) => format!("info: {}", info.error()),
            other => panic!("{other:?}"),
        });
        let texts = texts.collect();
        pipeline.set_state(gst::State::Null).unwrap();
        texts
    }

    #[test]
    fn frames_that_lie_elsewhere_are_reported_once_and_by_what_is_true_of_them() {
        for (place, expected) in [
            (
                Elsewhere::Copied(0),
                "warning: reader: the frames are on GPU 0, but this element works on GPU 1",
            ),
            (Elsewhere::Copied(1), "so each is copied. To have one context"),
            (Elsewhere::SameGpu, "info: reader: the frames are in another CUDA context"),
        ] {
            let texts = messages(&[place; 3]);
            let [text] = texts.as_slice() else { panic!("one message, not {texts:?}") };
            assert!(text.contains(expected), "{text}");
        }
    }
}
