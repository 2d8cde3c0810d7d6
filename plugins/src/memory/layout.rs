//! Where the planes of a frame are in its memory, of whatever kind that is, and whether they are within it.
//!
//! Offsets and strides come with the buffer, from the element that made it. They are checked here before anything is read
//! by them: for the CPU by [`super::MappedHostFrame`], for the GPU by [`super::MappedCudaFrame`].

use gst_video::VideoInfo;

use super::{MemoryError, cropping};

/// The planes of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameLayout {
    planes: [PlaneLayout; 4],
    count: usize,
}

/// A plane, in bytes from the start of the buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlaneLayout {
    pub(super) offset: usize,
    /// From row to row.
    pub(super) stride: usize,
    /// The bytes of a row that carry pixels; never more than the stride where there are several rows.
    pub(super) row_bytes: usize,
    pub(super) rows: usize,
}

impl PlaneLayout {
    /// The bytes from the plane's first to the last one that carries a pixel; `None` for more than there can be.
    pub(super) fn extent(&self) -> Option<usize> {
        match self.rows {
            0 => Some(0),
            rows => self.stride.checked_mul(rows - 1)?.checked_add(self.row_bytes),
        }
    }
}

impl FrameLayout {
    /// The planes of `buffer`, as its video meta says, which knows the padding, or as the caps (`info`) say where there is
    /// none.
    ///
    /// # Errors
    /// [`MemoryError::Cropped`], [`MemoryError::OtherFrame`] where the meta is not of a frame of these caps,
    /// [`MemoryError::BadStride`], [`MemoryError::ShortFrame`] and [`MemoryError::ShortPlane`] where the planes are not within the
    /// buffer.
    pub(super) fn of(buffer: &gst::BufferRef, info: &VideoInfo) -> Result<Self, MemoryError> {
        cropping::check(buffer, [info.width(), info.height()])?;
        // The meta that GStreamer maps by.
        let meta = buffer.iter_meta::<gst_video::VideoMeta>().min_by_key(|meta| meta.id());
        let Some(meta) = meta else {
            if buffer.size() < info.size() {
                let (bytes, wanted) = (buffer.size(), info.size());
                return Err(MemoryError::ShortFrame { frame: name(info), bytes, wanted });
            }
            return Self::new(info, info.offset(), info.stride())?.within(buffer.size());
        };
        let [width, height] = [meta.width(), meta.height()];
        // GStreamer's own rule: a frame with more pixels than the caps show is cropped.
        let same = meta.format() == info.format() && width >= info.width() && height >= info.height();
        if !same || meta.n_planes() != info.n_planes() {
            let found = format!("{width}x{height} {} in {} planes", meta.format(), meta.n_planes());
            let wanted = format!("{} in {}", name(info), info.n_planes());
            return Err(MemoryError::OtherFrame { found, wanted });
        }
        Self::new(info, meta.offset(), meta.stride())?.within(buffer.size())
    }

    fn new(info: &VideoInfo, offsets: &[usize], strides: &[i32]) -> Result<Self, MemoryError> {
        let mut layout = Self { planes: [PlaneLayout::default(); 4], count: 0 };
        let slots = layout.planes.iter_mut().zip(offsets.iter().zip(strides)).enumerate();
        for (plane, (slot, (offset, stride))) in slots {
            let (row_bytes, rows) = plane_extent(info, plane);
            let fits = usize::try_from(*stride).ok().filter(|stride| *stride >= row_bytes || rows <= 1);
            let Some(whole) = fits else {
                let frame = name(info);
                return Err(MemoryError::BadStride { plane, frame, stride: *stride, row_bytes });
            };
            *slot = PlaneLayout { offset: *offset, stride: whole, row_bytes, rows };
            layout.count += 1;
        }
        Ok(layout)
    }

    fn within(self, bytes: usize) -> Result<Self, MemoryError> {
        self.check_mapped(bytes).map(|()| self)
    }

    /// Whether all planes are within memory of this many bytes.
    pub(super) fn check_mapped(&self, bytes: usize) -> Result<(), MemoryError> {
        (0..self.count).try_for_each(|plane| self.check_plane(plane, self.planes[plane].offset, bytes))
    }

