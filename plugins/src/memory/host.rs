//! Frames in system memory, mapped for the CPU.

use std::{marker::PhantomData, slice};

use gst::glib::translate::*;
use gst_video::{VideoInfo, ffi};

use super::{MemoryError, layout::FrameLayout};

/// A frame that the CPU can read, mapped until this is dropped.
///
/// GStreamer's own map ([`gst_video::VideoFrameRef`]) takes strides and offsets as the buffer's video meta gives them; here every
/// plane has been found to be within the memory that was mapped.
#[derive(Debug)]
pub struct MappedHostFrame<'a> {
    raw: ffi::GstVideoFrame,
    /// Of each plane: its first byte, the number of bytes, and the bytes from row to row.
    planes: [(*mut u8, usize, usize); 4],
    count: usize,
    buffer: PhantomData<&'a gst::BufferRef>,
}

/// A frame that the CPU can read and write, as [`MappedHostFrame`].
#[derive(Debug)]
pub struct MappedHostFrameMut<'a> {
    frame: MappedHostFrame<'a>,
    buffer: PhantomData<&'a mut gst::BufferRef>,
}

impl<'a> MappedHostFrame<'a> {
    /// The planes of `buffer`, a frame of `info`.
    ///
    /// # Errors
    /// [`MemoryError::NoHostMap`], and those of [`FrameLayout::of`].
    pub fn read(buffer: &'a gst::BufferRef, info: &VideoInfo) -> Result<Self, MemoryError> {
        let layout = FrameLayout::of(buffer, info)?;
        // SAFETY: the buffer is borrowed for `'a`.
        unsafe { Self::map(buffer.as_ptr().cast_mut(), info, &layout, gst::ffi::GST_MAP_READ, "reading") }
    }

    /// # Safety
    /// The buffer lives for `'a`, is the one of `layout`, and may be used as `access` says.
    unsafe fn map(
        buffer: *mut gst::ffi::GstBuffer,
        info: &VideoInfo,
        layout: &FrameLayout,
        access: gst::ffi::GstMapFlags,
        access_name: &'static str,
    ) -> Result<Self, MemoryError> {
        // SAFETY: a C struct of numbers and pointers. Its zeros show below what the map has not filled.
        let mut raw: ffi::GstVideoFrame = unsafe { std::mem::zeroed() };
        // Without a reference of its own, because one would make the buffer unwritable.
        let flags = ffi::GST_VIDEO_FRAME_MAP_FLAG_NO_REF | access;
        // SAFETY: the caller's promise; GStreamer only reads the info.
        let mapped = unsafe {
            ffi::gst_video_frame_map(&raw mut raw, info.to_glib_none().0.cast_mut(), buffer, flags)
        };
        if mapped == gst::glib::ffi::GFALSE {
            return Err(MemoryError::NoHostMap { access: access_name });
        }
        let count = layout.planes().len();
        // From here on, dropping unmaps.
        let mut frame = Self { raw, planes: [(std::ptr::null_mut(), 0, 0); 4], count, buffer: PhantomData };
        for (number, plane) in layout.planes().iter().enumerate() {
            let data = raw.data[number].cast::<u8>();
            // Without a meta all planes are in one map; with one, each has its own, of the memory that it begins in.
            let map = &raw.map[if raw.meta.is_null() { 0 } else { number }];
            let extent = plane.extent().unwrap_or(usize::MAX);
            let inside = data.addr().checked_sub(map.data.addr()).filter(|start| *start < map.size);
            let bytes = match inside {
                Some(start) => {
                    layout.check_plane(number, start, map.size)?;
                    (map.size - start).min(plane.stride.saturating_mul(plane.rows)).max(extent)
                }
                // The meta maps by functions of its own, which do not return how much they map: then the meta's own figure holds.
                None if map.data.is_null() && !data.is_null() => extent,
                None if extent == 0 => 0,
                None => return Err(MemoryError::NoHostMap { access: access_name }),
            };
            // A meta that maps by itself may unpack the frame to other strides than it has stated.
            let stride =
                usize::try_from(raw.info.stride[number]).ok().filter(|stride| *stride == plane.stride);
            let Some(stride) = stride else { return Err(MemoryError::NoHostMap { access: access_name }) };
            frame.planes[number] = (data, bytes, stride);
        }
        Ok(frame)
    }

    /// The bytes of `plane` from its first row on, and the bytes from row to row; `None` if there is no such plane.
    pub fn plane(&self, plane: usize) -> Option<(&[u8], usize)> {
        let (data, bytes, stride) = *self.planes[..self.count].get(plane)?;
        if bytes == 0 {
            return Some((&[], stride));
        }
        // SAFETY: mapped until `self` is dropped, and that many bytes, as was checked.
        Some((unsafe { slice::from_raw_parts(data, bytes) }, stride))
    }
}

impl Drop for MappedHostFrame<'_> {
    fn drop(&mut self) {
        // SAFETY: it was mapped by us, once, and the buffer is still borrowed.
        unsafe { ffi::gst_video_frame_unmap(&raw mut self.raw) };
    }
}

