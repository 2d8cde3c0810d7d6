//! From a model's numbers to values and classes on the frame, as the sidecar's slices say.

use cudainfer_kernels::classify::{Class, Classifier, ClassifyParams, ValueParams};
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};

use super::objects::{ClassifierParams, put};
use crate::decoding::{Counts, Decode, Side};
use crate::meta::object::{ClassificationParam, Finding, ValuesParam};
use crate::meta::row::OutputRows;
use crate::meta::tensor::TensorSet;
use crate::model::{ModelInfo, Slice, SliceMode};

/// A slice that is ready to be read.
struct NamedSlice {
    channels: [usize; 2],
    reader: SliceReader,
}

enum SliceReader {
    /// Scores of classes. The name is the slice's.
    Class { name: String, labels: Vec<String>, classifier: Box<Classifier> },
    /// Values, and their names.
    Values { names: Vec<String>, params: ValueParams },
}

/// Gives frames, or the objects of their regions, the values and classes that a model's numbers stand for.
pub(super) struct Values {
    rows: OutputRows,
    /// In the order of their channels.
    slices: Vec<NamedSlice>,
    setup: ClassifierParams,
}

/// The slices of an output, in the order of their channels.
///
/// # Errors
/// A sentence: a slice does not name its output though the model has several.
pub(super) fn slices_of<'a>(
    outputs: &[TensorDesc],
    output: &str,
    info: &'a ModelInfo,
) -> Result<Vec<(&'a str, &'a Slice)>, String> {
    let mut slices = Vec::new();
    for (name, slice) in &info.classify.slices {
        let named = slice.output.as_deref().or(info.classify.output.as_deref());
        match (named, outputs) {
            (Some(named), _) if outputs.iter().all(|known| known.name != named) => {
                return Err(format!(
                    "[classify.{name}] of the sidecar is a part of '{named}', but the model has no such output; it has {}",
                    crate::decoding::named::list(outputs)
                ));
            }
            (None, [_, _, ..]) => {
                return Err(format!(
                    "[classify.{name}] of the sidecar has channels, but does not say of which of the model's outputs, {}: add output to it",
                    crate::decoding::named::list(outputs)
                ));
            }
            (Some(named), _) if named != output => {}
            _ => slices.push((name.as_str(), slice)),
        }
    }
    slices.sort_by_key(|(_, slice)| slice.channels);
    Ok(slices)
}

impl NamedSlice {
    fn new(
        name: &str,
        slice: &Slice,
        output: &TensorDesc,
        params: &ClassifyParams,
        info: &ModelInfo,
    ) -> Result<Self, String> {
        let Some(activation) = slice.activation(info.ending(&output.name)) else {
            return Err(format!(
                "[classify.{name}] of the sidecar are scores, but the model's graph does not tell whether '{}' has probabilities. Add \
                 activation to it: \"softmax\" for logits, \"none\" for probabilities",
                output.name
            ));
        };
        let reader = match slice.mode() {
            SliceMode::Class => {
                let scores = TensorDesc::fixed(&output.name, TensorType::Float32, &[1, slice.count()]);
                let classifier = Classifier::new(&scores, ClassifyParams { activation, ..*params });
                let classifier = Box::new(classifier.map_err(|e| e.to_string())?);
                SliceReader::Class { name: name.to_owned(), labels: slice.labels.clone(), classifier }
            }
            SliceMode::Value | SliceMode::Expectation => {
                SliceReader::Values { names: slice.value_names(name), params: slice.values(activation) }
            }
        };
        Ok(Self { channels: slice.channels, reader })
    }
}

/// What is found in one row.
#[derive(Default)]
struct RowFound {
    classes: Vec<ClassificationParam>,
    values: ValuesParam,
    non_finite: usize,
}

