//! `GstWebRTCSessionDescription`, which webrtcbin's signals take and give.
//!
//! The crate gstreamer-webrtc would link libgstwebrtc, which is in one package with the libraries of all "bad" plugins: the service would
//! depend on it where nobody wants WebRTC, and building would take its development files. The structure is all that is needed here; its
//! fields are public, and the same in all releases of GStreamer 1.

use std::ffi::c_int;

use gst::glib;
use gst::glib::translate::ToGlibPtrMut;
use gst_sdp::SDPMessageRef;

/// The name of its type, which webrtcbin registers.
const TYPE: &str = "GstWebRTCSessionDescription";

/// What a description is: the values of `GstWebRTCSDPType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum SdpType {
    /// The first description of a session.
    Offer = 1,
    /// The other peer's.
    Answer = 3,
}

/// `GstWebRTCSessionDescription`.
#[repr(C)]
struct Description {
    kind: c_int,
    sdp: *const SDPMessageRef,
}

/// A description as webrtcbin's signals take it.
///
/// # Errors
/// A sentence: the text is no SDP, or there is no webrtcbin.
pub fn to_value(kind: SdpType, text: &str) -> Result<glib::Value, String> {
    let message = gst_sdp::SDPMessage::parse_buffer(text.as_bytes()).map_err(|_| "the text is no SDP")?;
    let boxed = glib::Type::from_name(TYPE).ok_or("no webrtcbin has been made yet")?;
    let sdp: &SDPMessageRef = &message;
    let description = Description { kind: kind as c_int, sdp };
    let mut value = glib::Value::from_type(boxed);
    // SAFETY: `description` has the layout of the value's boxed type, and this call copies it together with its message.
    unsafe {
        glib::gobject_ffi::g_value_set_boxed(
            value.to_glib_none_mut().0,
            std::ptr::from_ref(&description).cast(),
        );
    }
    Ok(value)
}

/// The text of a description that webrtcbin has given; none if the value has none.
pub fn text(value: &glib::Value) -> Option<String> {
    use glib::translate::ToGlibPtr;
    if value.type_().name() != TYPE {
        return None;
    }
    // SAFETY: the value's type is checked above, so what it holds is null or has the layout of `Description`, and so does its message.
    // Both live as long as the value.
    let message = unsafe {
        let boxed = glib::gobject_ffi::g_value_get_boxed(value.to_glib_none().0);
        boxed.cast::<Description>().as_ref()?.sdp.as_ref()?
    };
    message.as_text().ok()
}
