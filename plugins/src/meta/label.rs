//! The label of a region of interest: the name of a quark, which other elements may have made of any bytes.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;

use gst::glib;
use gst::meta::{MetaAPIExt, MetaRefMut, Standalone};
use gst_video::video_meta::VideoRegionOfInterestMeta as Roi;

/// Labels that a thread remembers; a model's classes are fewer.
const REMEMBERED: usize = 4096;

thread_local! {
    /// GLib finds a text's number under a lock that all threads of the process share: with hundreds of objects a frame, the
    /// streams would wait for each other most of the time.
    static KNOWN: RefCell<HashMap<String, Label>> = RefCell::default();
}

/// A label's number in this process. Equal labels have equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(glib::ffi::GQuark);

impl Label {
    /// The label of a text.
    pub fn named(text: &str) -> Self {
        KNOWN.with_borrow_mut(|known| {
            if let Some(label) = known.get(text) {
                return *label;
            }
            let label = Self(glib::translate::IntoGlib::into_glib(glib::Quark::from_str(text)));
            if known.len() == REMEMBERED {
                known.clear();
            }
            known.insert(text.to_owned(), label);
            label
        })
    }

    /// Puts a region with this label on a buffer; `rect` is left, top, width and height in pixels.
    pub fn put_region(
        self,
        buffer: &mut gst::BufferRef,
        rect: (u32, u32, u32, u32),
    ) -> MetaRefMut<'_, Roi, Standalone> {
        let (x, y, w, h) = rect;
        let pointer = buffer.as_mut_ptr();
        // SAFETY: the buffer is writable, and the meta is one that was just added to it; no number of a quark is refused.
        unsafe {
            let meta =
                gst_video::ffi::gst_buffer_add_video_region_of_interest_meta_id(pointer, self.0, x, y, w, h);
            Roi::from_mut_ptr(buffer, meta)
        }
    }

    /// The label of a region.
    pub fn of(meta: &Roi) -> Self {
        // SAFETY: the binding's type is a transparent wrapper of this structure, and the reference keeps it alive and readable.
        Self(unsafe {
            (*std::ptr::from_ref(meta).cast::<gst_video::ffi::GstVideoRegionOfInterestMeta>()).roi_type
        })
    }

    /// The label of a quark, whatever its number.
    pub fn from_quark(quark: glib::ffi::GQuark) -> Self {
        Self(quark)
    }

    /// Its quark.
    pub fn quark(self) -> glib::ffi::GQuark {
        self.0
    }

    /// The quark of its text, by which others know it: the same for no text as for an empty one.
    pub fn of_text(self) -> glib::ffi::GQuark {
        match self.text() {
            Cow::Borrowed(text) if !text.is_empty() => self.0,
            text => Self::named(&text).0,
        }
    }

    /// As text; what is not UTF-8 in it is replaced by U+FFFD. Empty for a region without one.
    pub fn text(self) -> Cow<'static, str> {
        // SAFETY: GLib looks up any number, and answers NULL for one that it has not given out.
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
    fn a_label_that_a_thread_has_known_is_the_same_as_the_one_that_others_find() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.make_mut();
        for n in 0..=REMEMBERED {
            Label::named(&format!("label {n}"));
        }
        for text in ["person", "person", "label 0", ""] {
            let ours = Label::of(&Label::named(text).put_region(buffer, (1, 2, 3, 4)));
            let theirs = Roi::add(buffer, text, (1, 2, 3, 4));
            assert_eq!((ours, theirs.rect()), (Label::of(&theirs), (1, 2, 3, 4)), "{text:?}");
            assert_eq!(ours.text(), text);
        }
    }

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
