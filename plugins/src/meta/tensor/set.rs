//! The tensors of a frame or a region together, as they are put on a buffer and read back.

use cudainfer_kernels::geometry::{Affine, Rect, RowFrame};
use gst::prelude::*;

use super::{NAME, Tensor};
use crate::meta::batch::Batch;

/// Fields of a [`Region`].
const REGION_FIELDS: [&str; 4] = ["region-x", "region-y", "region-width", "region-height"];
const REGION_ISOLATED: &str = "region-isolated";

const HELD: &str = "held";

/// A part of the frame that is the same in every frame: a tile, or a region of a list. An object belongs to it if the object's
/// centre lies in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// In frame pixels.
    pub rect: Rect,
    /// Whether the tensor shows nothing of the frame around it.
    pub isolated: bool,
}

/// The tensors of a frame, or of a region of it.
#[derive(Clone, Debug)]
pub struct TensorSet {
    /// The network's inputs (after fusedpreproc) or outputs (after trtinfer).
    pub tensors: Vec<Tensor>,
    /// Width and height of the network's input tensor.
    pub input: [usize; 2],
    /// The map from the input tensor to the frame.
    pub to_frame: Affine,
    /// The batch that the tensors are a row of, and which.
    pub batch: Option<(Batch, usize)>,
    /// The object whose region this is; none for the whole frame.
    pub object: Option<i32>,
    /// The region, if it is the same in every frame.
    pub region: Option<Region>,
    /// Whether they were computed of earlier frames, and of nothing in this one.
    pub held: bool,
}

impl TensorSet {
    /// The tensor of this name.
    ///
    /// # Errors
    /// A sentence: there is none.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, String> {
        let found = self.tensors.iter().find(|tensor| tensor.desc.name == name);
        found.ok_or_else(|| format!("a frame came without the tensor '{name}'"))
    }

    /// Where the results for a whole frame of this width and height, or for a region that is the same in every frame, belong.
    pub fn outline(&self, frame: [usize; 2]) -> Rect {
        let [w, h] = frame.map(|side| side as f32);
        self.region.map_or(Rect { x: 0.0, y: 0.0, w, h }, |region| region.rect)
    }

    /// What the object is called that stands for the whole frame, or for a region that is the same in every frame.
    pub fn outline_label(&self) -> &'static str {
        if self.region.is_some() { "region" } else { "frame" }
    }

    /// The batch that the tensors are a row of, and which row; a batch of its own for a frame that comes alone. `frame` is the
    /// frame's width and height.
    pub fn batch(&self, frame: [usize; 2]) -> (Batch, usize) {
        let alone =
            || (Batch::new(self.tensors.clone(), vec![RowFrame { to_frame: self.to_frame, frame }]), 0);
        self.batch.clone().unwrap_or_else(alone)
    }

    fn write(&self, s: &mut gst::StructureRef) {
        let tensors = self.tensors.iter().map(|t| t.to_structure().to_send_value());
        s.set("tensors", gst::Array::from_values(tensors));
        s.set("input-width", i32::try_from(self.input[0]).unwrap_or(i32::MAX));
        s.set("input-height", i32::try_from(self.input[1]).unwrap_or(i32::MAX));
        s.set("scale-x", self.to_frame.scale[0]);
        s.set("scale-y", self.to_frame.scale[1]);
        s.set("offset-x", self.to_frame.offset[0]);
        s.set("offset-y", self.to_frame.offset[1]);
        if let Some((batch, row)) = &self.batch {
            s.set("batch", batch);
            s.set("batch-row", u32::try_from(*row).unwrap_or(u32::MAX));
        }
        if self.held {
            s.set(HELD, true);
        }
        if let Some(object) = self.object {
            s.set("object", object);
            s.set("skew-x", self.to_frame.skew[0]);
            s.set("skew-y", self.to_frame.skew[1]);
        }
        if let Some(Region { rect: Rect { x, y, w, h }, isolated }) = self.region {
            let fields = REGION_FIELDS.into_iter().zip([x, y, w, h]);
            fields.for_each(|(field, value)| s.set(field, f64::from(value)));
            s.set(REGION_ISOLATED, isolated);
        }
    }

    fn read(s: &gst::StructureRef) -> Option<Self> {
        let size = |field| usize::try_from(s.get::<i32>(field).ok()?).ok();
        let skew = |field| s.get::<f64>(field).unwrap_or(0.0);
        let row = s.get::<u32>("batch-row").ok().and_then(|row| usize::try_from(row).ok());
        let tensors = s.get::<gst::ArrayRef>("tensors").ok()?;
        Some(Self {
            tensors: tensors
                .iter()
                .map(|t| Tensor::from_structure(t.get::<&gst::StructureRef>().ok()?))
                .collect::<Option<_>>()?,
            input: [size("input-width")?, size("input-height")?],
            to_frame: Affine {
                scale: [s.get::<f64>("scale-x").ok()?, s.get::<f64>("scale-y").ok()?],
                skew: [skew("skew-x"), skew("skew-y")],
                offset: [s.get::<f64>("offset-x").ok()?, s.get::<f64>("offset-y").ok()?],
            },
            batch: s.get::<Batch>("batch").ok().zip(row),
            object: s.get::<i32>("object").ok(),
            region: region(s),
            held: s.get::<bool>(HELD).unwrap_or(false),
        })
    }

    /// Puts a frame's tensors on its buffer in place of those it carried: one set of the whole frame, or any number of sets of
    /// regions.
    pub fn put(sets: &[Self], buffer: &mut gst::BufferRef) {
        Self::remove(buffer);
        let Ok(mut meta) = gst::meta::CustomMeta::add(buffer, NAME) else { return };
        let s = meta.mut_structure();
        match sets {
            [whole @ Self { object: None, region: None, .. }] => whole.write(s),
            regions => {
                let regions = regions.iter().map(|region| {
                    let mut s = gst::Structure::new_empty("region");
                    region.write(&mut s);
                    s.to_send_value()
                });
                s.set("regions", gst::Array::from_values(regions));
            }
        }
    }

    /// Reads the tensors of a buffer: one set of the whole frame, or those of its regions, which may be none. `None` where it
    /// carries no tensors.
    pub fn of(buffer: &gst::BufferRef) -> Option<Vec<Self>> {
        let meta = gst::meta::CustomMeta::from_buffer(buffer, NAME).ok()?;
        let s = meta.structure();
        match s.get::<gst::ArrayRef>("regions") {
            Ok(regions) => regions.iter().map(|s| Self::read(s.get::<&gst::StructureRef>().ok()?)).collect(),
            Err(_) => Some(vec![Self::read(s)?]),
        }
    }

    /// Removes the tensors from a buffer and returns them.
    pub fn take(buffer: &mut gst::BufferRef) -> Option<Vec<Self>> {
        let sets = Self::of(buffer);
        Self::remove(buffer);
        sets
    }

    fn remove(buffer: &mut gst::BufferRef) {
        while let Ok(meta) = gst::meta::CustomMeta::from_mut_buffer(buffer, NAME) {
            if meta.remove().is_err() {
                break;
            }
        }
    }
}

