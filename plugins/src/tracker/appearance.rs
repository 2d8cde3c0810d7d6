//! The appearance of a frame's objects: embeddings by a second model, or histograms of their boxes.

use std::sync::Arc;

use cudainfer_kernels::appearance::{self, AppearanceError, CudaDescriber, Describer};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_kernels::track::Embeddings;

use super::Appearance;
use super::pixels::Pixels;
use crate::caps;
use crate::meta::object::Object;
use crate::meta::tensor::{Tensor, TensorSet};

/// Makes the embeddings of one frame after the other.
#[derive(Default)]
pub(super) struct Embedder {
    source: Source,
    kind: EmbeddingKind,
    /// Row-major `[detections, length]`.
    values: Vec<f32>,
    length: usize,
}

#[derive(Default)]
enum Source {
    #[default]
    None,
    Cpu(Pixels, Box<Describer>),
    Gpu(Pixels, Box<CudaDescriber>, Arc<CudaStream>),
    /// A second model: the name of its output.
    Model(String),
}

/// Whose embeddings they are: those of two kinds cannot be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum EmbeddingKind {
    #[default]
    None,
    Histogram,
    /// The model, as caps name it, and its output.
    Model(Option<String>, String),
}

/// Whether frames of these caps carry a second model's outputs, of objects' regions.
pub(super) fn has_embeddings(caps: &gst::CapsRef) -> bool {
    caps.iter_with_features().any(|(s, features)| {
        features.contains(caps::FEATURE) && s.get(caps::ROI) == Ok("objects") && s.has_field(caps::OUTPUTS)
    })
}

/// What is wrong with another second model's outputs.
pub(super) fn refusal(caps: &gst::CapsRef, wanted: Option<&str>) -> Option<String> {
    embedding(&outputs(caps), wanted).err()
}

impl Embedder {
    /// For frames of these caps; `stream` gives a GPU's where frames lie there. Returns the kind of embeddings, if it is another.
    pub fn prepare(
        &mut self,
        caps: &gst::Caps,
        appearance: Appearance,
        output: Option<&str>,
        stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
    ) -> Result<Option<&EmbeddingKind>, String> {
        self.source = if has_embeddings(caps) {
            Source::Model(embedding(&outputs(caps), output)?)
        } else if let Some(name) = output {
            return Err(format!(
                "embedding-output names '{name}', but the frames carry no embeddings: put fusedpreproc roi=objects and a \
                 trtinfer with the model that makes them before this element"
            ));
        } else if appearance == Appearance::Histogram {
            histogram(caps, stream)?
        } else {
            Source::None
        };
        let model = caps.structure(0).and_then(|s| s.get::<String>(caps::MODEL).ok());
        let kind = match &self.source {
            Source::None => EmbeddingKind::None,
            Source::Cpu(..) | Source::Gpu(..) => EmbeddingKind::Histogram,
            Source::Model(output) => EmbeddingKind::Model(model, output.clone()),
        };
        let before = std::mem::replace(&mut self.kind, kind);
        Ok(Some(&self.kind).filter(|kind| **kind != before))
    }

    /// The embeddings of those of a frame's objects that are compared, of which these are the boxes.
    pub fn see(
        &mut self,
        buffer: &gst::BufferRef,
        objects: &[Object],
        members: &[bool],
        boxes: &[Rect],
    ) -> Result<(), String> {
        self.values.clear();
        match &mut self.source {
            Source::None => self.length = 0,
            Source::Cpu(..) | Source::Gpu(..) if boxes.is_empty() => (),
            Source::Cpu(pixels, describer) => {
                self.length = appearance::LENGTH;
                pixels
                    .on_host(buffer, |frame| describer.run(frame, boxes, &mut self.values).map_err(failed))?;
            }
            Source::Gpu(pixels, describer, stream) => {
                self.length = appearance::LENGTH;
                pixels.on_device(buffer, stream, |frame| {
                    stream.sampled(|| describer.start(stream, frame, boxes)).map_err(failed)?;
                    describer.finish(stream, &mut self.values).map_err(failed)
                })?;
            }
            Source::Model(output) => {
                let sets = TensorSet::of(buffer).ok_or("a frame came without its tensors")?;
                let members = objects.iter().zip(members).filter(|(_, member)| **member);
                let ids: Vec<i32> = members.map(|(object, _)| object.id).collect();
                self.length = by_model(&sets, output, &ids, &mut self.values)?;
            }
        }
        Ok(())
    }

