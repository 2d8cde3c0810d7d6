//! Which objects a property names by their labels.

use crate::class_name;
use crate::meta::object::Object;

/// The objects that a property names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectChoice {
    /// Every one.
    All,
    /// Those with one of these labels; a number is that of a class.
    Labelled(Vec<String>),
}

impl ObjectChoice {
    /// Reads the value `text` of `property`; `None` if it is not set.
    ///
    /// # Errors
    /// A list without labels.
    pub fn parse(property: &str, text: &str) -> Result<Option<Self>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let names: Vec<_> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        match &names[..] {
            [] => Err(format!(
                "{property}='{text}' names no label. Write labels separated by commas, as in {property}=face,plate, or \
                 {property}=* for all objects"
            )),
            names if names.contains(&"*") => Ok(Some(Self::All)),
            names => Ok(Some(Self::Labelled(names.iter().map(|name| (*name).to_owned()).collect()))),
        }
    }

    /// Whether an object is one of them: by its own label, its class's number, or the best class of a classifier.
    pub fn names(&self, object: &Object) -> bool {
        let Self::Labelled(labels) = self else { return true };
        let id = object.detection.as_ref().map(|detection| detection.label_id);
        labels.iter().any(|label| {
            class_name::names(label, &object.label, id)
                || object.classifications.iter().any(|classes| classes.labels.first() == Some(label))
        })
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::{ClassificationParam, DetectionParam};

    const BOX: Rect = Rect { x: 10.0, y: 30.0, w: 40.0, h: 20.0 };

    fn detected(label: &str, label_id: u32) -> Object {
        let detection = Some(DetectionParam { rect: BOX, confidence: 0.5, label_id });
        Object { label: label.into(), detection, ..Object::default() }
    }

    fn chosen(text: &str, object: &Object) -> bool {
        ObjectChoice::parse("blur", text).unwrap().unwrap().names(object)
    }

    #[test]
    fn labels_class_numbers_a_classifiers_best_class_and_all_are_understood() {
        let face = detected("face", 3);
        for (text, wanted) in [
            ("face", true),
            (" plate , face ,", true),
            ("3", true),
            ("*", true),
            ("plate,*", true),
            ("plate", false),
            ("Face", false),
            ("30", false),
        ] {
            assert_eq!(chosen(text, &face), wanted, "{text}");
        }
        let labels = vec!["child".into(), "adult".into()];
        let classifications = vec![ClassificationParam { labels, ..ClassificationParam::default() }];
        let person = Object { classifications, ..detected("person", 0) };
        assert!(chosen("child", &person) && !chosen("adult", &person));
        assert_eq!(ObjectChoice::parse("blur", ""), Ok(None));
        for text in [",", "  ", " , "] {
            assert!(ObjectChoice::parse("blur", text).unwrap_err().contains("names no label"), "{text}");
        }
    }
}
