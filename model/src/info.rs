//! What is known about a model besides its tensors.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cudainfer_kernels::detect::DecoderKind;
use cudainfer_kernels::tensor::TensorDesc;

use super::declared::Claim;
use super::onnx::{self, Ending};
use super::origin::{Group, Origin, OriginKind, Origins};
use super::{ModelError, Sidecar, declared, sidecar, sidecar_path};

/// The model's sidecar, completed by what the model itself states; shared.
#[derive(Clone, Debug, Default)]
pub struct ModelInfo(Arc<Known>);

#[derive(Clone, Debug, Default)]
struct Known {
    /// The model's name: that of its file.
    name: Option<String>,
    words: Sidecar,
    origins: Origins,
    /// The layout of the outputs in the words of the model's maker, if no decoder reads it and the sidecar names none.
    unsupported: Option<(Origin, String)>,
    /// What was read inexactly or not at all, a phrase each.
    notes: Vec<String>,
    /// Claims of a file beside the model about tensors that the model's file describes, too, with the file's name.
    claims: Vec<(String, Claim)>,
    /// What the sidecar overrides in a .modelinfo, a phrase each.
    overridden: Vec<String>,
    /// How outputs end in the model's graph.
    endings: BTreeMap<String, Ending>,
}

impl std::ops::Deref for ModelInfo {
    type Target = Sidecar;

    fn deref(&self) -> &Sidecar {
        &self.0.words
    }
}

impl ModelInfo {
    /// Reads the sidecar beside a model, the labels from the file `labels` if it is given, and what these leave open from the
    /// model's file and the files beside it.
    ///
    /// # Errors
    /// A sidecar or a file of labels that cannot be read or is not valid.
    pub fn read(model: &Path, labels: Option<&Path>) -> Result<Self, ModelError> {
        let mut sidecar = Sidecar::beside(model)?;
        let mut origins: Origins = Group::ALL
            .into_iter()
            .filter(|group| group.is_set(&sidecar))
            .map(|group| (group, Origin::of(OriginKind::Sidecar)))
            .collect();
        if labels.is_some() {
            origins.insert(Group::Labels, Origin::of(OriginKind::Property));
        }
        let beside = || Some(sidecar_path(model).with_file_name(sidecar.output.labels_file.as_ref()?));
        if let Some(path) = labels.map(Path::to_owned).or_else(beside) {
            sidecar.output.labels = sidecar::labels(&path)?;
            if sidecar.output.labels.is_empty() {
                sidecar.warnings.push(format!(
                    "the labels file '{}' is empty, so classes are called by their numbers. Write one name per line into it, or \
                     do not set {}",
                    path.display(),
                    if labels.is_some() { "labels" } else { "labels-file in the sidecar's [output]" }
                ));
            }
        }
        if labels.is_some() {
            sidecar.output.labels_file = None;
        }
        for (labels, file) in sidecar.further_labels() {
            if let Some(file) = file {
                *labels = sidecar::labels(&sidecar_path(model).with_file_name(file))?;
            }
        }
        for (name, slice) in &sidecar.classify.slices {
            slice.check_labels(name).map_err(|why| ModelError::Sidecar(sidecar_path(model), why))?;
        }
        sidecar.check_names().map_err(|why| ModelError::Sidecar(sidecar_path(model), why))?;
        let (declared, notes) = declared::read(model);
        let endings = onnx::output_endings(model);
        let name = model.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let mut known = Known { name, words: sidecar, origins, notes, endings, ..Known::default() };
        known.complete(declared);
        Ok(Self(Arc::new(known)))
    }

    /// The model's name; `None` if no element of this plugin has answered.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The contradictions between a file beside the model and the model's inputs and outputs, a sentence each.
    pub fn contradictions(&self, inputs: &[TensorDesc], outputs: &[TensorDesc]) -> Vec<String> {
        let contradictions = self.0.claims.iter().filter_map(|(file, claim)| {
            Some(format!(
                "'{file}' beside the model {}. The model counts",
                claim.contradiction(inputs, outputs)?
            ))
        });
        contradictions.collect()
    }

    /// What the sidecar overrides in a .modelinfo, a phrase each.
    pub fn overridden(&self) -> &[String] {
        &self.0.overridden
    }

    /// The origin of a group of keys; `None` if nothing states it.
    pub fn origin(&self, group: Group) -> Option<&Origin> {
        self.0.origins.get(&group)
    }

    /// Whether the model's maker states the group, and neither a property nor the sidecar does.
    pub fn declares(&self, group: Group) -> bool {
        self.origin(group).is_some_and(Origin::is_declared)
    }

    /// The layout of the outputs in the words of the model's maker, and the origin of these words, if no decoder reads it.
    pub fn unsupported(&self) -> Option<(&Origin, &str)> {
        self.0.unsupported.as_ref().map(|(origin, layout)| (origin, layout.as_str()))
    }

    /// What was read inexactly or not at all, a phrase each.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// The same without the statements of the model's maker in these groups.
    pub fn without(&self, groups: &[Group]) -> Self {
        let mut known = Known::clone(&self.0);
        for group in groups.iter().filter(|group| self.declares(**group)) {
            group.copy(&Sidecar::default(), &mut known.words);
            known.origins.remove(group);
        }
        Self(Arc::new(known))
    }

