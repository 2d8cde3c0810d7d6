//! Which objects are written.

use crate::class_name;
use crate::meta::object::Object;

/// Classes and confidence that objects must have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selection {
    /// Labels or numbers of classes; all, if there are none.
    pub classes: Vec<String>,
    /// The least confidence of objects that have one.
    pub min_confidence: f32,
}

impl Selection {
    /// `classes` as the property has them, separated by commas.
    pub fn new(classes: &str, min_confidence: f32) -> Self {
        let classes = classes.split(',').map(str::trim).filter(|class| !class.is_empty());
        Self { classes: classes.map(str::to_owned).collect(), min_confidence }
    }

    /// Whether objects of this class are wanted.
    pub fn has_class(&self, label: &str, label_id: Option<u32>) -> bool {
        self.classes.is_empty() || self.classes.iter().any(|class| class_name::names(class, label, label_id))
    }

    /// Whether this confidence is enough; that of lost tracks and of points without a detector is not known, which is.
    pub fn is_sure(&self, confidence: Option<f32>) -> bool {
        confidence.is_none_or(|confidence| confidence >= self.min_confidence)
    }

    /// Whether this object is written.
    pub fn has(&self, object: &Object) -> bool {
        let detection = object.detection.as_ref();
        self.has_class(&object.label, detection.map(|d| d.label_id))
            && self.is_sure(detection.map(|d| d.confidence))
    }

    /// The classes that a model with these labels has not.
    pub fn unknown<'a>(&'a self, labels: &'a [String]) -> impl Iterator<Item = &'a str> {
        let classes = self.classes.iter().map(String::as_str);
        classes.filter(|class| class_name::number(class, labels).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::DetectionParam;

    #[test]
    fn objects_are_chosen_by_label_or_number_and_by_confidence_if_they_have_one() {
        let object = |label: &str, detected: Option<(f32, u32)>| Object {
            label: label.into(),
            detection: detected.map(|(confidence, label_id)| DetectionParam {
                rect: cudainfer_kernels::geometry::Rect::default(),
                confidence,
                label_id,
            }),
            ..Object::default()
        };
        let chosen = |classes: &str, min: f32, object: &Object| Selection::new(classes, min).has(object);
        let (car, lost) = (object("car", Some((0.5, 2))), object("car", None));
        for (classes, min, wanted) in [
            ("", 0.0, true),
            ("", 0.5, true),
            ("", 0.51, false),
            (" car , person", 0.25, true),
            ("2", 0.0, true),
            ("person,1", 0.0, false),
        ] {
            assert_eq!(chosen(classes, min, &car), wanted, "{classes} {min}");
        }
        assert!(chosen("car", 0.9, &lost) && !chosen("2", 0.0, &lost));
        let labels = ["person", "car"].map(str::to_owned);
        let selection = Selection::new("car,0,2,dog", 0.0);
        assert_eq!(selection.unknown(&labels).collect::<Vec<_>>(), ["2", "dog"]);
    }
}
