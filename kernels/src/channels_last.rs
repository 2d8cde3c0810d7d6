//! Images whose channels come first, as planes, written with their channels last, pixel by pixel; from float32 or float16 to
//! either, rounded as by [`convert`](mod@crate::convert). A network whose convolutions work on channels-last tensors then need
//! not reorder its image.

use std::borrow::Cow;

use crate::convert::{ConvertError, convert};
use crate::device::{CudaStream, DeviceError, DeviceSlice, Kernel};
use crate::tensor::{TensorType, TensorView};

/// Threads of a block, pixels that a thread takes at a time, and the most blocks for an image.
const THREADS: usize = 256;
const EIGHT: usize = 8;
const MOST_BLOCKS: usize = 2048;
/// The most images of a launch: the height of a grid.
const MOST_IMAGES: usize = 65535;
/// Of images with this many channels a thread takes eight pixels at a time, if their planes begin at multiples of
/// [`ALIGNMENT`].
const FEW: std::ops::RangeInclusive<usize> = 2..=4;
const ALIGNMENT: usize = 16;

/// Why channels cannot be put last.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelsLastError {
    /// Other types than float32 and float16.
    #[error(
        "channels are put last from and to float32 and float16, not from {from} to {to}: use these types"
    )]
    Types {
        /// What there is.
        from: TensorType,
        /// What is wanted.
        to: TensorType,
    },
    /// A tensor whose size is not that of whole images.
    #[error(
        "{bytes} bytes of {ty} are not images of {channels} planes of {pixels} values: give whole images"
    )]
    Images {
        /// The tensor's size.
        bytes: usize,
        /// The tensor's type.
        ty: TensorType,
        /// Planes of an image.
        channels: usize,
        /// Values of a plane.
        pixels: usize,
    },
    /// Room for another number of values.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Writes `from`, which is `[N, C, H, W]`, to `out` as `[N, H, W, C]` of the type `to`.
///
/// # Errors
/// [`ChannelsLastError`], but for the GPU's.
pub fn channels_last(from: &TensorView<'_>, to: TensorType, out: &mut [u8]) -> Result<(), ChannelsLastError> {
    let [_, channels, height, width] = from.dims[..] else {
        let [channels, pixels] = [1, from.dims.iter().product()];
        return Err(ChannelsLastError::Images { bytes: from.bytes().len(), ty: from.ty, channels, pixels });
    };
    let size = [channels, height * width];
    if check((from.ty, from.bytes().len()), (to, out.len()), size)? == 0 {
        return Ok(());
    }
    let planes = if from.ty == to {
        Cow::Borrowed(from.bytes())
    } else {
        let mut converted = vec![0; out.len()];
        convert(from, to, &mut converted)?;
        Cow::Owned(converted)
    };
    match to.size() {
        2 => interleave::<2>(&planes, size, out),
        _ => interleave::<4>(&planes, size, out),
    }
    Ok(())
}

/// Images of planes to pixels, of values of `N` bytes.
fn interleave<const N: usize>(planes: &[u8], [channels, pixels]: [usize; 2], out: &mut [u8]) {
    let (planes, _) = planes.as_chunks::<N>();
    let (out, _) = out.as_chunks_mut::<N>();
    for (planes, out) in planes.chunks_exact(channels * pixels).zip(out.chunks_exact_mut(channels * pixels)) {
        for (channel, plane) in planes.chunks_exact(pixels).enumerate() {
            for (pixel, value) in out.chunks_exact_mut(channels).zip(plane) {
                pixel[channel] = *value;
            }
        }
    }
}

/// Checks that the types are supported, and that both sizes are those of the same whole images. Returns the number of images.
fn check(
    (from, from_bytes): (TensorType, usize),
    (to, to_bytes): (TensorType, usize),
    [channels, pixels]: [usize; 2],
) -> Result<usize, ChannelsLastError> {
    let is_float = |ty| matches!(ty, TensorType::Float32 | TensorType::Float16);
    if !is_float(from) || !is_float(to) {
        return Err(ChannelsLastError::Types { from, to });
    }
    let image = channels.checked_mul(pixels).and_then(|values| values.checked_mul(from.size()));
    let images = match image {
        Some(0) if from_bytes == 0 => 0,
        Some(image) if image > 0 && from_bytes.is_multiple_of(image) => from_bytes / image,
        _ => return Err(ChannelsLastError::Images { bytes: from_bytes, ty: from, channels, pixels }),
    };
    if (from_bytes / from.size()).checked_mul(to.size()) != Some(to_bytes) {
        return Err(ConvertError::Size { from, from_bytes, to, to_bytes }.into());
    }
    Ok(images)
}

/// `Params` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    from: u64,
    to: u64,
    pixels: u64,
    eights: u64,
    channels: u64,
}

const _: () = assert!(size_of::<Arguments>() == 40);

/// [`channels_last`] on a GPU: the same values, save that a NaN may have other bits. One launch for up to 65535 images.
#[derive(Clone, Debug)]
pub struct CudaChannelsLast {
    wide_to_wide: Kernel,
    wide_to_half: Kernel,
    half_to_wide: Kernel,
    half_to_half: Kernel,
}

impl CudaChannelsLast {
    /// In the context of `stream`.
    ///
    /// # Errors
    /// [`ChannelsLastError::Device`].
    pub fn new(stream: &CudaStream) -> Result<Self, ChannelsLastError> {
        let load = |name| Kernel::load(stream.context(), "channels_last", name);
        Ok(Self {
            wide_to_wide: load("wide_to_wide")?,
            wide_to_half: load("wide_to_half")?,
            half_to_wide: load("half_to_wide")?,
            half_to_half: load("half_to_half")?,
        })
    }

