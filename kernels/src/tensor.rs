//! Tensors as they lie in memory: dense, row-major, named.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::str::FromStr;

use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::words::Words as _;

/// A tensor's element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorType {
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary16.
    Float16,
    /// Unsigned 8-bit integer.
    UInt8,
    /// Signed 8-bit integer.
    Int8,
    /// Signed 32-bit integer.
    Int32,
    /// Signed 64-bit integer.
    Int64,
    /// A byte that is 0 or 1.
    Bool,
}

crate::words! { TensorType:
    Float32 = "float32", "32-bit float";
    Float16 = "float16", "16-bit float";
    UInt8 = "uint8", "Unsigned 8-bit integer";
    Int8 = "int8", "Signed 8-bit integer";
    Int32 = "int32", "Signed 32-bit integer";
    Int64 = "int64", "Signed 64-bit integer";
    Bool = "bool", "A byte that is 0 or 1";
}

impl TensorType {
    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            Self::UInt8 | Self::Int8 | Self::Bool => 1,
            Self::Float16 => 2,
            Self::Float32 | Self::Int32 => 4,
            Self::Int64 => 8,
        }
    }

    /// The name used in caps, sidecars and properties.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TensorType {
    type Err = TensorError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::of_word(s).ok_or_else(|| TensorError::Type(s.into()))
    }
}

/// Name, element type and dimensions of a tensor, as a model declares it. Written `name:float32:1x80x8400`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorDesc {
    /// The model's name for it.
    pub name: String,
    /// Element type.
    pub ty: TensorType,
    /// Dimensions, outermost first; `None` where the model leaves one open.
    pub dims: Vec<Option<usize>>,
}

impl TensorDesc {
    /// A description with all dimensions known.
    pub fn fixed(name: impl Into<String>, ty: TensorType, dims: &[usize]) -> Self {
        Self { name: name.into(), ty, dims: dims.iter().copied().map(Some).collect() }
    }
}

impl fmt::Display for TensorDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.name, self.ty)?;
        for (i, d) in self.dims.iter().enumerate() {
            if i > 0 {
                f.write_str("x")?;
            }
            match d {
                Some(d) => write!(f, "{d}")?,
                None => f.write_str("?")?,
            }
        }
        Ok(())
    }
}

impl FromStr for TensorDesc {
    type Err = TensorError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let bad = || TensorError::Desc(s.into());
        // From the right: names may contain colons (TensorFlow's do).
        let mut parts = s.rsplitn(3, ':');
        let (dims, ty) = (parts.next().ok_or_else(bad)?, parts.next().ok_or_else(bad)?);
        let name = parts.next().ok_or_else(bad)?.to_owned();
        let dims = dims
            .split('x')
            .filter(|d| !d.is_empty())
            .map(|d| if d == "?" { Ok(None) } else { d.parse().map(Some).map_err(|_| bad()) })
            .collect::<Result<_, _>>()?;
        Ok(Self { name, ty: ty.parse()?, dims })
    }
}

/// A tensor's actual dimensions, outermost first: a slice that is held by value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Dims {
    /// 0 from `rank` on.
    sizes: [usize; Self::MOST],
    rank: usize,
}

impl Dims {
    /// The most dimensions a tensor may have.
    pub const MOST: usize = 8;

    /// Checks that `bytes` bytes are exactly the elements that `dims` promise.
    pub(crate) fn new(name: &str, ty: TensorType, dims: &[usize], bytes: usize) -> Result<Self, TensorError> {
        let mut sizes = [0; Self::MOST];
        let Some(slots) = sizes.get_mut(..dims.len()) else {
            return Err(TensorError::Rank { name: name.into(), rank: dims.len() });
        };
        slots.copy_from_slice(dims);
        if dims.iter().try_fold(ty.size(), |n, d| n.checked_mul(*d)) == Some(bytes) {
            return Ok(Self { sizes, rank: dims.len() });
        }
        Err(TensorError::Size { name: name.into(), dims: dims.into(), ty, bytes })
    }

    /// The dimensions of one row of a batch, and where in the batch's `bytes` row `index` lies; none where there is no such row.
    pub(crate) fn row(mut self, index: usize, bytes: usize) -> Option<(Self, Range<usize>)> {
        let rows = *self.first()?;
        (index < rows).then(|| {
            self.sizes[0] = 1;
            let size = bytes / rows;
            (self, index * size..(index + 1) * size)
        })
    }
}

impl Deref for Dims {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.sizes[..self.rank]
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A tensor to read: its data lie dense and row-major in `data`.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    /// The model's name for it.
    pub name: &'a str,
    /// Element type.
    pub ty: TensorType,
    /// Dimensions, outermost first.
    pub dims: Dims,
    /// The elements; [`TensorView::new`] has checked that their number fits the dimensions.
    data: &'a [u8],
}

impl<'a> TensorView<'a> {
    /// Checks that `data` holds exactly the elements that `dims` promise.
    ///
    /// # Errors
    /// [`TensorError::Size`] where it does not, [`TensorError::Rank`] where there are more than [`Dims::MOST`].
    pub fn new(name: &'a str, ty: TensorType, dims: &[usize], data: &'a [u8]) -> Result<Self, TensorError> {
        Ok(Self { name, ty, dims: Dims::new(name, ty, dims, data.len())?, data })
    }

