//! Maps of numbers on a video buffer: the untagged custom meta `GstCudaInferMapMeta`.
//!
//! Its `GstStructure` can be read from any language (`gst_buffer_get_custom_meta`). It has one field, `maps`, a
//! `GstValueArray` of structures:
//!
//! | field | type | what it is |
//! |---|---|---|
//! | `name` | string | the model's output |
//! | `type` | string | `float32`, `float16` or `uint8` |
//! | `width`, `height` | int | cells in a row, and number of rows |
//! | `channels` | int | numbers of a cell: 1, or 2 or 3 of a vector |
//! | `layout` | string | with several channels: `nchw`, a channel after the other, or `nhwc`, a cell after the other |
//! | `data` | `GstBuffer` | the numbers, dense, row-major. On a GPU they are downloaded when they are first mapped for reading |
//! | `x`, `y`, `w`, `h` | double | the rectangle that the map covers, in frame pixels; it may reach beyond the frame |
//! | `min`, `mean`, `max` | double | of the finite numbers within the frame; not there if there is none |
//! | `sum` | double | of maps of one channel: the sum of the finite numbers within the frame; not there if there is none |
//! | `counts` | string | what the sum is a number of, if it is |
//! | `non-finite` | uint64 | how many numbers within the frame are NaN or infinity |
//! | `score` | double | the frame's score, if the model has an output for it |
//! | `range-min`, `range-max` | double | on GRAY16 frames: the numbers that 0 and 65535 stand for |

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::TensorType;
use cudainfer_kernels::words::Words as _;

use super::list;
use crate::strings;

/// The meta's name.
pub const NAME: &str = "GstCudaInferMapMeta";

/// Its field.
const MAPS: &str = "maps";

/// Registers the meta; called once, when the plugin loads.
pub fn register() {
    list::register(NAME);
}

/// A map, and where it lies on the frame.
#[derive(Clone, Debug)]
pub struct Map {
    /// The model's output.
    pub name: String,
    /// Type of its numbers.
    pub ty: TensorType,
    /// Cells in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Numbers of a cell.
    pub channels: usize,
    /// Where the channels are, if there are several.
    pub layout: Layout,
    /// The numbers, dense, row-major, on the host or on the device.
    pub data: gst::Buffer,
    /// The rectangle that it covers, in pixels of the frame.
    pub rect: Rect,
    /// Least, mean and greatest of the finite numbers within the frame.
    pub min_mean_max: Option<[f64; 3]>,
    /// The sum of the finite numbers within the frame, of one channel.
    pub sum: Option<f64>,
    /// What the sum is a number of.
    pub counts: Option<String>,
    /// How many numbers within the frame are not finite.
    pub non_finite: u64,
    /// The frame's score.
    pub score: Option<f64>,
    /// The numbers that 0 and 65535 of GRAY16 stand for.
    pub range: Option<[f64; 2]>,
}

impl Map {
    fn to_structure(&self) -> gst::Structure {
        let side = |v: usize| i32::try_from(v).unwrap_or(i32::MAX);
        gst::Structure::builder("map")
            .field("name", &self.name)
            .field("type", self.ty.name())
            .field("width", side(self.width))
            .field("height", side(self.height))
            .field("channels", side(self.channels))
            .field_if("layout", self.layout.word(), self.channels > 1)
            .field("data", &self.data)
            .field("x", f64::from(self.rect.x))
            .field("y", f64::from(self.rect.y))
            .field("w", f64::from(self.rect.w))
            .field("h", f64::from(self.rect.h))
            .field_if_some("min", self.min_mean_max.map(|[min, ..]| min))
            .field_if_some("mean", self.min_mean_max.map(|[_, mean, _]| mean))
            .field_if_some("max", self.min_mean_max.map(|[.., max]| max))
            .field_if_some("sum", self.sum)
            .field_if_some("counts", self.counts.as_deref())
            .field("non-finite", self.non_finite)
            .field_if_some("score", self.score)
            .field_if_some("range-min", self.range.map(|[min, _]| min))
            .field_if_some("range-max", self.range.map(|[_, max]| max))
            .build()
    }

    fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let double = |name: &str| s.get::<f64>(name).ok();
        let side = |name: &str| usize::try_from(s.get::<i32>(name).ok()?).ok();
        let edge = |name: &str| double(name).map(|v| v as f32);
        Some(Self {
            name: strings::field(s, "name")?,
            ty: strings::field(s, "type")?.parse().ok()?,
            width: side("width")?,
            height: side("height")?,
            channels: side("channels")?,
            layout: strings::field(s, "layout").map_or(Some(Layout::Nchw), |word| Layout::of_word(&word))?,
            data: s.get::<gst::Buffer>("data").ok()?,
            rect: Rect { x: edge("x")?, y: edge("y")?, w: edge("w")?, h: edge("h")? },
            min_mean_max: double("min").zip(double("mean")).zip(double("max")).map(|((a, b), c)| [a, b, c]),
            sum: double("sum"),
            counts: strings::field(s, "counts"),
            non_finite: s.get::<u64>("non-finite").ok()?,
            score: double("score"),
            range: double("range-min").zip(double("range-max")).map(|(min, max)| [min, max]),
        })
    }
}

/// Adds a map to those that a buffer carries.
pub fn put(buffer: &mut gst::BufferRef, map: &Map) {
    list::extend(buffer, NAME, MAPS, std::iter::once(map.to_structure()));
}

/// The maps on a buffer, in the order in which they were put there.
pub fn maps(buffer: &gst::BufferRef) -> Vec<Map> {
    list::read(buffer, NAME, MAPS, Map::from_structure).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_come_back_as_they_were_put_also_from_a_copy_and_from_two_elements() {
        gst::init().unwrap();
        register();
        let first = Map {
            name: "depth".into(),
            ty: TensorType::Float16,
            width: 2,
            height: 1,
            channels: 2,
            layout: Layout::Nhwc,
            data: gst::Buffer::from_slice([1u8, 2, 3, 4]),
            rect: Rect { x: -1.5, y: 2.0, w: 30.25, h: 4.0 },
            min_mean_max: Some([0.5, 1.0, 2.5]),
            sum: Some(2.0),
            counts: Some("people".into()),
            non_finite: 3,
            score: Some(0.75),
            range: Some([0.0, 10.0]),
        };
        let second = Map {
            channels: 1,
            layout: Layout::Nchw,
            min_mean_max: None,
            sum: None,
            counts: None,
            score: None,
            range: None,
            ..first.clone()
        };
        let mut buffer = gst::Buffer::new();
        assert!(maps(&buffer).is_empty());
        put(buffer.get_mut().unwrap(), &first);
        let copy = buffer.copy();
        put(buffer.get_mut().unwrap(), &second);
        let found = maps(&buffer);
        assert_eq!((found.len(), maps(&copy).len()), (2, 1));
        for (found, put) in found.iter().zip([first, second]) {
            assert_eq!((&found.name, found.ty, found.rect), (&put.name, put.ty, put.rect));
            assert_eq!((found.width, found.height, found.non_finite), (2, 1, 3));
            assert_eq!(
                (found.min_mean_max, found.score, found.range),
                (put.min_mean_max, put.score, put.range)
            );
            assert_eq!(found.data.map_readable().unwrap().as_slice(), [1, 2, 3, 4]);
        }
    }
}
