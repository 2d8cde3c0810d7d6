//! String properties. GObject passes on whatever bytes the application set, but Rust's strings are UTF-8, and converting others
//! would panic in the setter, which ends the process.

use std::path::PathBuf;

use gst::glib;
use gst::prelude::*;

/// What a property of any kind may be set to: false, where it is a string that is not UTF-8. That is said as a WARNING, and the
/// property keeps its value. For properties that are names of files, which may be any bytes, there is [`path`].
pub(crate) fn is_text(
    element: &impl IsA<gst::Element>,
    value: &glib::Value,
    pspec: &glib::ParamSpec,
) -> bool {
    let Some(bytes) = value.get::<Option<PathBuf>>().ok().flatten() else { return true };
    if bytes.to_str().is_some() {
        return true;
    }
    gst::element_warning!(
        element,
        gst::LibraryError::Settings,
        (
            "{}: the property {} is set to {bytes:?}, which is not UTF-8: it keeps its value. Set it to text in UTF-8",
            element.as_ref().name(),
            pspec.name()
        )
    );
    false
}

/// The name of a file, whose bytes are taken as they are; none, where it is empty.
pub(crate) fn path(value: &glib::Value) -> Option<PathBuf> {
    // glib takes these by their bytes.
    value.get::<Option<PathBuf>>().ok().flatten().filter(|path| !path.as_os_str().is_empty())
}