    /// Enqueues the work on all images of `from`, which have `channels` channels of `pixels` pixels, and returns at once. Both
    /// slices are aligned to their elements and do not overlap; it is fastest with 2 to 4 channels, where planes begin at
    /// multiples of 16 bytes.
    ///
    /// # Errors
    /// [`ChannelsLastError`].
    pub fn start(
        &self,
        stream: &CudaStream,
        from: DeviceSlice<'_>,
        from_type: TensorType,
        to: DeviceSlice<'_>,
        to_type: TensorType,
        [channels, pixels]: [usize; 2],
    ) -> Result<(), ChannelsLastError> {
        let images = check((from_type, from.bytes()), (to_type, to.bytes()), [channels, pixels])?;
        let kernel = match (from_type, to_type) {
            (TensorType::Float32, TensorType::Float32) => &self.wide_to_wide,
            (TensorType::Float32, _) => &self.wide_to_half,
            (_, TensorType::Float32) => &self.half_to_wide,
            _ => &self.half_to_half,
        };
        // Then the images after the first one are aligned as well.
        let aligned = (from.pointer() | to.pointer()).is_multiple_of(ALIGNMENT as u64)
            && [from_type, to_type].iter().all(|ty| (pixels * ty.size()).is_multiple_of(ALIGNMENT));
        let eights = if aligned && FEW.contains(&channels) { pixels / EIGHT } else { 0 };
        let blocks = pixels.div_ceil(EIGHT * THREADS).min(MOST_BLOCKS);
        let values = channels * pixels;
        for first in (0..images).step_by(MOST_IMAGES) {
            let count = (images - first).min(MOST_IMAGES);
            let arguments = Arguments {
                from: from.after(first * values * from_type.size()).pointer(),
                to: to.after(first * values * to_type.size()).pointer(),
                pixels: pixels as u64,
                eights: eights as u64,
                channels: channels as u64,
            };
            let [blocks, count, threads] =
                [blocks, count, THREADS].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            // SAFETY: the kernels' parameter is this struct; both slices hold this many images from these addresses on, as
            // checked above, and stay as their makers promised.
            unsafe { stream.launch(kernel, [blocks, count, 1], [threads, 1, 1], 0, &arguments)? };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    }

    #[test]
    fn planes_become_pixels_in_each_image_whatever_the_types() {
        // Two images of three channels, two rows and three columns: image, channel and pixel as digits.
        let digits = |image: u16, channel: u16, pixel: u16| f32::from(100 * image + 10 * channel + pixel);
        let all = |n: u16| 0..n;
        let planes: Vec<f32> =
            all(2).flat_map(|i| all(3).flat_map(move |c| all(6).map(move |p| digits(i, c, p)))).collect();
        let wanted: Vec<f32> =
            all(2).flat_map(|i| all(6).flat_map(move |p| all(3).map(move |c| digits(i, c, p)))).collect();
        let halves = |values: &[f32]| -> Vec<u8> {
            values.iter().flat_map(|v| f16::from_f32(*v).to_ne_bytes()).collect()
        };
        for (from, data) in [
            (TensorType::Float32, bytemuck::cast_slice(&planes).to_vec()),
            (TensorType::Float16, halves(&planes)),
        ] {
            let image = TensorView::new("x", from, &[2, 3, 2, 3], &data).unwrap();
            let mut wide = vec![0; 36 * 4];
            channels_last(&image, TensorType::Float32, &mut wide).unwrap();
            assert_eq!(floats(&wide), wanted, "{from}");
            let mut half = vec![0; 36 * 2];
            channels_last(&image, TensorType::Float16, &mut half).unwrap();
            assert_eq!(half, halves(&wanted), "{from}");
        }
    }

    #[test]
    fn what_is_no_image_of_floats_and_room_of_another_size_are_refused() {
        let refusal = |ty, dims: &[usize], bytes: usize, to, room: usize| {
            let data = vec![0; bytes];
            let image = TensorView::new("x", ty, dims, &data).unwrap();
            channels_last(&image, to, &mut vec![0; room]).unwrap_err().to_string()
        };
        use TensorType::{Float16, Float32, UInt8};
        assert!(refusal(UInt8, &[1, 3, 1, 2], 6, UInt8, 6).contains("not from uint8 to uint8"));
        assert!(refusal(Float32, &[3, 1, 2], 24, Float32, 24).contains("24 bytes of float32 are not images"));
        assert!(refusal(Float32, &[1, 3, 1, 2], 24, Float16, 24).contains("24 bytes of float16"));
        let size = [3, 2];
        assert_eq!(check((Float16, 24), (Float32, 48), size), Ok(2));
        let error = check((Float16, 26), (Float32, 52), size).unwrap_err();
        assert!(error.to_string().contains("images of 3 planes of 2 values"), "{error}");
        assert!(check((Float16, 24), (Float32, 48), [usize::MAX, 2]).is_err());
    }

    #[test]
    fn no_images_are_nothing_to_do() {
        for dims in [[0, 3, 4, 4], [1, 0, 4, 4], [1, 3, 0, 4]] {
            let image = TensorView::new("x", TensorType::Float32, &dims, &[]).unwrap();
            assert_eq!(channels_last(&image, TensorType::Float16, &mut []), Ok(()));
        }
    }
}
