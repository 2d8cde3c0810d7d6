//! Conversion of tensors from float32 to float16 and back, and plain copies, on host and device: for a model whose input has
//! another type than the frames' tensors, and to gather these in a batch.
//!
//! float32 is rounded to the nearest float16, halfway to the even one; what is too large becomes infinite. Infinities
//! stay, and so does NaN, whatever its bits.

use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::device::{CudaStream, DeviceError, DeviceSlice, Kernel};
use crate::tensor::{TensorType, TensorView};

/// Threads of a block, values that a thread takes at a time, and the most blocks.
const THREADS: usize = 256;
const EIGHT: usize = 8;
const MOST_BLOCKS: usize = 2048;

/// Why a tensor cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// Types between which there is no conversion.
    #[error("{from} is not converted to {to}, only float32 to float16 and back: use the tensor's own type")]
    Types {
        /// What there is.
        from: TensorType,
        /// What is wanted.
        to: TensorType,
    },
    /// Room for another number of values.
    #[error(
        "{from_bytes} bytes of {from} do not become {to_bytes} bytes of {to}: make room for as many values"
    )]
    Size {
        /// What there is.
        from: TensorType,
        /// Its size.
        from_bytes: usize,
        /// What is wanted.
        to: TensorType,
        /// The room for it.
        to_bytes: usize,
    },
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Writes `from`'s values to `out` as `to`, dense and in the same order.
///
/// # Errors
/// [`ConvertError::Types`], and [`ConvertError::Size`] where `out` has not the values' size.
pub fn convert(from: &TensorView<'_>, to: TensorType, out: &mut [u8]) -> Result<(), ConvertError> {
    check((from.ty, from.bytes().len()), (to, out.len()))?;
    match (from.ty, to) {
        (TensorType::Float32, TensorType::Float16) => {
            let values = from.to_f32();
            match bytemuck::try_cast_slice_mut::<u8, f16>(out) {
                // The slice conversion uses the processor's own instruction where it has one.
                Ok(halves) => halves.convert_from_f32_slice(&values),
                Err(_) => each(&values, out, |v| f16::from_f32(v).to_ne_bytes()),
            }
        }
        (TensorType::Float16, TensorType::Float32) => match bytemuck::try_cast_slice_mut::<u8, f32>(out) {
            Ok(floats) => match bytemuck::try_cast_slice::<u8, f16>(from.bytes()) {
                Ok(halves) => halves.convert_to_f32_slice(floats),
                Err(_) => floats.copy_from_slice(&from.to_f32()),
            },
            Err(_) => each(&from.to_f32(), out, f32::to_ne_bytes),
        },
        _ => out.copy_from_slice(from.bytes()),
    }
    Ok(())
}

fn each<const N: usize>(values: &[f32], out: &mut [u8], to: impl Fn(f32) -> [u8; N]) {
    for (bytes, value) in out.chunks_exact_mut(N).zip(values) {
        bytes.copy_from_slice(&to(*value));
    }
}

/// Checks that the types can be converted, and that both sizes are those of as many values. Returns their number.
fn check(
    (from, from_bytes): (TensorType, usize),
    (to, to_bytes): (TensorType, usize),
) -> Result<usize, ConvertError> {
    let is_float = |ty| matches!(ty, TensorType::Float32 | TensorType::Float16);
    if from != to && !(is_float(from) && is_float(to)) {
        return Err(ConvertError::Types { from, to });
    }
    let values = from_bytes / from.size();
    if values * from.size() != from_bytes || values.checked_mul(to.size()) != Some(to_bytes) {
        return Err(ConvertError::Size { from, from_bytes, to, to_bytes });
    }
    Ok(values)
}

/// `Params` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    from: u64,
    to: u64,
    n: u64,
    eights: u64,
}

const _: () = assert!(size_of::<Arguments>() == 32);

/// [`convert`] on a GPU: the same values, save that a NaN may have other bits. One launch, or one copy.
#[derive(Clone, Debug)]
pub struct CudaConvert {
    halve: Kernel,
    widen: Kernel,
}

impl CudaConvert {
    /// In the context of `stream`.
    ///
    /// # Errors
    /// [`ConvertError::Device`].
    pub fn new(stream: &CudaStream) -> Result<Self, ConvertError> {
        let load = |name| Kernel::load(stream.context(), "convert", name);
        Ok(Self { halve: load("halve")?, widen: load("widen")? })
    }

