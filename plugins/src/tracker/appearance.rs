//! The appearance of a frame's objects: embeddings by a second model, or histograms of their boxes.

use std::sync::Arc;

use cudainfer_kernels::appearance::{self, AppearanceError, CudaDescriber, Describer};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_kernels::track::Embeddings;

use super::Appearance;
use crate::caps;
use crate::meta::object::{EmbeddingParam, Object};
use crate::meta::row::OutputRows;
use crate::meta::tensor::TensorSet;
use crate::pixels::Pixels;
use crate::strings;

/// Makes the embeddings of one frame after the other.
#[derive(Default)]
pub(super) struct Embedder {
    source: EmbeddingSource,
    kind: EmbeddingKind,
    /// Whether frames that cannot be read are no error, with `appearance=auto`.
    optional: bool,
    /// The model's output with the embeddings, where one is named.
    wanted: Option<String>,
    /// Row-major `[detections, length]`.
    values: Vec<f32>,
    length: usize,
}

#[derive(Default)]
enum EmbeddingSource {
    #[default]
    None,
    /// Histograms of frames of these caps, from the first frame on that has a use for them.
    Later(gst::Caps),
    Cpu(Pixels, Box<Describer>),
    Gpu(Pixels, Box<CudaDescriber>, Arc<CudaStream>),
    /// A second model's output, which is read as by an embed upstream of the tracker.
    Model(OutputRows),
}

/// The kind of the embeddings: those of two kinds cannot be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum EmbeddingKind {
    #[default]
    None,
    Histogram,
    /// The model, as caps name it, and its output.
    Model(Option<String>, String),
    /// The kind of objects' embeddings: their model and output.
    Object(String, String),
}

/// Whether frames of these caps carry a second model's outputs, of objects' regions.
pub(super) fn has_embeddings(caps: &gst::CapsRef) -> bool {
    caps.iter_with_features().any(|(s, features)| {
        features.contains(caps::FEATURE) && s.get(caps::ROI) == Ok("objects") && s.has_field(caps::OUTPUTS)
    })
}

/// Why another second model's outputs cannot be used.
pub(super) fn refusal(caps: &gst::CapsRef, wanted: Option<&str>) -> Option<String> {
    embedding(&outputs(caps), wanted).err()
}

impl Embedder {
    /// For frames of these caps; `embedded` says whether an element upstream gives objects embeddings, `stream` gives the GPU's
    /// stream where frames lie there. Returns the kind of embeddings, if it has changed.
    pub fn prepare(
        &mut self,
        caps: &gst::Caps,
        appearance: Appearance,
        output: Option<&str>,
        embedded: bool,
        stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
    ) -> Result<Option<&EmbeddingKind>, String> {
        self.source = if has_embeddings(caps) {
            EmbeddingSource::Model(OutputRows::new(embedding(&outputs(caps), output)?))
        } else if let Some(name) = output.filter(|_| !embedded) {
            return Err(format!(
                "embedding-output names '{name}', but the frames carry no embeddings: put fusedpreproc roi=objects, a \
                 trtinfer with the model that makes them, and embed before this element"
            ));
        } else if appearance == Appearance::Histogram {
            histogram(caps, "appearance=histogram", stream)?
        } else if appearance == Appearance::Auto {
            EmbeddingSource::Later(caps.clone())
        } else {
            EmbeddingSource::None
        };
        self.optional = appearance == Appearance::Auto;
        self.wanted = output.map(str::to_owned);
        if let (
            EmbeddingSource::None
            | EmbeddingSource::Later(_)
            | EmbeddingSource::Cpu(..)
            | EmbeddingSource::Gpu(..),
            EmbeddingKind::Object(..),
        ) = (&self.source, &self.kind)
        {
            // The kind of objects' embeddings is known with the objects.
            return Ok(None);
        }
        let model = caps::loaded_model(caps);
        let kind = match &self.source {
            EmbeddingSource::None => EmbeddingKind::None,
            EmbeddingSource::Later(_) | EmbeddingSource::Cpu(..) | EmbeddingSource::Gpu(..) => {
                EmbeddingKind::Histogram
            }
            EmbeddingSource::Model(output) => EmbeddingKind::Model(model, output.name.clone()),
        };
        let before = std::mem::replace(&mut self.kind, kind);
        Ok(Some(&self.kind).filter(|kind| **kind != before))
    }

