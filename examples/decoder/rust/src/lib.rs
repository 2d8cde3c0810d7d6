//! A decoder that cudainfer does not have: the element `yolov2rs` finds objects in the outputs of YOLOv2 networks.
//!
//! ```text
//! ... ! fusedpreproc ! trtinfer model=tinyyolov2.onnx ! yolov2rs ! tracker ! inferoverlay ! ...
//! ```
//!
//! docs/your-own-decoder.md explains it.

use gst::glib;
use gst::prelude::*;

mod grid;
mod imp;

glib::wrapper! {
    /// The element.
    pub struct Yolov2(ObjectSubclass<imp::Yolov2>)
        @extends gstcudainfer::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element: in the plugin that calls it, or with `None` in an application.
///
/// # Errors
/// GStreamer refuses the registration.
pub fn register(plugin: Option<&gst::Plugin>) -> Result<(), glib::BoolError> {
    gst::Element::register(plugin, "yolov2rs", gst::Rank::NONE, Yolov2::static_type())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_application_may_register_its_own_elements_before_cudainfers() {
        gst::init().unwrap();
        crate::register(None).unwrap();
        // Registered twice, as programs of several parts do.
        for _ in 0..2 {
            gstcudainfer::plugin_register_static().unwrap();
        }
        for element in ["yolov2rs", "gpunms"] {
            assert!(gst::ElementFactory::find(element).is_some(), "{element}");
        }
    }
}
