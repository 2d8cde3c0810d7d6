//! The entries of a `GstAnalyticsRelationMeta`, as the library shows them.

use std::ffi::c_int;

use gst::glib::ffi::{GFALSE, GQuark};

use super::library::{Functions, IS_PART_OF, MetaPtr, Mtd, RELATE_TO, Type};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Detection,
    Tracking,
    Classification,
    /// Points of an object.
    Group,
    /// Of a type that is not read, or deleted.
    Other,
}

/// A detection as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Location {
    pub label: GQuark,
    /// Left, top, width, height.
    pub rect: [i32; 4],
    /// By how much it is rotated about its centre, in radians, clockwise on the screen.
    pub angle: f32,
    pub confidence: f32,
}

/// To the nearest pixel; saturating, and 0 for NaN.
pub(super) fn pixel(value: f32) -> i32 {
    value.round() as i32
}

/// A track as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrackEntry {
    pub id: u64,
    /// Running times in ns.
    pub first_seen: u64,
    pub last_seen: u64,
    pub lost: bool,
}

/// The entries of a meta, numbered from 0.
pub(super) trait Entries {
    fn len(&self) -> usize;
    /// `Other` for a number that no entry has.
    fn kind(&self, id: u32) -> EntryKind;
    /// Of a detection.
    fn location(&self, id: u32) -> Option<Location>;
    /// Of a track.
    fn track(&self, id: u32) -> Option<TrackEntry>;
    /// The first `most` classes of a classification with their confidences.
    fn classes(&self, id: u32, most: usize) -> Vec<(GQuark, f32)>;
    /// Whether the two are related in any way.
    fn related(&self, a: u32, b: u32) -> bool;
    /// Whether the first is a part of the second.
    fn is_part_of(&self, part: u32, whole: u32) -> bool;
}

/// A meta that a buffer carries.
pub(super) struct RelationMeta<'a> {
    pub functions: &'static Functions,
    meta: MetaPtr,
    _buffer: &'a gst::BufferRef,
}

impl<'a> RelationMeta<'a> {
    /// The meta of the buffer, if it carries one.
    pub fn of(functions: &'static Functions, buffer: &'a gst::BufferRef) -> Option<Self> {
        Some(Self { functions, meta: functions.meta(buffer)?, _buffer: buffer })
    }

    fn mtd(&self, id: u32) -> Mtd {
        Mtd { id, meta: self.meta }
    }

    fn type_of(&self, id: u32) -> Type {
        let mtd = self.mtd(id);
        // The library logs an error and returns NULL's contents for numbers that it has not given out.
        if usize::try_from(id).is_ok_and(|id| id < self.len()) {
            // SAFETY: the meta lives as long as the buffer that is borrowed, and the entry exists.
            unsafe { (self.functions.type_of)(&raw const mtd) }
        } else {
            0
        }
    }
}

impl Entries for RelationMeta<'_> {
    fn len(&self) -> usize {
        // SAFETY: the meta lives as long as the buffer that is borrowed.
        unsafe { (self.functions.length)(self.meta) }
    }

    fn kind(&self, id: u32) -> EntryKind {
        let Functions { detection, tracking, classification, keypoints, .. } = self.functions;
        match self.type_of(id) {
            0 => EntryKind::Other,
            found if found == *detection => EntryKind::Detection,
            found if found == *tracking => EntryKind::Tracking,
            found if found == *classification => EntryKind::Classification,
            found if keypoints.as_ref().is_some_and(|keypoints| keypoints.group == found) => EntryKind::Group,
            _ => EntryKind::Other,
        }
    }

    fn location(&self, id: u32) -> Option<Location> {
        if self.kind(id) != EntryKind::Detection {
            return None;
        }
        let (mtd, mut angle, mut confidence) = (self.mtd(id), 0.0, 0.0);
        let [mut x, mut y, mut w, mut h]: [c_int; 4] = [0; 4];
        let found = match &self.functions.rotated {
            // SAFETY: the entry is a detection, which was asked above, and the targets are this function's own.
            Some(rotated) => unsafe {
                (rotated.location)(
                    &raw const mtd,
                    &raw mut x,
                    &raw mut y,
                    &raw mut w,
                    &raw mut h,
                    &raw mut angle,
                    &raw mut confidence,
                )
            },
            // SAFETY: as above.
            None => unsafe {
                (self.functions.location)(
                    &raw const mtd,
                    &raw mut x,
                    &raw mut y,
                    &raw mut w,
                    &raw mut h,
                    &raw mut confidence,
                )
            },
        };
        // SAFETY: as above.
        let label = unsafe { (self.functions.label)(&raw const mtd) };
        (found != GFALSE).then_some(Location { label, rect: [x, y, w, h], angle, confidence })
    }

    fn track(&self, id: u32) -> Option<TrackEntry> {
        if self.kind(id) != EntryKind::Tracking {
            return None;
        }
        let (mtd, mut lost) = (self.mtd(id), GFALSE);
        let [mut number, mut first_seen, mut last_seen] = [0; 3];
        // SAFETY: the entry is a track, which was asked above, and the targets are this function's own.
        let found = unsafe {
            (self.functions.tracking_info)(
                &raw const mtd,
                &raw mut number,
                &raw mut first_seen,
                &raw mut last_seen,
                &raw mut lost,
            )
        };
        let lost = lost != GFALSE;
        (found != GFALSE).then_some(TrackEntry { id: number, first_seen, last_seen, lost })
    }

    fn classes(&self, id: u32, most: usize) -> Vec<(GQuark, f32)> {
        if self.kind(id) != EntryKind::Classification {
            return Vec::new();
        }
        let mtd = self.mtd(id);
        // SAFETY: the entry is a classification, which was asked above.
        let count = unsafe { (self.functions.class_count)(&raw const mtd) };
        let class = |i| {
            // SAFETY: as above, and it has this class.
            unsafe {
                (
                    (self.functions.class_label)(&raw const mtd, i),
                    (self.functions.class_level)(&raw const mtd, i),
                )
            }
        };
        (0..count.min(most)).map(class).collect()
    }

    fn related(&self, a: u32, b: u32) -> bool {
        // SAFETY: the meta lives as long as the buffer that is borrowed; of numbers that it has not given out, the library says that they
        // are not related (it compares them with the size of its table).
        unsafe {
            (self.functions.relation)(self.meta, a, b) != 0 || (self.functions.relation)(self.meta, b, a) != 0
        }
    }

    fn is_part_of(&self, part: u32, whole: u32) -> bool {
        // SAFETY: as of `related`.
        unsafe { (self.functions.relation)(self.meta, part, whole) & IS_PART_OF != 0 }
    }
}