    /// The elements' bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.data
    }

    /// Row `index` of a batch, as a tensor whose first dimension is 1; none where the first dimension is not as large.
    pub fn row(&self, index: usize) -> Option<Self> {
        let (dims, place) = self.dims.row(index, self.data.len())?;
        Some(Self { dims, data: &self.data[place], ..*self })
    }

    /// The elements as float32: borrowed where they are float32 and aligned, converted otherwise. No dequantisation.
    pub fn to_f32(&self) -> Cow<'a, [f32]> {
        fn all<T: bytemuck::AnyBitPattern>(data: &[u8], to: impl Fn(T) -> f32) -> Cow<'_, [f32]> {
            Cow::Owned(
                data.chunks_exact(size_of::<T>()).map(|c| to(bytemuck::pod_read_unaligned(c))).collect(),
            )
        }
        match self.ty {
            TensorType::Float32 => match bytemuck::try_cast_slice(self.data) {
                Ok(floats) => Cow::Borrowed(floats),
                Err(_) => all::<f32>(self.data, |v| v),
            },
            // The slice conversion uses the processor's own instruction where it has one.
            TensorType::Float16 => match bytemuck::try_cast_slice::<u8, f16>(self.data) {
                Ok(halves) => Cow::Owned(halves.to_f32_vec()),
                Err(_) => all::<f16>(self.data, f16::to_f32),
            },
            TensorType::UInt8 | TensorType::Bool => all::<u8>(self.data, f32::from),
            TensorType::Int8 => all::<i8>(self.data, f32::from),
            TensorType::Int32 => all::<i32>(self.data, |v| v as f32),
            TensorType::Int64 => all::<i64>(self.data, |v| v as f32),
        }
    }
}

/// What can be wrong with a tensor or its description.
#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    /// An unknown name of an element type.
    #[error("'{0}' is not a tensor type; the types are float32, float16, uint8, int8, int32 and int64")]
    Type(String),
    /// A description that does not parse.
    #[error(
        "'{0}' does not describe a tensor; write name:type:dimensions, for example scores:float32:1x8400x80"
    )]
    Desc(String),
    /// More dimensions than [`Dims`] holds.
    #[error("tensor '{name}' has {rank} dimensions; at most 8 are read: leave away those of size 1")]
    Rank {
        /// The tensor's name.
        name: String,
        /// How many it has.
        rank: usize,
    },
    /// Data of another size than the dimensions say.
    #[error("tensor '{name}' of {ty} {dims:?} cannot lie in {bytes} bytes")]
    Size {
        /// The tensor's name.
        name: String,
        /// Its dimensions.
        dims: Vec<usize>,
        /// Its element type.
        ty: TensorType,
        /// The number of bytes.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_survive_the_way_through_text() {
        for text in ["images:float32:1x3x?x640", "tower_0/wh:0:float16:1x128x128x4", "scalar:int64:"] {
            assert_eq!(text.parse::<TensorDesc>().unwrap().to_string(), text);
        }
        for bad in ["", "a:b", "a:float32:1y2", "a:double:1"] {
            assert!(bad.parse::<TensorDesc>().is_err(), "{bad}");
        }
    }

    #[test]
    fn half_precision_reads_as_float() {
        let data: Vec<u8> = [0.5f32, -2.0].iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
        let view = TensorView::new("x", TensorType::Float16, &[2], &data).unwrap();
        assert_eq!(view.to_f32().as_ref(), [0.5, -2.0]);
        assert!(TensorView::new("x", TensorType::Float16, &[3], &data).is_err());
        let text = TensorView::new("x", TensorType::UInt8, &[1; 9], &[0]).unwrap_err().to_string();
        assert!(text.contains("'x' has 9 dimensions"), "{text}");
    }

    #[test]
    fn a_row_of_a_batch_is_a_tensor_of_one_frame() {
        let data: Vec<u8> = (0..24).flat_map(|v| f32::to_le_bytes(v as f32)).collect();
        let batch = TensorView::new("x", TensorType::Float32, &[4, 2, 3], &data).unwrap();
        for i in 0..4 {
            let row = batch.row(i).unwrap();
            assert_eq!((row.name, row.ty, &row.dims[..]), ("x", TensorType::Float32, &[1, 2, 3][..]));
            let wanted: Vec<f32> = (6 * i..6 * i + 6).map(|v| v as f32).collect();
            assert_eq!(row.to_f32().as_ref(), wanted);
            // A frame alone is its own first row.
            assert_eq!(row.row(0).unwrap().bytes(), row.bytes());
            assert!(row.row(1).is_none());
        }
        assert!(batch.row(4).is_none());
        assert!(TensorView::new("x", TensorType::Int8, &[], &[1]).unwrap().row(0).is_none());
        assert!(TensorView::new("x", TensorType::Int8, &[0, 2], &[]).unwrap().row(0).is_none());
        let without_anchors = TensorView::new("x", TensorType::Int8, &[3, 0], &[]).unwrap();
        assert_eq!(&without_anchors.row(2).unwrap().dims[..], [1, 0]);
    }
}
