//! stub
pub(crate) fn register(_plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    Ok(())
}