/// Adds entries to the meta of a buffer that is writable.
pub(super) struct Writer<'a> {
    pub functions: &'static Functions,
    pub meta: MetaPtr,
    _buffer: &'a mut gst::BufferRef,
}

impl<'a> Writer<'a> {
    /// The buffer's meta, which is put there if it is missing, with room for this many entries.
    pub fn new(
        functions: &'static Functions,
        buffer: &'a mut gst::BufferRef,
        entries: usize,
    ) -> Option<Self> {
        /// The bytes of an entry's content, about.
        const CONTENT: usize = 96;
        // The table grows by as many entries as it had at first, so there is at least one.
        let entries = entries.max(1);
        let mut params = super::library::InitParams {
            initial_relation_order: entries,
            initial_buf_size: entries.saturating_mul(CONTENT),
        };
        // SAFETY: the buffer is writable as long as it is borrowed; the parameters are only read.
        let meta = unsafe { (functions.add_meta)(buffer.as_mut_ptr(), &raw mut params) };
        (!meta.is_null()).then_some(Self { functions, meta, _buffer: buffer })
    }

    /// Adds an entry by `add`, which gets the meta and where to write the entry's handle; `None` where it fails.
    pub fn add(&mut self, add: impl FnOnce(MetaPtr, *mut Mtd) -> gst::glib::ffi::gboolean) -> Option<Mtd> {
        let mut mtd = Mtd { id: 0, meta: self.meta };
        (add(self.meta, &raw mut mtd) != GFALSE).then_some(mtd)
    }

    /// Relates two entries: the first to the second as `there`, back as `back`.
    pub fn relate(&mut self, a: u32, b: u32, [there, back]: [c_int; 2]) {
        // SAFETY: the meta lives as long as the buffer that is borrowed; both entries exist.
        unsafe {
            (self.functions.set_relation)(self.meta, there, a, b);
            (self.functions.set_relation)(self.meta, back, b, a);
        }
    }

    /// Adds a track, related to the detection that it is of.
    pub fn track(&mut self, detection: Option<u32>, track: &TrackEntry) {
        let functions = self.functions;
        // SAFETY: the meta is the buffer's, and the handle is written.
        let added =
            self.add(|meta, mtd| unsafe { (functions.add_tracking)(meta, track.id, track.first_seen, mtd) });
        let Some(mut mtd) = added else { return };
        // SAFETY: the entry is the track that was just added.
        unsafe {
            (functions.set_last_seen)(&raw mut mtd, track.last_seen);
            if track.lost {
                (functions.set_lost)(&raw mut mtd);
            }
        }
        if let Some(detection) = detection {
            self.relate(detection, mtd.id, [RELATE_TO; 2]);
        }
    }

    /// Adds a detection; returns its number. Where the library knows of no rotated boxes, it is upright.
    pub fn detection(
        &mut self,
        Location { label, rect: [x, y, w, h], angle, confidence }: Location,
    ) -> Option<u32> {
        let functions = self.functions;
        let added = match functions.rotated.as_ref().filter(|_| angle != 0.0) {
            // SAFETY: the meta is the buffer's, and the handle is written.
            Some(rotated) => self
                .add(|meta, mtd| unsafe { (rotated.add)(meta, label, x, y, w, h, angle, confidence, mtd) }),
            // SAFETY: as above.
            None => self.add(|meta, mtd| unsafe {
                (functions.add_detection)(meta, label, x, y, w, h, confidence, mtd)
            }),
        };
        added.map(|mtd| mtd.id)
    }

    /// Adds classes, the best first, related to the detection that they are of.
    pub fn classes(
        &mut self,
        detection: Option<u32>,
        labels: &mut [GQuark],
        levels: &mut [f32],
    ) -> Option<u32> {
        let (functions, count) = (self.functions, labels.len().min(levels.len()));
        // SAFETY: there are that many labels and levels, which the library copies.
        let added = self.add(|meta, mtd| unsafe {
            (functions.add_classes)(meta, count, levels.as_mut_ptr(), labels.as_mut_ptr(), mtd)
        })?;
        if let Some(detection) = detection {
            self.relate(detection, added.id, [RELATE_TO; 2]);
        }
        Some(added.id)
    }
}