    /// Whether the frames' tensors are embeddings, which no element downstream needs.
    pub fn used_up_tensors(&self) -> bool {
        matches!(self.source, Source::Model(_))
    }

    /// Those of the last frame.
    pub fn embeddings(&self) -> Embeddings<'_> {
        Embeddings { values: &self.values, length: self.length }
    }
}

fn outputs(caps: &gst::CapsRef) -> Vec<TensorDesc> {
    let listed = caps.structure(0).and_then(|s| s.get::<gst::ArrayRef>(caps::OUTPUTS).ok());
    let listed = listed.iter().flat_map(|array| array.iter());
    listed.filter_map(|v| v.get::<String>().ok()?.parse().ok()).collect()
}

/// The output that holds embeddings.
fn embedding(outputs: &[TensorDesc], wanted: Option<&str>) -> Result<String, String> {
    let names = || outputs.iter().map(|output| format!("'{}'", output.name)).collect::<Vec<_>>().join(", ");
    match (wanted, outputs) {
        (Some(name), _) if outputs.iter().any(|output| output.name == name) => Ok(name.to_owned()),
        (Some(name), _) => {
            Err(format!("embedding-output names '{name}', but the model's outputs are {}", names()))
        }
        (None, [only]) => Ok(only.name.clone()),
        (None, _) => Err(format!("set embedding-output to the model output with the embedding: {}", names())),
    }
}

fn histogram(
    caps: &gst::Caps,
    stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
) -> Result<Source, String> {
    let pixels = Pixels::of(caps, "appearance=histogram", stream)?;
    let format = pixels.format;
    Ok(match pixels.stream.clone() {
        None => Source::Cpu(pixels, Box::new(Describer::new(format).map_err(failed)?)),
        Some(stream) => {
            let describer = CudaDescriber::new(format, &stream).map_err(failed)?;
            Source::Gpu(pixels, Box::new(describer), stream)
        }
    })
}

fn failed(error: AppearanceError) -> String {
    error.to_string()
}

/// Appends the embedding of each object, or zeros where it had no region. Returns the length of one.
fn by_model(sets: &[TensorSet], output: &str, ids: &[i32], values: &mut Vec<f32>) -> Result<usize, String> {
    let missing = || format!("a frame came without the tensor '{output}'");
    // All rows of a batch are read, and downloaded, at once.
    let mut read: Vec<(gst::Buffer, Vec<f32>)> = Vec::new();
    let mut found: Vec<(i32, usize, usize, usize)> = Vec::new();
    for set in sets {
        let Some(object) = set.object else { continue };
        let (batch, row) = set.batch([0, 0]);
        let named = |tensor: &&Tensor| tensor.desc.name == output;
        let tensor = batch.tensors().iter().find(named).ok_or_else(missing)?;
        // Of the one region; there need not be a dimension for the batch.
        let own = set.tensors.iter().find(named).ok_or_else(missing)?;
        let length = own.desc.dims.iter().map(|n| n.unwrap_or(1)).product();
        let known = read.iter().position(|(data, _)| data.as_ptr() == tensor.data.as_ptr());
        let at = match known {
            Some(at) => at,
            None => {
                let mapped = tensor.map().map_err(|e| e.to_string())?;
                let all = mapped.view().map_err(|e| e.to_string())?.to_f32().to_vec();
                read.push((tensor.data.clone(), all));
                read.len() - 1
            }
        };
        found.push((object, at, row, length));
    }
    let length = found.first().map_or(0, |(.., length)| *length);
    for id in ids {
        let start = values.len();
        let own = found.iter().find(|(object, ..)| object == id);
        let own = own.and_then(|(_, at, row, n)| read.get(*at)?.1.get(row * n..(row + 1) * n));
        values.extend_from_slice(own.unwrap_or_default());
        values.resize(start + length, 0.0);
    }
    Ok(length)
}