    /// The same with this name of the only class.
    pub fn with_label(&self, label: &str) -> Self {
        let mut known = Known::clone(&self.0);
        known.words.output.labels = vec![label.to_owned()];
        Self(Arc::new(known))
    }

    /// What is known of the masks in this output: by its own table of the sidecar's `[segment]`, where it has one, and with the names of
    /// their classes.
    pub fn of_masks(&self, output: &str) -> Self {
        let mut known = Known::clone(&self.0);
        known.words.segment = self.segment.of(output);
        if !known.words.segment.labels.is_empty() {
            known.words.output.labels.clone_from(&known.words.segment.labels);
            known.origins.insert(Group::Labels, Origin::of(OriginKind::Sidecar));
        }
        Self(Arc::new(known))
    }

    /// The information from a model with this metadata, for tests.
    #[cfg(test)]
    pub(super) fn declared(words: Sidecar) -> Self {
        let mut known = Known::default();
        let origin = Origin { kind: OriginKind::Metadata, maker: "test".into() };
        known.complete(vec![declared::Declared { origin, words, ..declared::Declared::default() }]);
        Self(Arc::new(known))
    }

    /// The same with these names of the classes, which a property gives.
    pub fn with_labels(&self, labels: &[String]) -> Self {
        let mut known = Known::clone(&self.0);
        known.words.output.labels = labels.to_vec();
        known.words.output.labels_file = None;
        known.origins.insert(Group::Labels, Origin::of(OriginKind::Property));
        Self(Arc::new(known))
    }

    /// The information of a sidecar with these words, for tests.
    #[cfg(any(test, feature = "samples"))]
    pub fn of(words: Sidecar) -> Self {
        Self(Arc::new(Known { words, ..Known::default() }))
    }

    /// The information from a model whose outputs have a layout that no decoder reads, for tests.
    #[cfg(any(test, feature = "samples"))]
    pub fn of_unsupported(maker: &str, layout: &str) -> Self {
        let origin = Origin { kind: OriginKind::Metadata, maker: maker.into() };
        Self(Arc::new(Known { unsupported: Some((origin, layout.into())), ..Known::default() }))
    }

    /// The same with another note.
    pub(super) fn noting(&self, note: String) -> Self {
        let mut known = Known::clone(&self.0);
        known.notes.push(note);
        Self(Arc::new(known))
    }

    /// The sidecar that would state all of it, with another decoder if one was found.
    pub fn to_toml(&self, decoder: Option<DecoderKind>) -> String {
        let mut words = self.0.words.clone();
        words.output.decoder = decoder.or(words.output.decoder);
        words.to_toml()
    }

    /// How the output ends in the model's graph; `None` if that is not known.
    pub fn ending(&self, output: &str) -> Option<Ending> {
        self.0.endings.get(output).copied()
    }

    /// The names of the classes whose scores are in this output: those of its own table, else the model's.
    pub fn labels_of(&self, output: &str) -> &[String] {
        let own = self.classify.heads.get(output).map(|head| head.labels.as_slice());
        own.filter(|labels| !labels.is_empty()).unwrap_or(&self.output.labels)
    }

    /// The name of class `index` of this output, or its number if it has no name.
    pub fn label_of(&self, output: &str, index: u32) -> String {
        name(self.labels_of(output), index)
    }

    /// The name of class `index`, or its number if it has no name.
    pub fn label(&self, index: u32) -> String {
        name(&self.output.labels, index)
    }

    /// The name of keypoint `index`: the skeleton's, else the label, else its number.
    pub fn point(&self, index: u32) -> String {
        let points = &self.skeleton.points;
        name(if points.is_empty() { &self.output.labels } else { points }, index)
    }
}

impl Known {
    /// Fills what is open from sources, the most trustworthy first.
    fn complete(&mut self, declared: Vec<declared::Declared>) {
        // Labels of a sidecar for confidence maps name their points.
        let names_points =
            self.words.peaks != sidecar::Peaks::default() && !self.words.output.labels.is_empty();
        for source in declared {
            let mut taken = false;
            let is_modelinfo = !source.claims.is_empty();
            self.words.warnings.extend(source.warnings);
            let file = source.origin.maker.clone();
            self.claims.extend(source.claims.into_iter().map(|claim| (file.clone(), claim)));
            for group in Group::ALL {
                let named = self.origins.contains_key(&group) || group == Group::Keypoints && names_points;
                if is_modelinfo
                    && group.is_set(&source.words)
                    && self.origins.get(&group).is_some_and(|o| o.kind == OriginKind::Sidecar)
                {
                    let what = if group == Group::Tensors { "[tensors]" } else { "scale, mean and std" };
                    self.overridden.push(format!("{what} of the sidecar override '{file}'"));
                }
                if !named && group.is_set(&source.words) {
                    group.copy(&source.words, &mut self.words);
                    self.origins.insert(group, source.origin.clone());
                    taken |= Group::INPUT.contains(&group);
                }
            }
            if taken {
                self.notes.extend(source.inexact);
            }
            if self.unsupported.is_none() && !self.origins.contains_key(&Group::Decoding) {
                self.unsupported = source.unsupported.map(|layout| (source.origin, layout));
            }
        }
    }
}

fn name(names: &[String], index: u32) -> String {
    let name = usize::try_from(index).ok().and_then(|i| names.get(i));
    name.cloned().unwrap_or_else(|| index.to_string())
}
