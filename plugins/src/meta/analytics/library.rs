//! The functions of libgstanalytics that this plugin calls, opened at run time.
//!
//! Checked against GStreamer's sources of 1.24.0, 1.26.2, 1.28.6 and of its main branch of August 2026 (1.30): the functions here
//! have one signature and the structures one layout in all of them. Never called are `gst_analytics_relation_meta_get_direct_related`
//! and `gst_analytics_relation_meta_iterate`: a relation to an entry that does not exist yet is allowed, and the former then reads
//! memory that nobody has written.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::OnceLock;

use gst::glib::ffi::{GQuark, GType, gboolean};

use crate::loader::{LibraryError, OpenLibrary, function};
pub(super) use crate::log::ANALYTICS as CAT;

/// The same in all versions.
const NAME: &str = "libgstanalytics-1.0.so.0";

/// A `GstAnalyticsRelationMeta*`.
pub(super) type MetaPtr = *mut gst::ffi::GstMeta;

/// `GstAnalyticsMtdType`: the address of what describes the type.
pub(super) type Type = usize;

/// `GstAnalyticsMtd`: an entry of a meta.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Mtd {
    pub id: c_uint,
    pub meta: MetaPtr,
}

/// `GstAnalyticsRelationMetaInitParams`.
#[repr(C)]
pub(super) struct InitParams {
    /// Entries that have room before the table of relations grows; it grows by this number.
    pub initial_relation_order: usize,
    /// The bytes of the entries' contents that have room before they are moved.
    pub initial_buf_size: usize,
}

/// `GST_ANALYTICS_REL_TYPE_IS_PART_OF`.
pub(super) const IS_PART_OF: c_int = 1 << 1;
/// `GST_ANALYTICS_REL_TYPE_CONTAIN`.
pub(super) const CONTAIN: c_int = 1 << 2;
/// `GST_ANALYTICS_REL_TYPE_RELATE_TO`.
pub(super) const RELATE_TO: c_int = 1 << 3;

/// The functions. All of them work on a meta that nothing else writes to meanwhile, as on any meta of a buffer.
pub(crate) struct Functions {
    pub(super) api: GType,
    pub(super) detection: Type,
    pub(super) tracking: Type,
    pub(super) classification: Type,
    pub(super) add_meta: unsafe extern "C" fn(*mut gst::ffi::GstBuffer, *mut InitParams) -> MetaPtr,
    pub(super) length: unsafe extern "C" fn(MetaPtr) -> usize,
    /// Of an entry that exists; 0 where nothing is left of it.
    pub(super) type_of: unsafe extern "C" fn(*const Mtd) -> Type,
    pub(super) relation: unsafe extern "C" fn(MetaPtr, c_uint, c_uint) -> c_int,
    pub(super) set_relation: unsafe extern "C" fn(MetaPtr, c_int, c_uint, c_uint) -> gboolean,
    pub(super) add_detection:
        unsafe extern "C" fn(MetaPtr, GQuark, c_int, c_int, c_int, c_int, f32, *mut Mtd) -> gboolean,
    pub(super) location: unsafe extern "C" fn(
        *const Mtd,
        *mut c_int,
        *mut c_int,
        *mut c_int,
        *mut c_int,
        *mut f32,
    ) -> gboolean,
    pub(super) label: unsafe extern "C" fn(*const Mtd) -> GQuark,
    pub(super) add_tracking: unsafe extern "C" fn(MetaPtr, u64, u64, *mut Mtd) -> gboolean,
    pub(super) set_last_seen: unsafe extern "C" fn(*mut Mtd, u64) -> gboolean,
    pub(super) set_lost: unsafe extern "C" fn(*mut Mtd) -> gboolean,
    pub(super) tracking_info:
        unsafe extern "C" fn(*const Mtd, *mut u64, *mut u64, *mut u64, *mut gboolean) -> gboolean,
    pub(super) add_classes: unsafe extern "C" fn(MetaPtr, usize, *mut f32, *mut GQuark, *mut Mtd) -> gboolean,
    pub(super) class_count: unsafe extern "C" fn(*const Mtd) -> usize,
    pub(super) class_level: unsafe extern "C" fn(*const Mtd, usize) -> f32,
    pub(super) class_label: unsafe extern "C" fn(*const Mtd, usize) -> GQuark,
    pub(super) rotated: Option<Rotated>,
    pub(super) segmentation: Option<AddSegmentation>,
    pub(super) keypoints: Option<Keypoints>,
}

/// Rotated boxes, since 1.26.
pub(super) struct Rotated {
    pub add:
        unsafe extern "C" fn(MetaPtr, GQuark, c_int, c_int, c_int, c_int, f32, f32, *mut Mtd) -> gboolean,
    pub location: unsafe extern "C" fn(
        *const Mtd,
        *mut c_int,
        *mut c_int,
        *mut c_int,
        *mut c_int,
        *mut f32,
        *mut f32,
    ) -> gboolean,
}

/// Adds a mask, since 1.26: the buffer, which it takes, with a video meta of format GRAY8; 0 for masks of classes, 1 for those of
/// objects; the values that occur; what the mask covers.
pub(super) type AddSegmentation = unsafe extern "C" fn(
    MetaPtr,
    *mut gst::ffi::GstBuffer,
    c_int,
    usize,
    *mut c_uint,
    c_int,
    c_int,
    c_uint,
    c_uint,
    *mut Mtd,
) -> gboolean;

