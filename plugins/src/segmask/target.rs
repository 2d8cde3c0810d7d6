//! Where the mask of a whole frame goes.

use cudainfer_kernels::draw::{self, MaskInk, Rgb, paint_masks};
use cudainfer_kernels::frame::FrameFormat;
use gst_video::{VideoFormat, VideoInfo};

use super::pools::Pools;
use super::settings::{Output, Work};
use super::whole::Made;
use crate::inferoverlay::Artist;
use crate::memory::MappedHostFrameMut;
use crate::meta::mask::{self, Mask, MaskKind};
use crate::video;

/// How the frame changes.
pub(super) enum MaskTarget {
    /// It passes, with the mask as metadata.
    Meta,
    /// Its alpha channel becomes the mask. `artist` is for frames in CUDA memory.
    Alpha { info: VideoInfo, format: FrameFormat, artist: Option<Artist> },
    /// `values` has the new value for each of the mask's bytes.
    Gray { info: VideoInfo, values: Vec<u8>, pools: Pools },
}

impl MaskTarget {
    /// For frames of `caps`; those in CUDA memory still need an artist.
    ///
    /// # Errors
    /// A sentence: the caps are no video that this can be done with.
    pub fn new(output: Output, work: &Work, caps: &gst::CapsRef) -> Result<Self, String> {
        let info = || VideoInfo::from_caps(caps).map_err(|e| format!("{caps} is no video: {e}"));
        Ok(match (output, work) {
            (Output::Alpha, _) => {
                let info = info()?;
                let format = video::frame_format(caps, &info).ok_or_else(|| {
                    format!(
                        "frames of format {} have no alpha channel. Put videoconvert before fusedpreproc",
                        info.format()
                    )
                })?;
                Self::Alpha { info, format, artist: None }
            }
            (Output::Gray, Work::Whole { gray, .. }) => {
                let frame = info()?;
                let info = VideoInfo::builder(VideoFormat::Gray8, frame.width(), frame.height()).build();
                let info = info.map_err(|e| e.to_string())?;
                Self::Gray { info, values: gray.clone(), pools: Pools::default() }
            }
            _ => Self::Meta,
        })
    }

    /// The buffer to write to instead of `frame`, if that is needed. `ours` says that nothing else holds the frame; frames in
    /// system memory are copied by mapping them for writing.
    ///
    /// # Errors
    /// A sentence: there is no memory left, or an error of the GPU.
    pub fn instead_of(&mut self, frame: &gst::BufferRef, ours: bool) -> Result<Option<gst::Buffer>, String> {
        match self {
            Self::Alpha { info, artist: Some(artist), .. } if !ours => artist.copy(info, frame).map(Some),
            Self::Gray { info, pools, .. } => pools.buffer(info.size()).map(Some),
            _ => Ok(None),
        }
    }

    /// Puts the masks where they belong: into the frame it is one of the frame's size.
    ///
    /// # Errors
    /// A sentence: memory that cannot be mapped, or an error of the GPU.
    pub fn deliver(
        &mut self,
        made: Vec<Made>,
        kind: &MaskKind,
        buffer: &mut gst::BufferRef,
    ) -> Result<(), String> {
        if matches!(self, Self::Meta) {
            let mask =
                |Made { data, width, height, rect }| Mask { kind: kind.clone(), width, height, data, rect };
            mask::put(buffer, &made.into_iter().map(mask).collect::<Vec<_>>());
            return Ok(());
        }
        let Ok([Made { data, width, height, rect }]) = <[Made; 1]>::try_from(made) else {
            return Err("a frame has several masks".into());
        };
        match self {
            Self::Meta => Ok(()),
            Self::Alpha { info, format, artist } => {
                let ink = match kind {
                    MaskKind::Classes { background, .. } => MaskInk::Classes { background: *background },
                    _ => MaskInk::Cover(Rgb::WHITE),
                };
                let mask =
                    draw::Mask { data: &data, width, height, rect, ink, opacity: 255, into_alpha: true };
                if let Some(artist) = artist {
                    return artist.draw(info, format, buffer, &[mask], &[]);
                }
                let samples = data.map_readable().map_err(|e| e.to_string())?;
                let mut mapped = MappedHostFrameMut::write(buffer, info).map_err(|e| e.to_string())?;
                let mut frame = video::frame_mut(format, &mut mapped).map_err(|e| e.to_string())?;
                let mask = mask.with_data(samples.as_slice());
                paint_masks(format, &mut frame, &[mask]).map_err(|e| e.to_string())
            }
            Self::Gray { info, values, .. } => {
                let samples = data.map_readable().map_err(|e| e.to_string())?;
                let mut frame = MappedHostFrameMut::write(buffer, info).map_err(|e| e.to_string())?;
                let (rows, stride) = frame.planes_mut().next().ok_or("a mask has no plane")?;
                for (to, from) in rows.chunks_mut(stride).zip(samples.chunks(width)) {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = values[usize::from(*from)];
                    }
                }
                Ok(())
            }
        }
    }
}