    /// Makes what describes histograms, if that has been put off and the frame's objects come without embeddings.
    ///
    /// # Errors
    /// Once: why the frames' pixels cannot be read. There are no histograms then.
    pub fn make_describer(
        &mut self,
        objects: &[Object],
        stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
    ) -> Result<(), String> {
        let EmbeddingSource::Later(caps) = &self.source else { return Ok(()) };
        if objects.iter().any(|object| !object.embeddings.is_empty()) {
            return Ok(());
        }
        let made = histogram(caps, "appearance=auto", stream);
        let (source, result) = match made {
            Ok(source) => (source, Ok(())),
            Err(why) => (EmbeddingSource::None, Err(why)),
        };
        self.source = source;
        result
    }

    /// Gives up histograms that nobody has asked for; whether it has any.
    pub fn give_up(&mut self) -> bool {
        let gives =
            self.optional && !matches!(self.source, EmbeddingSource::None | EmbeddingSource::Model(_));
        if gives {
            (self.source, self.length) = (EmbeddingSource::None, 0);
            self.values.clear();
        }
        gives
    }

    /// The embeddings of those of a frame's objects that are compared, of which these are the boxes; no histograms, unless they are
    /// `wanted`. Returns the kind of embeddings, if it has changed: objects that come with embeddings are compared by these.
    pub fn see(
        &mut self,
        buffer: &gst::BufferRef,
        objects: &[Object],
        members: &[bool],
        boxes: &[Rect],
        wanted: bool,
    ) -> Result<Option<&EmbeddingKind>, String> {
        self.values.clear();
        if !matches!(self.source, EmbeddingSource::Model(_)) {
            let before = self.kind.clone();
            let named = self.wanted.as_deref();
            if let Some(first) = objects.iter().find_map(|object| param(object, named)) {
                self.kind = EmbeddingKind::Object(first.model.clone(), first.output.clone());
            }
            if let EmbeddingKind::Object(model, output) = &self.kind {
                let members = objects.iter().zip(members).filter(|(_, member)| **member);
                let found = members.map(|(object, _)| {
                    param(object, named).filter(|p| p.model == *model && p.output == *output)
                });
                self.length = by_object(found, &mut self.values)?;
                return Ok(Some(&self.kind).filter(|kind| **kind != before));
            }
        }
        match &mut self.source {
            EmbeddingSource::None | EmbeddingSource::Later(_) => self.length = 0,
            EmbeddingSource::Cpu(..) | EmbeddingSource::Gpu(..) if boxes.is_empty() || !wanted => (),
            EmbeddingSource::Cpu(pixels, describer) => {
                self.length = appearance::LENGTH;
                pixels
                    .on_host(buffer, |frame| describer.run(frame, boxes, &mut self.values).map_err(failed))?;
            }
            EmbeddingSource::Gpu(pixels, describer, stream) => {
                self.length = appearance::LENGTH;
                pixels.on_device(buffer, stream, |frame| {
                    stream.sampled(|| describer.start(stream, frame, boxes)).map_err(failed)?;
                    describer.finish(stream, &mut self.values).map_err(failed)
                })?;
            }
            EmbeddingSource::Model(output) => {
                let sets = TensorSet::of(buffer).ok_or("a frame came without its tensors")?;
                let members = objects.iter().zip(members).filter(|(_, member)| **member);
                let ids: Vec<i32> = members.map(|(object, _)| object.id).collect();
                self.length = by_model(&sets, output, &ids, &mut self.values)?;
            }
        }
        Ok(None)
    }

    /// Whether the frames' tensors are embeddings, which no element downstream needs.
    pub fn used_up_tensors(&self) -> bool {
        matches!(self.source, EmbeddingSource::Model(_))
    }

    /// The embeddings of the last frame.
    pub fn embeddings(&self) -> Embeddings<'_> {
        Embeddings { values: &self.values, length: self.length }
    }
}