    /// Whether `plane`, which begins at `offset` of memory of this many bytes, is within it.
    pub(super) fn check_plane(&self, plane: usize, offset: usize, bytes: usize) -> Result<(), MemoryError> {
        let layout = self.planes[plane];
        let extent = layout.extent().unwrap_or(usize::MAX);
        if offset.checked_add(extent).is_some_and(|end| end <= bytes) {
            return Ok(());
        }
        let PlaneLayout { stride, rows, .. } = layout;
        Err(MemoryError::ShortPlane { plane, offset, rows, stride, wanted: extent, bytes })
    }

    /// The planes, 4 at most.
    pub(super) fn planes(&self) -> &[PlaneLayout] {
        &self.planes[..self.count]
    }
}

fn name(info: &VideoInfo) -> String {
    format!("{}x{} {}", info.width(), info.height(), info.format())
}

/// Bytes that carry pixels in a row of `plane` of a frame of `info`, and rows.
///
/// A plane with several components is as wide as the widest: in a YUY2 frame of odd width, chroma reaches further than
/// luma.
pub fn plane_extent(info: &VideoInfo, plane: usize) -> (usize, usize) {
    let format = info.format_info();
    let components = format.plane().iter().zip(format.pixel_stride()).zip(0u8..);
    let extents =
        components.filter(|((of, _), _)| usize::try_from(**of) == Ok(plane)).map(|((_, step), component)| {
            let width = usize::try_from(format.scale_width(component, info.width())).unwrap_or(0);
            let rows = usize::try_from(format.scale_height(component, info.height())).unwrap_or(0);
            (width * usize::try_from(*step).unwrap_or(0), rows)
        });
    extents.fold((0, 0), |(bytes, rows), (b, r)| (bytes.max(b), rows.max(r)))
}

#[cfg(test)]
mod tests {
    use gst_video::{VideoFormat, VideoFrameFlags, VideoMeta};

    use super::*;

    /// The error for a frame of these caps in `bytes` bytes with such a meta.
    fn refused(
        (format, width, height): (VideoFormat, u32, u32),
        bytes: usize,
        (offsets, strides): (&[usize], &[i32]),
        break_it: impl FnOnce(&mut gst_video::ffi::GstVideoMeta),
    ) -> String {
        gst::init().unwrap();
        let info = VideoInfo::builder(format, width, height).build().unwrap();
        let mut buffer = gst::Buffer::with_size(bytes).unwrap();
        VideoMeta::add_full(
            buffer.get_mut().unwrap(),
            VideoFrameFlags::empty(),
            format,
            width,
            height,
            info.offset(),
            info.stride(),
        )
        .unwrap();
        // SAFETY: the buffer is ours alone and has this meta, as long as the pointer is used.
        unsafe {
            let meta = gst_video::ffi::gst_buffer_get_video_meta(buffer.as_mut_ptr());
            (&mut (*meta).offset)[..offsets.len()].copy_from_slice(offsets);
            (&mut (*meta).stride)[..strides.len()].copy_from_slice(strides);
            break_it(&mut *meta);
        }
        FrameLayout::of(&buffer, &info).unwrap_err().to_string()
    }

    const RGBA: (VideoFormat, u32, u32) = (VideoFormat::Rgba, 64, 48);
    const NV12: (VideoFormat, u32, u32) = (VideoFormat::Nv12, 64, 48);

