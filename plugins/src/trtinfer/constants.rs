//! The values of inputs that are the same for every frame: the property's, else the sidecar's, else those that names are known for.

use std::sync::Arc;

use cudainfer_kernels::tensor::TensorDesc;

use super::given::{Given, GivenValue};
use crate::inference::{Constant, Engine, elements, filled, of_one_frame, with_shape};
use crate::log::TRTINFER as CAT;
use crate::model::{Array, ConstantValue, Fill, SizeOf};

/// An input that is neither the image nor a state; `sizes` are the tensor's and the frame's.
///
/// # Errors
/// A sentence: it has no value, or one that does not fit it.
pub(super) fn constant(
    desc: &TensorDesc,
    engine: &Engine,
    given: Option<&Given>,
    [input, frame]: [[usize; 2]; 2],
) -> Result<Constant, String> {
    let target = Target::new(desc, engine);
    if let Some(value) = given.and_then(|given| given.values.get(&desc.name)) {
        return match value {
            GivenValue::Array(array) => target.of_array(array, PROPERTY),
            GivenValue::Numbers(numbers) => target.of_numbers(numbers, PROPERTY),
            GivenValue::Bytes(bytes) => target.of_bytes(bytes),
        };
    }
    let prompt = || engine.prompted.as_ref()?.constant(&desc.name);
    let known = engine.info.constants.get(&desc.name).cloned().or_else(|| known(desc)).or_else(prompt);
    let value = known.ok_or_else(|| {
        format!(
            "the model has a second input, {desc}, which has no value. Give it one in the sidecar: [constants] {} = [numbers], \
             \"input-height-width\", \"input-width-height\" or \"frame-height-width\", a file or one number for all; or in [state], as \
             OUTPUT = \"{}\", if it is what the run before has made, or in [frames], as {} = -1, if it is the picture of an earlier frame",
            desc.name, desc.name, desc.name
        )
    })?;
    let pair = |[w, h]: [usize; 2]| [h as f64, w as f64];
    match value {
        ConstantValue::Numbers(numbers) => target.of_numbers(&numbers, SIDECAR),
        ConstantValue::Size(SizeOf::InputHeightWidth) => target.of_numbers(&pair(input), SIDECAR),
        ConstantValue::Size(SizeOf::InputWidthHeight) => {
            target.of_numbers(&pair([input[1], input[0]]), SIDECAR)
        }
        ConstantValue::Size(SizeOf::FrameHeightWidth) => target.of_numbers(&pair(frame), SIDECAR),
        ConstantValue::Fill(fill) => target.of_fill(&fill),
        ConstantValue::File(_) => {
            let array = engine.arrays.get(&desc.name);
            let array =
                array.ok_or_else(|| format!("the file of the constant {} was not read", desc.name))?;
            target.of_array(array, SIDECAR)
        }
    }
}

/// Checks what the property gives against a model.
///
/// # Errors
/// A sentence: the model has no such input or it has another use, a value does not fit, or names of classes are missing.
pub(super) fn check(given: &Given, engine: &Engine) -> Result<(), String> {
    // How large the dimensions are that the model leaves open: that of the classes is one of them.
    let mut sizes = Vec::new();
    for name in given.values.keys() {
        let Some(desc) = engine.inputs.iter().find(|desc| desc.name == *name) else {
            let all: Vec<_> = engine.inputs.iter().map(|desc| desc.name.as_str()).collect();
            return Err(format!(
                "the property constants names the input '{name}', but the model's inputs are {}. Correct the name",
                all.join(", ")
            ));
        };
        let other_use = match () {
            () if desc.name == engine.input.name => Some("takes the picture"),
            () if engine.earlier.iter().any(|picture| picture.input == *name) => {
                Some("takes an earlier frame")
            }
            () if engine.states.iter().any(|state| state.input.name == *name) => Some("is a state"),
            () if engine.prompted.as_ref().is_some_and(|prompted| prompted.is_fed(name)) => {
                Some("each object of a frame fills")
            }
            () => None,
        };
        if let Some(other_use) = other_use {
            return Err(format!(
                "the property constants names the input '{name}', which {other_use}. Remove it from constants"
            ));
        }
        let made = constant(desc, engine, Some(given), [[0; 2]; 2])?;
        let wanted = Target::new(desc, engine).wanted;
        let open = wanted.iter().zip(&made.dims).filter(|(dim, _)| dim.is_none()).map(|(_, size)| *size);
        let open: Vec<usize> = open.collect();
        if let (None, [size, ..]) = (&given.labels, &open[..]) {
            return Err(format!(
                "the property constants gives {desc} {size} rows, but no names of what they stand for. Add labels=<name,name>, one for \
                 each, or labels=< > if they have none"
            ));
        }
        sizes.extend(open);
    }
    let count = given.labels.as_ref().map_or(0, Vec::len);
    if count > 0 && !sizes.is_empty() && !sizes.contains(&count) {
        let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
        return Err(format!(
            "the property constants has {count} labels for {} rows. Write one for each",
            sizes.join(" or ")
        ));
    }
    Ok(())
}

/// Where a value comes from, in sentences.
const SIDECAR: &str = "the sidecar's constant";
const PROPERTY: &str = "in the property constants,";