impl Values {
    /// Reads the output `setup.scores`, of which `slices` are parts.
    ///
    /// # Errors
    /// A sentence: there is no slice, or one that does not fit the output.
    pub fn new(setup: ClassifierParams, slices: &[(&str, &Slice)]) -> Result<Self, String> {
        let output = &setup.scores;
        if slices.is_empty() {
            return Err(format!(
                "mode is values, but the model's sidecar does not say what the numbers in '{output}' are. Add a table for each of \
                 them, as in [classify.age] with channels = [2, 3], which is the third number"
            ));
        }
        if !matches!(output.ty, TensorType::Float32 | TensorType::Float16) {
            return Err(format!(
                "'{output}' holds no values, which are float32 or float16. Set output to the one that has them"
            ));
        }
        // The first dimension is that of the frames, whatever the model says about it.
        let count = output.dims.iter().skip(1).copied().product::<Option<usize>>();
        for (name, slice) in slices {
            check_end(name, slice.channels, output, count)?;
        }
        let named =
            |(name, slice): &(&str, &Slice)| NamedSlice::new(name, slice, output, &setup.params, &setup.info);
        let named = slices.iter().map(named).collect::<Result<_, _>>()?;
        Ok(Self { rows: OutputRows::new(output.name.clone()), slices: named, setup })
    }

    fn read(&mut self, row: &[f32]) -> Result<RowFound, String> {
        let ClassifierParams { scores, model, .. } = &self.setup;
        let mut found = RowFound::default();
        let mut classes: Vec<Class> = Vec::new();
        let mut values = Vec::new();
        for slice in &mut self.slices {
            let [first, end] = slice.channels;
            let Some(numbers) = row.get(first..end) else {
                check_end("…", slice.channels, scores, Some(row.len()))?;
                continue;
            };
            match &mut slice.reader {
                SliceReader::Class { name, labels, classifier } => {
                    let bytes = bytemuck::cast_slice(numbers);
                    let dims = [1, numbers.len()];
                    let view = TensorView::new(&scores.name, TensorType::Float32, &dims, bytes);
                    let view = view.map_err(|e| e.to_string())?;
                    found.non_finite +=
                        classifier.run(&view, &mut classes).map_err(|e| e.to_string())?.non_finite;
                    if classes.is_empty() {
                        continue;
                    }
                    let label = |class: &Class| {
                        let label = usize::try_from(class.index).ok().and_then(|index| labels.get(index));
                        label.cloned().unwrap_or_else(|| class.index.to_string())
                    };
                    found.classes.push(ClassificationParam {
                        model: model.clone(),
                        output: name.clone(),
                        labels: classes.iter().map(label).collect(),
                        label_ids: classes.iter().map(|class| class.index).collect(),
                        confidence: classes.iter().map(|class| class.confidence.into()).collect(),
                        held: false,
                    });
                }
                SliceReader::Values { names, params } => {
                    values.clear();
                    params.read(numbers, &mut values);
                    for (name, value) in names.iter().zip(&values) {
                        let Some(value) = value else {
                            found.non_finite += 1;
                            continue;
                        };
                        found.values.names.push(name.clone());
                        found.values.values.push(*value);
                    }
                }
            }
        }
        found.values.model.clone_from(model);
        found.values.output.clone_from(&scores.name);
        Ok(found)
    }
}

/// Refuses channels beyond the last.
fn check_end(
    name: &str,
    [first, end]: [usize; 2],
    output: &TensorDesc,
    count: Option<usize>,
) -> Result<(), String> {
    match count.filter(|count| *count < end) {
        None => Ok(()),
        Some(count) => Err(format!(
            "[classify.{name}] of the sidecar has channels = [{first}, {end}], but '{output}' has {count} numbers, of which the last is \
             [{}, {count}]. Correct channels, or set output to the output that has them",
            count.saturating_sub(1)
        )),
    }
}

impl Decode for Values {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        for set in sets {
            // Nothing is computed on the GPU, but device=cuda is a promise about where the tensors are.
            side.on_device(&set.tensors)?;
            let row = self.rows.read(set)?;
            let RowFound { classes, values, non_finite } = self.read(row.values())?;
            counts.add("non-finite", non_finite);
            let values = Some(values).filter(|values| !values.names.is_empty());
            let values = values.map(|values| ValuesParam { held: set.held, ..values });
            let classes =
                classes.into_iter().map(|classes| ClassificationParam { held: set.held, ..classes });
            let findings = classes.map(Finding::Classification);
            let findings: Vec<_> = findings.chain(values.map(Finding::Values)).collect();
            let is_found = !findings.is_empty();
            let size = self.setup.frame;
            let is_put =
                findings.into_iter().fold(is_found, |put_all, found| put(found, set, size, frame) && put_all);
            counts.add("objects", usize::from(is_put));
        }
        Ok(())
    }
}
