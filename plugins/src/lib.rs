//! cudainfer's GStreamer elements.
#![allow(missing_docs)] // plugin_define! makes public items without docs

pub mod cudaupload;
pub mod memory;

fn plugin_init(plugin: &gst::Plugin) -> Result<(), gst::glib::BoolError> {
    cudaupload::register(plugin)
}

gst::plugin_define!(
    cudainfer,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    env!("CARGO_PKG_VERSION"),
    "MIT/X11",
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    "https://example.org/cudainfer"
);
