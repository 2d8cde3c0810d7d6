//! One negotiated stream: what its frames carry, checked against the model, and how one of them is inferred.

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use half::f16;

use crate::caps;
use crate::engine::{ConstantValue, Engine, EngineError, ImageInput, Input, ModelInfo, Session, SizeOf};
use crate::meta::tensor::TensorSet;
use crate::nick::nick;
use crate::sync::lock;

/// What is the same for every frame until the caps change.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// The tensor that each frame brings.
    image: TensorDesc,
    dims: [usize; 4],
    /// Inputs other than the image: description, dimensions and elements.
    constants: Vec<(TensorDesc, Vec<usize>, gst::Buffer)>,
    /// What comes out; dimensions that depend on the picture stay open.
    outputs: Vec<TensorDesc>,
}

impl Stream {
    /// Checks caps against the model.
    ///
    /// # Errors
    /// A sentence that says what was offered and what is needed, or that the model does not run.
    pub fn new(caps: &gst::CapsRef, engine: &Engine) -> Result<Self, String> {
        let wanted = &engine.input;
        if !caps::has_tensors(caps) {
            return Err(format!(
                "frames arrive without a tensor, and the model wants {}: put fusedpreproc before this element",
                wish(wanted)
            ));
        }
        let s = caps.structure(0).ok_or("the caps are empty")?;
        let int = |field| s.get::<i32>(field).ok().and_then(|v| usize::try_from(v).ok());
        let text = |field| s.get::<&str>(field).unwrap_or("?");
        let (width, height) = (int("tensor-width").unwrap_or(0), int("tensor-height").unwrap_or(0));
        let fits = wanted.width.is_none_or(|w| w == width)
            && wanted.height.is_none_or(|h| h == height)
            && int("tensor-channels") == Some(wanted.channels)
            && text("tensor-type") == wanted.ty.name()
            && text("tensor-layout") == nick(wanted.layout);
        if !fits || width == 0 || height == 0 {
            return Err(format!(
                "the model wants {}, and what is before this element offers {}x{width}x{height} {} {}: drop \
                 fusedpreproc's properties that differ, or change the model",
                wish(wanted),
                int("tensor-channels").unwrap_or(0),
                text("tensor-type"),
                text("tensor-layout"),
            ));
        }
        let frame = [int("width").unwrap_or(0), int("height").unwrap_or(0)];
        let constants = engine
            .inputs
            .iter()
            .filter(|desc| desc.name != wanted.name)
            .map(|desc| constant(desc, &engine.info, [width, height], frame))
            .collect::<Result<_, _>>()?;
        let dims = wanted.dims(width, height);
        let image = TensorDesc::fixed(wanted.name.as_str(), wanted.ty, &dims);
        let mut stream = Self { image, dims, constants, outputs: engine.outputs.clone() };
        stream.complete(engine).map_err(|e| e.to_string())?;
        Ok(stream)
    }

    /// Replaces the input tensor on a frame by the model's outputs.
    ///
    /// # Errors
    /// The frame's tensor is not the negotiated one, or ONNX Runtime fails.
    pub fn infer(&self, session: &mut Session, buffer: &mut gst::BufferRef) -> Result<(), EngineError> {
        let mut set = TensorSet::take(buffer)
            .ok_or_else(|| EngineError::Run("a frame came without a tensor".into()))?;
        let given = set.tensors.iter().find(|t| t.desc.name == self.image.name).or(set.tensors.first());
        let given = given
            .filter(|t| (t.desc.ty, &t.desc.dims) == (self.image.ty, &self.image.dims))
            .ok_or_else(|| EngineError::Run(format!("a frame came without the tensor {}", self.image)))?;
        let outputs = session.run(&self.inputs(&given.data), &self.outputs)?;
        set.tensors = outputs;
        set.put(buffer);
        Ok(())
    }

