//! Masks on a video buffer: the untagged custom meta `GstCudaInferMaskMeta`.
//!
//! Its `GstStructure` can be read from any language (`gst_buffer_get_custom_meta`). It has one field, `masks`, a
//! `GstValueArray` of structures:
//!
//! | field | type | what it is |
//! |---|---|---|
//! | `kind` | string | `classes`: each byte is the number of a class. `alpha`: the value of a channel, 0..255 for 0..1. `instance`: 1 inside the object, 0 elsewhere |
//! | `width`, `height` | int | samples in a row, and number of rows |
//! | `data` | `GstBuffer` | one byte for each sample, dense, row-major. On a GPU it is downloaded when it is first mapped for reading |
//! | `x`, `y`, `w`, `h` | double | the rectangle that the mask covers, in frame pixels; it may reach beyond the frame |
//! | `labels` | array of string | `classes`: names by number. `alpha`: the name of the channel |
//! | `background` | int | `classes`: the number of the background, -1 if there is none |
//! | `object` | int | `instance`: the `id` of the region of interest that the mask belongs to |

use cudainfer_kernels::detect::Extent;
use cudainfer_kernels::geometry::Rect;

use super::list;
use crate::strings;

/// The meta's name.
pub const NAME: &str = "GstCudaInferMaskMeta";

/// Its field.
const MASKS: &str = "masks";

/// The tensor that gpunms adds of models with a mask head: `[n, M]` float32, row `i` belongs to the `i`-th of the `n` objects in
/// [`OBJECTS`].
pub const COEFFICIENTS: &str = "mask-coefficients";

/// The tensors that gpunms adds of models that give a map for each query or box: `[n]` int32, number `i` says which of the maps
/// belongs to the `i`-th of the `n` objects in [`OBJECTS`]. The maps cover the network's input, or, if the tensor has the second
/// name, their boxes.
pub const ROWS: &str = "mask-rows";
/// See [`ROWS`].
pub const BOX_ROWS: &str = "box-mask-rows";

/// The tensor that gpunms adds with one of these: `[n]` int32, the ids of the objects that it put on the frame.
pub const OBJECTS: &str = "mask-objects";

/// The name of the tensor with the numbers of maps that cover this.
pub(crate) fn rows_name(extent: Extent) -> &'static str {
    match extent {
        Extent::Input => ROWS,
        Extent::Box => BOX_ROWS,
    }
}

/// Registers the meta; called once, when the plugin loads.
pub fn register() {
    list::register(NAME);
}

/// The meaning of a mask's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaskKind {
    /// The number of a class.
    Classes {
        /// Their names by number.
        labels: Vec<String>,
        /// The class of the background.
        background: Option<u8>,
    },
    /// The probability that something is there, 0..255.
    Alpha {
        /// The channel's name.
        label: String,
    },
    /// 1 where an object is, else 0.
    Instance {
        /// The object's id.
        object: i32,
    },
}

/// A mask, and where it lies on the frame.
#[derive(Clone, Debug)]
pub struct Mask {
    /// The meaning of its bytes.
    pub kind: MaskKind,
    /// Samples in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// A byte a sample, dense, row-major, on the host or on the device.
    pub data: gst::Buffer,
    /// The rectangle that it covers, in pixels of the frame.
    pub rect: Rect,
}

impl Mask {
    fn to_structure(&self) -> gst::Structure {
        let side = |v: usize| i32::try_from(v).unwrap_or(i32::MAX);
        let names = |labels: &[String]| gst::Array::new(labels.iter().map(String::as_str));
        let s = gst::Structure::builder("mask")
            .field("width", side(self.width))
            .field("height", side(self.height))
            .field("data", &self.data)
            .field("x", f64::from(self.rect.x))
            .field("y", f64::from(self.rect.y))
            .field("w", f64::from(self.rect.w))
            .field("h", f64::from(self.rect.h));
        match &self.kind {
            MaskKind::Classes { labels, background } => s
                .field("kind", "classes")
                .field("labels", names(labels))
                .field("background", background.map_or(-1, i32::from)),
            MaskKind::Alpha { label } => {
                s.field("kind", "alpha").field("labels", names(std::slice::from_ref(label)))
            }
            MaskKind::Instance { object } => s.field("kind", "instance").field("object", *object),
        }
        .build()
    }

    fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let number = |name: &str| s.get::<f64>(name).ok().map(|v| v as f32);
        let side = |name: &str| usize::try_from(s.get::<i32>(name).ok()?).ok();
        let names = || strings::list(s, "labels");
        let kind = match &*strings::field(s, "kind")? {
            "classes" => MaskKind::Classes {
                labels: names()?,
                background: u8::try_from(s.get::<i32>("background").ok()?).ok(),
            },
            "alpha" => MaskKind::Alpha { label: names()?.pop()? },
            "instance" => MaskKind::Instance { object: s.get::<i32>("object").ok()? },
            _ => return None,
        };
        Some(Self {
            kind,
            width: side("width")?,
            height: side("height")?,
            data: s.get::<gst::Buffer>("data").ok()?,
            rect: Rect { x: number("x")?, y: number("y")?, w: number("w")?, h: number("h")? },
        })
    }
}

/// Adds masks to those that a buffer carries.
pub fn put(buffer: &mut gst::BufferRef, masks: &[Mask]) {
    if !masks.is_empty() {
        list::extend(buffer, NAME, MASKS, masks.iter().map(Mask::to_structure));
    }
}

/// Removes the masks after the first `kept`, but for those of kind `alpha`.
pub(super) fn remove_after(kept: usize, buffer: &mut gst::BufferRef) {
    let is_alpha = |mask: &gst::StructureRef| strings::field(mask, "kind").as_deref() == Some("alpha");
    list::retain(buffer, NAME, MASKS, |place, mask| place < kept || is_alpha(mask));
}

/// Whether a buffer carries masks.
pub fn any(buffer: &gst::BufferRef) -> bool {
    list::is_there(buffer, NAME)
}

/// The masks on a buffer, in the order in which they were put there.
pub fn masks(buffer: &gst::BufferRef) -> Vec<Mask> {
    list::read(buffer, NAME, MASKS, Mask::from_structure).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_come_back_as_they_were_put_also_from_a_copy_and_from_two_elements() {
        gst::init().unwrap();
        register();
        let rect = Rect { x: -1.5, y: 2.0, w: 30.25, h: 4.0 };
        let mask = |kind| Mask { kind, width: 2, height: 1, data: gst::Buffer::from_slice([0u8, 1]), rect };
        let labels = vec!["nothing".to_owned(), "person".to_owned()];
        let first = [
            mask(MaskKind::Classes { labels: labels.clone(), background: Some(0) }),
            mask(MaskKind::Classes { labels, background: None }),
        ];
        let second =
            [mask(MaskKind::Alpha { label: "person".into() }), mask(MaskKind::Instance { object: 7 })];
        let mut buffer = gst::Buffer::new();
        put(buffer.get_mut().unwrap(), &[]);
        assert!(masks(&buffer).is_empty());
        put(buffer.get_mut().unwrap(), &first);
        let copy = buffer.copy();
        put(buffer.get_mut().unwrap(), &second);
        let wanted: Vec<_> = first.iter().chain(&second).map(|m| m.kind.clone()).collect();
        let found = masks(&buffer);
        assert_eq!(found.iter().map(|m| m.kind.clone()).collect::<Vec<_>>(), wanted);
        assert!(found.iter().all(|m| m.rect == rect && (m.width, m.height) == (2, 1)));
        assert_eq!(found[0].data.map_readable().unwrap().as_slice(), [0, 1]);
        assert_eq!(masks(&copy).len(), 2, "the copy has its own");
    }
}
