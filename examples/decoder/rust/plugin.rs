//! The plugin file for gst-launch-1.0 and applications in other languages. It has cudainfer's elements, too, and takes the place
//! of its file: a process cannot have them twice.

#![allow(missing_docs)] // of items that the macro makes

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gstcudainfer::register(plugin)?;
    yolov2::register(Some(plugin))
}

gst::plugin_define!(
    yolov2,
    "cudainfer's elements and a decoder of YOLOv2",
    plugin_init,
    env!("CARGO_PKG_VERSION"),
    "MIT/X11",
    "yolov2",
    "yolov2",
    "https://example.org/yolov2"
);