    fn inputs<'a>(&'a self, image: &'a gst::Buffer) -> Vec<Input<'a>> {
        let image = Input { name: &self.image.name, ty: self.image.ty, dims: &self.dims, data: image };
        let constants = self.constants.iter();
        let constants =
            constants.map(|(desc, dims, data)| Input { name: &desc.name, ty: desc.ty, dims, data });
        std::iter::once(image).chain(constants).collect()
    }

    /// The outputs' descriptions at this input size.
    pub fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    /// Where the model leaves dimensions of its outputs open they are found by running it once on zeros; those that
    /// come out empty depend on the picture and stay open.
    fn complete(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let known = |desc: &TensorDesc| desc.dims.iter().all(Option::is_some);
        let Some(session) = engine.sessions.first().filter(|_| !engine.outputs.iter().all(known)) else {
            return Ok(());
        };
        let bytes = self.dims.iter().product::<usize>() * self.image.ty.size();
        let zeros = gst::Buffer::from_slice(vec![0; bytes]);
        let made = lock(session).run_on_host(&self.inputs(&zeros))?;
        let described = made.into_iter().map(|t| {
            let dims = t.desc.dims.iter().map(|d| d.filter(|d| *d > 0)).collect();
            TensorDesc { dims, ..t.desc }
        });
        self.outputs = described.collect();
        Ok(())
    }
}

/// The image input in words: `3x416x416 float32 nchw in 'images'`.
fn wish(input: &ImageInput) -> String {
    let size = |v: Option<usize>| v.map_or_else(|| "?".to_owned(), |v| v.to_string());
    format!(
        "{}x{}x{} (channels x width x height) {} {} in '{}'",
        input.channels,
        size(input.width),
        size(input.height),
        input.ty,
        nick(input.layout),
        input.name
    )
}

/// The bytes of an input that is not the image.
fn constant(
    desc: &TensorDesc,
    info: &ModelInfo,
    input: [usize; 2],
    frame: [usize; 2],
) -> Result<(TensorDesc, Vec<usize>, gst::Buffer), String> {
    let value = info.constants.get(&desc.name).ok_or_else(|| {
        format!(
            "the model has a second input, {desc}: give it a value in the sidecar, [constants] {} = [numbers], \
             \"input-height-width\" or \"frame-height-width\"",
            desc.name
        )
    })?;
    let pair = |[w, h]: [usize; 2]| vec![h as f64, w as f64];
    let numbers = match value {
        ConstantValue::Numbers(numbers) => numbers.clone(),
        ConstantValue::Size(SizeOf::InputHeightWidth) => pair(input),
        ConstantValue::Size(SizeOf::FrameHeightWidth) => pair(frame),
    };
    // One open dimension takes what is left of the numbers; further ones are 1.
    let fixed: usize = desc.dims.iter().flatten().product();
    let mut left = numbers.len() / fixed.max(1);
    let dims: Vec<usize> =
        desc.dims.iter().rev().map(|d| d.unwrap_or_else(|| std::mem::replace(&mut left, 1))).collect();
    let dims: Vec<usize> = dims.into_iter().rev().collect();
    if dims.iter().product::<usize>() != numbers.len() {
        return Err(format!(
            "the sidecar's constant {} has {} numbers, which do not fill {desc}",
            desc.name,
            numbers.len()
        ));
    }
    let mut bytes = Vec::with_capacity(numbers.len() * desc.ty.size());
    for n in numbers {
        // `as` saturates: an integer input cannot hold more.
        match desc.ty {
            TensorType::Float32 => bytes.extend((n as f32).to_ne_bytes()),
            TensorType::Float16 => bytes.extend(f16::from_f64(n).to_ne_bytes()),
            TensorType::UInt8 => bytes.push(n as u8),
            TensorType::Int8 => bytes.extend((n as i8).to_ne_bytes()),
            TensorType::Int32 => bytes.extend((n as i32).to_ne_bytes()),
            TensorType::Int64 => bytes.extend((n as i64).to_ne_bytes()),
        }
    }
    Ok((desc.clone(), dims, gst::Buffer::from_slice(bytes)))
}