    #[test]
    fn planes_outside_of_the_memory_are_refused() {
        let says = |text: String, parts: &[&str]| {
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        let far = refused(RGBA, 64 * 48 * 4, (&[0], &[1 << 20]), |_| {});
        says(far, &["plane 0", "48 rows, 1048576 bytes apart", "49283328 bytes", "the memory has 12288"]);
        says(refused(RGBA, 64 * 48 * 4, (&[1], &[256]), |_| {}), &["plane 0", "from byte 1 on", "12288"]);
        says(refused(RGBA, 64 * 48 * 4, (&[usize::MAX], &[256]), |_| {}), &["plane 0", "12288"]);
        says(refused(NV12, 64 * 72, (&[0, 64 * 49], &[64, 64]), |_| {}), &["plane 1", "from byte 3136 on"]);
        says(refused(RGBA, 64 * 48 * 4, (&[0], &[-256]), |_| {}), &["stride of -256", "256"]);
        says(refused(RGBA, 64 * 48 * 4, (&[0], &[255]), |_| {}), &["stride of 255", "256"]);
        says(refused(RGBA, 64 * 48 * 4, (&[0], &[0]), |_| {}), &["stride of 0", "256"]);
    }

    #[test]
    fn a_meta_of_another_frame_than_the_caps_is_refused() {
        let caps = "64x48 NV12 in 2";
        for (found, break_it) in [
            ("64x48 NV12 in 1 planes", (|meta| meta.n_planes = 1) as fn(&mut gst_video::ffi::GstVideoMeta)),
            ("64x48 NV12 in 7 planes", |meta| meta.n_planes = 7),
            ("63x48 NV12 in 2 planes", |meta| meta.width = 63),
            ("64x47 NV12 in 2 planes", |meta| meta.height = 47),
            ("64x48 NV21 in 2 planes", |meta| meta.format = gst_video::ffi::GST_VIDEO_FORMAT_NV21),
        ] {
            let text = refused(NV12, 64 * 72, (&[], &[]), break_it);
            assert!(text.contains(found) && text.contains(caps), "{text}");
        }
    }

    #[test]
    fn padding_and_cropping_are_fine_and_the_last_row_needs_none() {
        gst::init().unwrap();
        let info = VideoInfo::builder(VideoFormat::Nv12, 63, 47).build().unwrap();
        let (offsets, strides) = ([0, 100 * 48], [100, 80]);
        let bytes = 100 * 48 + 80 * 23 + 64;
        for (size, fits) in [(bytes, true), (bytes - 1, false)] {
            let mut buffer = gst::Buffer::with_size(size).unwrap();
            let writable = buffer.get_mut().unwrap();
            let flags = VideoFrameFlags::empty();
            drop(VideoMeta::add_full(writable, flags, VideoFormat::Nv12, 64, 48, &offsets, &strides));
            assert_eq!(FrameLayout::of(&buffer, &info).is_ok(), fits, "{size}");
        }
    }

    #[test]
    fn extents_of_odd_sizes_count_every_byte_with_pixels() {
        gst::init().unwrap();
        let extents = |format, width, height| {
            let info = VideoInfo::builder(format, width, height).build().unwrap();
            (0..info.n_planes() as usize).map(|plane| plane_extent(&info, plane)).collect::<Vec<_>>()
        };
        assert_eq!(extents(VideoFormat::Nv12, 5, 3), [(5, 3), (6, 2)]);
        assert_eq!(extents(VideoFormat::I420, 5, 3), [(5, 3), (3, 2), (3, 2)]);
        assert_eq!(extents(VideoFormat::Yv12, 5, 3), [(5, 3), (3, 2), (3, 2)]);
        assert_eq!(extents(VideoFormat::P01010le, 5, 3), [(10, 3), (12, 2)]);
        assert_eq!(extents(VideoFormat::Rgba, 5, 3), [(20, 3)]);
        assert_eq!(extents(VideoFormat::Rgb, 5, 3), [(15, 3)]);
        assert_eq!(extents(VideoFormat::Yuy2, 5, 3), [(12, 3)]);
        assert_eq!(extents(VideoFormat::Uyvy, 5, 3), [(12, 3)]);
        assert_eq!(extents(VideoFormat::Y42b, 5, 3), [(5, 3), (3, 3), (3, 3)]);
        assert_eq!(extents(VideoFormat::Gbra, 1, 1), [(1, 1); 4]);
        assert_eq!(extents(VideoFormat::Rgb10a2Le, 5, 3), [(20, 3)]);
    }

    #[test]
    fn every_format_that_is_offered_has_planes_within_its_own_size() {
        gst::init().unwrap();
        for format in super::super::caps::CUDA_FORMATS {
            for (width, height) in [(1, 1), (9, 17), (64, 48), (65, 65)] {
                let info = VideoInfo::builder(format, width, height).build().unwrap();
                for plane in 0..info.n_planes() as usize {
                    let (row_bytes, rows) = plane_extent(&info, plane);
                    assert!(row_bytes > 0 && rows > 0, "{format} plane {plane}");
                    let stride = usize::try_from(info.stride()[plane]).unwrap();
                    assert!(row_bytes <= stride, "{format} {width}x{height} plane {plane}");
                    assert!(info.offset()[plane] + stride * rows <= info.size(), "{format} plane {plane}");
                }
            }
        }
    }
}
