//! The label of a region of interest: the name of a quark, which other elements may have made of any bytes.

use std::borrow::Cow;
use std::ffi::CStr;

use gst::glib;
use gst_video::VideoRegionOfInterestMeta as Roi;

/// A label's number in this process. Equal labels have equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(glib::ffi::GQuark);

impl Label {
    /// That of a region.
    pub fn of(meta: &Roi) -> Self {
        // SAFETY: the binding's type is a transparent wrapper of this structure, and the reference keeps it alive and readable.
        Self(unsafe {
            (*std::ptr::from_ref(meta).cast::<gst_video::ffi::GstVideoRegionOfInterestMeta>()).roi_type
        })
    }

    /// That of a quark, whatever its number.
    pub fn from_quark(quark: glib::ffi::GQuark) -> Self {
        Self(quark)
    }

    /// Its quark.
    pub fn quark(self) -> glib::ffi::GQuark {
        self.0
    }

    /// The quark of its text, by which others know it: the same for none as for an empty one.
    pub fn of_text(self) -> glib::ffi::GQuark {
        match self.text() {
            Cow::Borrowed(text) if !text.is_empty() => self.0,
            text => glib::translate::IntoGlib::into_glib(glib::Quark::from_str(&*text)),
        }
    }

    /// As text; what is not UTF-8 in it is replaced by U+FFFD. Empty for a region without one.
    pub fn text(self) -> Cow<'static, str> {
        // SAFETY: GLib looks up any number, and answers with NULL where it has given out none such.
        let name = unsafe { glib::ffi::g_quark_to_string(self.0) };
        if name.is_null() {
            return Cow::Borrowed("");
        }
        // SAFETY: a quark's name ends with NUL and is never changed or freed.
        unsafe { CStr::from_ptr(name) }.to_string_lossy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_whatever_its_bytes_are() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.make_mut();
        for (bytes, text) in [(c"person", "person"), (c"caf\xe9 \xff", "caf\u{fffd} \u{fffd}"), (c"", "")] {
            // SAFETY: the buffer is writable, and GLib copies the text.
            let id = unsafe {
                let roi_type = glib::ffi::g_quark_from_string(bytes.as_ptr());
                let meta = gst_video::ffi::gst_buffer_add_video_region_of_interest_meta_id(
                    buffer.as_mut_ptr(),
                    roi_type,
                    1,
                    2,
                    3,
                    4,
                );
                (*meta).roi_type
            };
            let read = buffer.iter_meta::<Roi>().last().map(|meta| Label::of(&meta)).unwrap();
            assert_eq!((read.0, &*read.text()), (id, text));
        }
        assert_eq!(Label(0).text(), "");
    }
}