fn region(s: &gst::StructureRef) -> Option<Region> {
    let [x, y, w, h] = REGION_FIELDS.map(|field| s.get::<f64>(field).ok().map(|value| value as f32));
    let rect = Rect { x: x?, y: y?, w: w?, h: h? };
    Some(Region { rect, isolated: s.get::<bool>(REGION_ISOLATED).ok()? })
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::tensor::{TensorDesc, TensorType};

    use super::*;
    use crate::meta::tensor::register;

    fn set(object: Option<i32>) -> TensorSet {
        let desc = TensorDesc::fixed("image", TensorType::UInt8, &[1, 1, 1, 2]);
        let skew = if object.is_some() { [0.25, -0.5] } else { [0.0, 0.0] };
        TensorSet {
            tensors: vec![Tensor { desc, data: gst::Buffer::from_slice([1u8, 2]) }],
            input: [2, 1],
            to_frame: Affine { scale: [2.0, 3.0], skew, offset: [4.0, 5.0] },
            batch: None,
            object,
            region: None,
            held: false,
        }
    }

    fn of_region(x: f32, isolated: bool) -> TensorSet {
        let region = Region { rect: Rect { x, y: 0.25, w: 3.0, h: 7.0 }, isolated };
        TensorSet { region: Some(region), ..set(None) }
    }

    #[test]
    fn what_was_put_on_a_buffer_is_read_back_be_it_of_a_frame_of_regions_or_of_none() {
        gst::init().unwrap();
        register();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        assert!(TensorSet::of(buffer).is_none());
        for sets in [
            vec![set(None)],
            vec![set(Some(3))],
            vec![set(Some(0)), set(Some(7))],
            vec![of_region(2.0, false)],
            vec![of_region(0.5, true), of_region(9.0, true)],
            vec![],
        ] {
            TensorSet::put(&sets, buffer);
            let read = TensorSet::of(buffer).unwrap();
            let facts = |sets: &[TensorSet]| -> Vec<_> {
                sets.iter()
                    .map(|s| (s.object, s.region, s.to_frame, s.input, s.tensors[0].desc.clone()))
                    .collect()
            };
            assert_eq!(facts(&read), facts(&sets));
        }
        assert_eq!(TensorSet::take(buffer).map(|sets| sets.len()), Some(0));
        assert!(TensorSet::of(buffer).is_none());
    }
}