impl<'a> MappedHostFrameMut<'a> {
    /// The planes of `buffer`, a frame of `info`, to be written (and read).
    ///
    /// # Errors
    /// As [`MappedHostFrame::read`], and [`MemoryError::Overlap`].
    pub fn write(buffer: &'a mut gst::BufferRef, info: &VideoInfo) -> Result<Self, MemoryError> {
        let layout = FrameLayout::of(buffer, info)?;
        let access = gst::ffi::GST_MAP_READ | gst::ffi::GST_MAP_WRITE;
        // SAFETY: the buffer is borrowed mutably for `'a`.
        let frame = unsafe { MappedHostFrame::map(buffer.as_mut_ptr(), info, &layout, access, "writing")? };
        let mut mapped = Self { frame, buffer: PhantomData };
        mapped.part(&layout)?;
        Ok(mapped)
    }

    /// Each plane ends where another begins, so that no byte is in two of them.
    fn part(&mut self, layout: &FrameLayout) -> Result<(), MemoryError> {
        let starts = self.frame.planes.map(|(data, ..)| data.addr());
        for (number, plane) in layout.planes().iter().enumerate() {
            let others = (0..self.frame.count).filter(|other| *other != number);
            for other in others.filter(|other| starts[*other] >= starts[number]) {
                let room = starts[other] - starts[number];
                if room < plane.extent().unwrap_or(usize::MAX) {
                    return Err(MemoryError::Overlap { planes: [number, other] });
                }
                let bytes = &mut self.frame.planes[number].1;
                *bytes = room.min(*bytes);
            }
        }
        Ok(())
    }

    /// The bytes of each plane from its first row on, and the bytes from row to row.
    pub fn planes_mut(&mut self) -> impl Iterator<Item = (&mut [u8], usize)> {
        self.frame.planes[..self.frame.count].iter().map(|&(data, bytes, stride)| {
            if bytes == 0 {
                return (Default::default(), stride);
            }
            // SAFETY: mapped for writing until `self` is dropped, and borrowed mutably; no byte is in two planes.
            (unsafe { slice::from_raw_parts_mut(data, bytes) }, stride)
        })
    }
}

#[cfg(test)]
mod tests {
    use gst_video::{VideoFormat, VideoFrameFlags, VideoMeta};

    use super::*;

    fn info(format: VideoFormat) -> VideoInfo {
        gst::init().unwrap();
        VideoInfo::builder(format, 4, 2).build().unwrap()
    }

    fn describe(buffer: &mut gst::Buffer, format: VideoFormat, offsets: &[usize], strides: &[i32]) {
        let buffer = buffer.get_mut().unwrap();
        drop(VideoMeta::add_full(buffer, VideoFrameFlags::empty(), format, 4, 2, offsets, strides));
    }

    #[test]
    fn planes_are_read_where_the_meta_says() {
        let info = info(VideoFormat::Nv12);
        let mut buffer = gst::Buffer::from_slice([1, 1, 1, 1, 0, 2, 2, 2, 2, 0, 0, 3, 4, 3, 4]);
        describe(&mut buffer, VideoFormat::Nv12, &[0, 11], &[5, 4]);
        let frame = MappedHostFrame::read(&buffer, &info).unwrap();
        let (luma, stride) = frame.plane(0).unwrap();
        assert_eq!((&luma[..4], &luma[stride..][..4]), (&[1; 4][..], &[2; 4][..]));
        assert_eq!(frame.plane(1), Some((&[3, 4, 3, 4][..], 4)));
        assert_eq!(frame.plane(2), None);
    }

    #[test]
    fn a_plane_that_goes_on_in_another_memory_is_refused() {
        let info = info(VideoFormat::Gray8);
        let in_two = || {
            let mut buffer = gst::Buffer::from_slice([1; 6]);
            buffer.get_mut().unwrap().append_memory(gst::Memory::from_slice([2; 6]));
            buffer
        };
        // Without a meta GStreamer merges them into one memory.
        let whole = in_two();
        let plain = MappedHostFrame::read(&whole, &info).unwrap();
        assert_eq!(plain.plane(0), Some((&[1, 1, 1, 1, 1, 1, 2, 2][..], 4)));
        let mut described = in_two();
        describe(&mut described, VideoFormat::Gray8, &[0], &[4]);
        let error = MappedHostFrame::read(&described, &info).unwrap_err();
        assert!(matches!(error, MemoryError::ShortPlane { plane: 0, wanted: 8, bytes: 6, .. }), "{error}");
    }

    #[test]
    fn planes_to_be_written_share_no_byte() {
        let info = info(VideoFormat::I420);
        let write = |offsets: &[usize], strides: &[i32]| {
            let mut buffer = gst::Buffer::with_size(32).unwrap();
            describe(&mut buffer, VideoFormat::I420, offsets, strides);
            let mut mapped = MappedHostFrameMut::write(buffer.get_mut().unwrap(), &info)?;
            Ok::<_, MemoryError>(mapped.planes_mut().map(|(plane, _)| plane.len()).collect::<Vec<_>>())
        };
        assert_eq!(write(&[0, 8, 10], &[4, 2, 2]), Ok(vec![8, 2, 2]));
        // The padding after the last row belongs to the next plane.
        assert_eq!(write(&[0, 12, 20], &[8, 8, 8]), Ok(vec![12, 8, 8]));
        assert_eq!(write(&[0, 7, 10], &[4, 2, 2]), Err(MemoryError::Overlap { planes: [0, 1] }));
        assert_eq!(write(&[0, 8, 8], &[4, 2, 2]), Err(MemoryError::Overlap { planes: [1, 2] }));
    }
}