    /// Enqueues the conversion of all of `from` and returns at once. Both slices are aligned to their elements and do not
    /// overlap; it is fastest where both are aligned to 16 bytes.
    ///
    /// # Errors
    /// As [`convert`], and [`ConvertError::Device`].
    pub fn start(
        &self,
        stream: &CudaStream,
        from: DeviceSlice<'_>,
        from_type: TensorType,
        to: DeviceSlice<'_>,
        to_type: TensorType,
    ) -> Result<(), ConvertError> {
        let values = check((from_type, from.bytes()), (to_type, to.bytes()))?;
        if values == 0 {
            return Ok(());
        }
        if from_type == to_type {
            return Ok(stream.copy_on_device(from, to)?);
        }
        let kernel = if to_type == TensorType::Float16 { &self.halve } else { &self.widen };
        let aligned = (from.pointer() | to.pointer()).is_multiple_of(16);
        let arguments = Arguments {
            from: from.pointer(),
            to: to.pointer(),
            n: values as u64,
            eights: if aligned { (values / EIGHT) as u64 } else { 0 },
        };
        let blocks = values.div_ceil(EIGHT * THREADS).min(MOST_BLOCKS);
        let [blocks, threads] = [blocks, THREADS].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        // SAFETY: the kernels' parameter is this struct; both slices hold this many values, as checked above, and stay as
        // their makers promised.
        unsafe { stream.launch(kernel, [blocks, 1, 1], [threads, 1, 1], 0, &arguments)? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts at an aligned and at an odd address, which must not matter.
    fn run(from: TensorType, to: TensorType, data: &[u8]) -> Result<Vec<u8>, ConvertError> {
        let count = data.len() / from.size();
        let mut results = vec![];
        for skipped in [0, 1] {
            let [mut source, mut room] =
                [data.len(), count * to.size()].map(|bytes| vec![0u64; bytes / 8 + 2]);
            let source = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut source)[skipped..][..data.len()];
            source.copy_from_slice(data);
            let out = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut room)[skipped..][..count * to.size()];
            convert(&TensorView::new("x", from, &[count], source).unwrap(), to, out)?;
            results.push(out.to_vec());
        }
        assert_eq!(results[0], results[1]);
        Ok(results.remove(0))
    }

    fn halves(values: &[f32]) -> Vec<u16> {
        let out = run(TensorType::Float32, TensorType::Float16, bytemuck::cast_slice(values)).unwrap();
        out.chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect()
    }

    #[test]
    fn float32_is_rounded_to_the_nearest_float16_and_halfway_to_the_even_one() {
        let step = f32::exp2(-10.0);
        // 1 and its neighbours in float16 are 0x3bff, 0x3c00, 0x3c01.
        let around = [1.0 + 0.5 * step, 1.0 + 0.5 * step + 1e-7, 1.0 + 1.5 * step, 1.0 - 0.25 * step];
        assert_eq!(halves(&around), [0x3c00, 0x3c01, 0x3c02, 0x3c00]);
        // The largest, what rounds to it, what does not; the smallest subnormal, and half of it.
        assert_eq!(halves(&[65504.0, 65519.0, 65520.0, -1e9]), [0x7bff, 0x7bff, 0x7c00, 0xfc00]);
        assert_eq!(
            halves(&[f32::exp2(-24.0), f32::exp2(-25.0), -0.0, 3.0 * f32::exp2(-25.0)]),
            [1, 0, 0x8000, 2]
        );
        assert_eq!(halves(&[f32::INFINITY, f32::NEG_INFINITY]), [0x7c00, 0xfc00]);
        let [nan] = halves(&[f32::NAN])[..] else { panic!("one") };
        assert!(nan & 0x7c00 == 0x7c00 && nan & 0x3ff != 0);
    }

    #[test]
    fn every_float16_survives_the_way_through_float32() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let wide = run(TensorType::Float16, TensorType::Float32, bytemuck::cast_slice(&all)).unwrap();
        let wide: Vec<f32> =
            wide.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert_eq!((wide[0x3c00], wide[0xc000], wide[1]), (1.0, -2.0, f32::exp2(-24.0)));
        for (bits, back) in all.iter().zip(halves(&wide)) {
            let nan = f16::from_bits(*bits).is_nan();
            assert!(if nan { f16::from_bits(back).is_nan() } else { back == *bits }, "{bits:#x} {back:#x}");
        }
    }

    #[test]
    fn equal_types_are_copied_and_others_refused() {
        assert_eq!(run(TensorType::Int64, TensorType::Int64, &[7; 16]), Ok(vec![7; 16]));
        let error = run(TensorType::UInt8, TensorType::Float32, &[1, 2]).unwrap_err();
        assert_eq!(error, ConvertError::Types { from: TensorType::UInt8, to: TensorType::Float32 });
        let view = TensorView::new("x", TensorType::Float32, &[2], &[0; 8]).unwrap();
        let error = convert(&view, TensorType::Float16, &mut [0; 6]).unwrap_err();
        assert!(error.to_string().contains("8 bytes of float32 do not become 6 bytes of float16"), "{error}");
    }
}