/// Bytes that a constant of one number may have, at most: 8 GiB, as a tensor of a run.
const LARGEST: usize = 1 << 33;

/// An input that gets a value.
struct Target<'a> {
    desc: &'a TensorDesc,
    /// Its dimensions for a frame alone.
    wanted: Vec<Option<usize>>,
    batched: bool,
}

impl<'a> Target<'a> {
    fn new(desc: &'a TensorDesc, engine: &Engine) -> Self {
        let (wanted, batched) = of_one_frame(desc, engine.input.batch);
        Self { desc, wanted, batched }
    }

    fn made(&self, dims: Vec<usize>, data: Arc<[u8]>) -> Constant {
        Constant { desc: self.desc.clone(), dims, data, batched: self.batched }
    }

    fn of_numbers(&self, numbers: &[f64], origin: &str) -> Result<Constant, String> {
        let (desc, count) = (self.desc, numbers.len());
        let dims = self.dims_of(count).ok_or_else(|| {
            format!(
                "{origin} {} has {count} numbers, which do not fill {desc}. Write as many numbers as its dimensions multiply to",
                desc.name
            )
        })?;
        Ok(self.made(dims, elements(numbers.iter().copied(), desc.ty).into()))
    }

    fn of_bytes(&self, bytes: &Arc<[u8]>) -> Result<Constant, String> {
        let (desc, size) = (self.desc, self.desc.ty.size());
        let whole = bytes.len().is_multiple_of(size).then(|| self.dims_of(bytes.len() / size)).flatten();
        let dims = whole.ok_or_else(|| {
            format!(
                "{PROPERTY} {} is a buffer of {} bytes, which do not fill {desc}. Set one with as many elements of {size} bytes as its \
                 dimensions multiply to",
                desc.name,
                bytes.len()
            )
        })?;
        Ok(self.made(dims, Arc::clone(bytes)))
    }

    fn of_array(&self, array: &Array, origin: &str) -> Result<Constant, String> {
        let desc = self.desc;
        if array.ty != desc.ty || with_shape(&self.wanted, Some(&array.dims)).is_none() {
            let alone = TensorDesc { dims: self.wanted.clone(), ..desc.clone() };
            return Err(format!(
                "{origin} {} is an array of {array}, but the input is {alone}. Save an array of that type and these dimensions, with any \
                 number where it has '?'",
                desc.name
            ));
        }
        Ok(self.made(array.dims.clone(), Arc::clone(&array.data)))
    }

    fn of_fill(&self, Fill { fill, shape }: &Fill) -> Result<Constant, String> {
        let desc = self.desc;
        let dims = with_shape(&self.wanted, shape.as_deref()).ok_or_else(|| {
            let alone = TensorDesc { dims: self.wanted.clone(), ..desc.clone() };
            format!(
                "{SIDECAR} {} has a shape that is not that of the input {alone}. Write its dimensions, with any number where it has '?'",
                desc.name
            )
        })?;
        let count = product(dims.iter()).filter(|count| *count <= LARGEST / desc.ty.size());
        let count = count.ok_or_else(|| {
            format!("{SIDECAR} {} would have more than 8 GiB. Write a smaller shape", desc.name)
        })?;
        let data = filled(*fill, count, desc.ty).map_err(|e| e.to_string())?;
        Ok(self.made(dims, data.into()))
    }

    /// The dimensions of this many elements: one that is open takes what is left of them, and further ones are 1.
    fn dims_of(&self, count: usize) -> Option<Vec<usize>> {
        // From a file, they may be any numbers: more than can be counted are more than are there.
        let fixed = product(self.wanted.iter().flatten()).unwrap_or(usize::MAX);
        let mut left = count / fixed.max(1);
        let dims = self.wanted.iter().rev();
        let dims: Vec<usize> =
            dims.map(|dim| dim.unwrap_or_else(|| std::mem::replace(&mut left, 1))).collect();
        let dims: Vec<usize> = dims.into_iter().rev().collect();
        (product(dims.iter()) == Some(count)).then_some(dims)
    }
}

/// How many elements a tensor of these dimensions has; none, where that cannot be counted.
fn product<'a>(mut dims: impl Iterator<Item = &'a usize>) -> Option<usize> {
    dims.try_fold(1, |product: usize, dim| product.checked_mul(*dim))
}

/// The value of an input that the sidecar does not name, but whose name detectors give to the size in which they write their
/// boxes: with this value, boxes are in pixels of the input tensor.
fn known(desc: &TensorDesc) -> Option<ConstantValue> {
    let value = match desc.name.as_str() {
        // RT-DETR, D-FINE, DEIM.
        "orig_target_sizes" => ConstantValue::Size(SizeOf::InputWidthHeight),
        // PaddleDetection: the picture's size as it comes to the network, and by how much it was scaled for that.
        "im_shape" => ConstantValue::Size(SizeOf::InputHeightWidth),
        "scale_factor" => ConstantValue::Numbers(vec![1.0, 1.0]),
        _ => return None,
    };
    let two = desc.dims.iter().rev().take(1).all(|dim| dim.is_none_or(|dim| dim == 2));
    if two {
        gst::info!(CAT, "{desc} is taken for what its name says, for boxes in pixels of the input tensor");
    }
    two.then_some(value)
}
