//! Labels in the property `blur` that no object will ever have: without a warning, the frame would show what should be hidden.

use std::collections::BTreeSet;

use crate::class_name;
use crate::inferoverlay::choice::ObjectChoice;
use crate::meta::mask::{Mask, MaskKind};
use crate::meta::object::Object;

/// Frames after which a label that no object has had is warned about, where the models' labels are not known.
const ENOUGH: u32 = 300;
/// Labels that a warning shows.
const MOST: usize = 30;

/// What is known about the labels that objects may have.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// Those of each model upstream; empty where a model names none.
    models: Vec<Vec<String>>,
    /// The value of `blur` when the notes below were begun.
    choice: Option<ObjectChoice>,
    /// The labels in `blur` that have not been found.
    missing: Vec<String>,
    /// Labels that objects had.
    seen: BTreeSet<String>,
    frames: u32,
}

impl Labels {
    /// The labels of the models upstream are these; a warning about the same ones is not repeated.
    pub fn set_models(&mut self, models: Vec<Vec<String>>) {
        if self.models != models {
            *self = Self { models, ..Self::default() };
        }
    }

    /// Takes in a frame; returns new warnings, each once.
    pub fn examine(
        &mut self,
        choice: Option<&ObjectChoice>,
        objects: &[Object],
        masks: &[Mask],
    ) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.choice.as_ref() != choice {
            self.choice = choice.cloned();
            self.frames = 0;
            self.seen.clear();
            self.missing = match choice {
                Some(ObjectChoice::Labelled(labels)) => labels.clone(),
                _ => Vec::new(),
            };
            // Where all models name their labels, there is no need to wait for objects.
            let all_known = !self.models.is_empty() && self.models.iter().all(|labels| !labels.is_empty());
            if all_known {
                let known: Vec<_> = self.models.concat();
                let has =
                    |label: &str| self.models.iter().any(|own| class_name::number(label, own).is_some());
                self.missing.retain(|label| !has(label));
                let unknown = self.missing.iter();
                warnings.extend(unknown.map(|label| {
                    format!(
                        "blur: no model upstream has a class '{label}', so nothing is blurred for it. There are: {}",
                        shown(known.iter())
                    )
                }));
                self.missing.clear();
            }
            if let Some(ObjectChoice::Labelled(labels)) = choice {
                warnings.extend(labels.iter().filter_map(|label| of_a_mask(label, masks)));
            }
        }
        if self.missing.is_empty() {
            return warnings;
        }
        self.missing.retain(|label| {
            let alone = ObjectChoice::Labelled(vec![label.clone()]);
            !objects.iter().any(|object| alone.names(object))
        });
        if self.seen.len() < MOST {
            self.seen.extend(objects.iter().map(|object| object.label.clone()));
        }
        self.frames += 1;
        if self.frames >= ENOUGH {
            warnings.extend(self.end());
        }
        warnings
    }

    /// At the stream's end, if it was short.
    pub fn end(&mut self) -> Vec<String> {
        let (frames, seen) = (self.frames, &self.seen);
        let there = if seen.is_empty() {
            "none had a label".into()
        } else {
            format!("their labels were: {}", shown(seen.iter()))
        };
        let missing = std::mem::take(&mut self.missing);
        let warning = |label: String| {
            format!(
                "blur: no object in {frames} frames had the label '{label}', so nothing was blurred for it; {there}. \
                 Check how the model spells it"
            )
        };
        missing.into_iter().map(warning).collect()
    }
}

/// The warning about a label that is a class of a mask of the whole frame.
fn of_a_mask(label: &str, masks: &[Mask]) -> Option<String> {
    let has = |mask: &Mask| match &mask.kind {
        MaskKind::Classes { labels, .. } => labels.iter().any(|name| name == label),
        MaskKind::Alpha { label: name } => name == label,
        MaskKind::Instance { .. } => false,
    };
    masks.iter().any(has).then(|| {
        format!(
            "blur: '{label}' is a class of a mask of the whole frame, and only the boxes of objects are blurred. Use a model that \
             detects objects"
        )
    })
}

fn shown<'a>(labels: impl Iterator<Item = &'a String>) -> String {
    let labels: Vec<_> = labels.map(String::as_str).collect();
    let more = if labels.len() > MOST { format!(", … ({} in all)", labels.len()) } else { String::new() };
    format!("{}{more}", labels[..labels.len().min(MOST)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(label: &str) -> Object {
        Object { label: label.into(), ..Object::default() }
    }

    fn choice(text: &str) -> Option<ObjectChoice> {
        ObjectChoice::parse("blur", text).unwrap()
    }

    #[test]
    fn a_label_that_no_model_has_is_warned_about_at_once_with_those_there_are() {
        let words = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
        let mut labels = Labels::default();
        let models = || vec![words(&["face"]), words(&["car", "plate"])];
        labels.set_models(models());
        let warnings = labels.examine(choice("plate,fase,1,9").as_ref(), &[], &[]);
        assert_eq!(warnings.len(), 2);
        assert!(
            warnings[0].contains("'fase'") && warnings[0].contains("face, car, plate"),
            "{}",
            warnings[0]
        );
        assert!(warnings[1].contains("'9'"), "{}", warnings[1]);
        labels.set_models(models());
        assert!(labels.examine(choice("plate,fase,1,9").as_ref(), &[], &[]).is_empty(), "once");
        assert_eq!(labels.examine(choice("face,x").as_ref(), &[], &[]).len(), 1, "again when it is changed");
        assert!(labels.examine(choice("*").as_ref(), &[], &[]).is_empty());
        assert!(labels.end().is_empty());
    }

    #[test]
    fn where_a_model_names_no_labels_the_objects_are_waited_for() {
        for models in [vec![], vec![vec!["car".to_owned()], vec![]]] {
            let (mut labels, blur) = (Labels { models, ..Labels::default() }, choice("face,fase"));
            for _ in 1..ENOUGH {
                assert!(labels.examine(blur.as_ref(), &[called("face"), called("car")], &[]).is_empty());
            }
            let warnings = labels.examine(blur.as_ref(), &[], &[]);
            assert_eq!(warnings.len(), 1);
            assert!(warnings[0].contains("'fase'") && warnings[0].contains("car, face"), "{}", warnings[0]);
            assert!(labels.examine(blur.as_ref(), &[], &[]).is_empty() && labels.end().is_empty(), "once");
        }
        let mut short = Labels::default();
        short.examine(choice("face").as_ref(), &[], &[]);
        assert!(short.end()[0].contains("in 1 frames") && short.end().is_empty());
    }
}