fn outputs(caps: &gst::CapsRef) -> Vec<TensorDesc> {
    let listed = caps.structure(0).and_then(|s| s.get::<gst::ArrayRef>(caps::OUTPUTS).ok());
    let listed = listed.iter().flat_map(|array| array.iter());
    listed.filter_map(|v| strings::text(v)?.parse().ok()).collect()
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
    reader: &str,
    stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
) -> Result<EmbeddingSource, String> {
    let pixels = Pixels::of(caps, reader, stream)?;
    let format = pixels.format;
    Ok(match pixels.stream.clone() {
        None => EmbeddingSource::Cpu(pixels, Box::new(Describer::new(format).map_err(failed)?)),
        Some(stream) => {
            let describer = CudaDescriber::new(format, &stream).map_err(failed)?;
            EmbeddingSource::Gpu(pixels, Box::new(describer), stream)
        }
    })
}

fn failed(error: AppearanceError) -> String {
    error.to_string()
}

/// The object's embedding: the one from the wanted output, else the first.
fn param<'a>(object: &'a Object, wanted: Option<&str>) -> Option<&'a EmbeddingParam> {
    object.embeddings.iter().find(|p| wanted.is_none_or(|output| p.output == output))
}

/// Appends the embedding of each object, or zeros where it has none, or one of another length than the first. Returns the length
/// of one.
fn by_object<'a>(
    found: impl Iterator<Item = Option<&'a EmbeddingParam>>,
    values: &mut Vec<f32>,
) -> Result<usize, String> {
    let found: Vec<_> = found.collect();
    let length = found.iter().flatten().next().map_or(0, |first| first.length());
    for (number, embedding) in found.iter().enumerate() {
        if let Some(embedding) = embedding.filter(|embedding| embedding.length() == length) {
            embedding.read(values).map_err(|e| e.to_string())?;
        }
        values.resize((number + 1) * length, 0.0);
    }
    Ok(length)
}

/// Appends the embedding of each object, or zeros where it had no region. Returns the length of one.
fn by_model(
    sets: &[TensorSet],
    output: &OutputRows,
    ids: &[i32],
    values: &mut Vec<f32>,
) -> Result<usize, String> {
    let regions = sets.iter().filter_map(|set| Some((set.object?, set)));
    let found = regions.map(|(object, set)| Ok((object, output.read(set)?)));
    let found = found.collect::<Result<Vec<_>, String>>()?;
    let length = found.first().map_or(0, |(_, first)| first.values().len());
    for id in ids {
        let start = values.len();
        let own = found.iter().find(|(object, _)| object == id);
        values.extend_from_slice(own.map_or(&[], |(_, own)| own.values()));
        values.resize(start + length, 0.0);
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embeddings_of_objects_are_those_of_the_output_that_is_named_and_zeros_where_there_is_none() {
        gst::init().unwrap();
        let with = |embeddings: Vec<EmbeddingParam>| Object { embeddings, ..Object::default() };
        let of = |output: &str, values: &[f32]| EmbeddingParam::new("reid", output, true, values);
        let objects = [
            with(vec![of("a", &[1.0, 2.0]), of("b", &[3.0])]),
            with(vec![]),
            with(vec![of("a", &[9.0, 9.0])]),
            with(vec![of("a", &[4.0, 5.0]), of("b", &[6.0])]),
            with(vec![of("a", &[7.0, 8.0, 9.0])]),
        ];
        let members = [true, true, false, true, true];
        let buffer = gst::Buffer::new();
        for (wanted, length, values) in
            [(None, 2, &[1.0, 2.0, 0.0, 0.0, 4.0, 5.0, 0.0, 0.0][..]), (Some("b"), 1, &[3.0, 0.0, 6.0, 0.0])]
        {
            let mut embedder = Embedder { wanted: wanted.map(str::to_owned), ..Embedder::default() };
            let output = wanted.unwrap_or("a").to_owned();
            let kind = embedder.see(&buffer, &objects, &members, &[], true).unwrap();
            assert_eq!(kind, Some(&EmbeddingKind::Object("reid".into(), output)));
            assert_eq!((embedder.embeddings().length, embedder.embeddings().values), (length, values));
            assert_eq!(embedder.see(&buffer, &objects, &members, &[], true).unwrap(), None, "the same kind");
            // A frame whose objects have no embeddings changes nothing.
            assert_eq!(embedder.see(&buffer, &[with(vec![])], &[true], &[], true).unwrap(), None);
            assert_eq!(embedder.embeddings().length, 0);
        }
    }
}