/// Keypoints, since 1.30.
pub(super) struct Keypoints {
    /// The type of a group of entries.
    pub group: Type,
    /// Adds points and the group that they make: its name; 2 for points in a plane; the number of coordinates, and the
    /// coordinates; the number of points, their confidences and whether they are seen; the number of indices in pairs of
    /// connected points, and the indices.
    pub add_group: unsafe extern "C" fn(
        MetaPtr,
        *const c_char,
        c_int,
        usize,
        *const c_int,
        usize,
        *const f32,
        *const u8,
        usize,
        *const c_int,
        *mut Mtd,
    ) -> gboolean,
}

/// The library's functions, opened by the first call and never closed: GStreamer keeps pointers to its types.
///
/// # Errors
/// What was found instead of the library.
pub(crate) fn open() -> Result<&'static Functions, LibraryError> {
    static OPENED: OnceLock<Result<Functions, LibraryError>> = OnceLock::new();
    let opened = OPENED.get_or_init(|| {
        let opened = load(NAME);
        match &opened {
            Ok(functions) => gst::info!(CAT, "opened {NAME} {}", functions.abilities()),
            Err(why) => gst::info!(CAT, "results are regions of interest only: {why}"),
        }
        opened
    });
    opened.as_ref().map_err(Clone::clone)
}

fn load(name: &str) -> Result<Functions, LibraryError> {
    let library = OpenLibrary::of_gstreamer(name)?;
    type TypeGetter = unsafe extern "C" fn() -> Type;
    let api: unsafe extern "C" fn() -> GType =
        function!(library, c"gst_analytics_relation_meta_api_get_type")?;
    let detection: TypeGetter = function!(library, c"gst_analytics_od_mtd_get_mtd_type")?;
    let tracking: TypeGetter = function!(library, c"gst_analytics_tracking_mtd_get_mtd_type")?;
    let classification: TypeGetter = function!(library, c"gst_analytics_cls_mtd_get_mtd_type")?;
    let rotated = || {
        Ok::<_, LibraryError>(Rotated {
            add: function!(library, c"gst_analytics_relation_meta_add_oriented_od_mtd")?,
            location: function!(library, c"gst_analytics_od_mtd_get_oriented_location")?,
        })
    };
    let keypoints = || {
        let group: TypeGetter = function!(library, c"gst_analytics_group_mtd_get_mtd_type")?;
        let add_group = function!(library, c"gst_analytics_relation_meta_add_keypoints_group")?;
        // SAFETY: takes nothing and gives the address of a constant.
        Ok::<_, LibraryError>(Keypoints { group: unsafe { group() }, add_group })
    };
    Ok(Functions {
        // SAFETY: these take nothing and register or give the type; they may be called from any thread.
        api: unsafe { api() },
        // SAFETY: as above.
        detection: unsafe { detection() },
        // SAFETY: as above.
        tracking: unsafe { tracking() },
        // SAFETY: as above.
        classification: unsafe { classification() },
        add_meta: function!(library, c"gst_buffer_add_analytics_relation_meta_full")?,
        length: function!(library, c"gst_analytics_relation_get_length")?,
        type_of: function!(library, c"gst_analytics_mtd_get_mtd_type")?,
        relation: function!(library, c"gst_analytics_relation_meta_get_relation")?,
        set_relation: function!(library, c"gst_analytics_relation_meta_set_relation")?,
        add_detection: function!(library, c"gst_analytics_relation_meta_add_od_mtd")?,
        location: function!(library, c"gst_analytics_od_mtd_get_location")?,
        label: function!(library, c"gst_analytics_od_mtd_get_obj_type")?,
        add_tracking: function!(library, c"gst_analytics_relation_meta_add_tracking_mtd")?,
        set_last_seen: function!(library, c"gst_analytics_tracking_mtd_update_last_seen")?,
        set_lost: function!(library, c"gst_analytics_tracking_mtd_set_lost")?,
        tracking_info: function!(library, c"gst_analytics_tracking_mtd_get_info")?,
        add_classes: function!(library, c"gst_analytics_relation_meta_add_cls_mtd")?,
        class_count: function!(library, c"gst_analytics_cls_mtd_get_length")?,
        class_level: function!(library, c"gst_analytics_cls_mtd_get_level")?,
        class_label: function!(library, c"gst_analytics_cls_mtd_get_quark")?,
        rotated: rotated().ok(),
        segmentation: function!(library, c"gst_analytics_relation_meta_add_segmentation_mtd").ok(),
        keypoints: keypoints().ok(),
    })
}

impl Functions {
    /// What it can hold besides upright boxes, tracks and classes.
    fn abilities(&self) -> &'static str {
        match (&self.rotated, &self.segmentation, &self.keypoints) {
            (Some(_), Some(_), Some(_)) => "with rotated boxes, masks and keypoints",
            (Some(_), Some(_), None) => "with rotated boxes and masks",
            _ => "without rotated boxes and masks",
        }
    }

    /// A buffer's meta.
    pub(super) fn meta(&self, buffer: &gst::BufferRef) -> Option<MetaPtr> {
        // SAFETY: the buffer is readable as long as the reference lives; looking for a meta changes nothing of it.
        let meta = unsafe { gst::ffi::gst_buffer_get_meta(buffer.as_mut_ptr(), self.api) };
        (!meta.is_null()).then_some(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_or_another_is_named() {
        gst::init().unwrap();
        let why = load("libgstanalytics-of-nowhere.so.0").err().unwrap().to_string();
        assert!(why.contains("of-nowhere"), "{why}");
        let why = load("libc.so.6").err().unwrap().to_string();
        assert_eq!(why, "libc.so.6 has no function gst_analytics_relation_meta_api_get_type");
    }
}
