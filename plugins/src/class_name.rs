//! How properties name a class: by its label, or by its number, counted from 0 without the background.

/// Whether `name` is the class of this label and number.
pub(crate) fn names(name: &str, label: &str, number: Option<u32>) -> bool {
    name == label || number.is_some() && name.parse().ok() == number
}

/// The number of the class that `name` is in a model with these labels; of one without labels, any number is a class.
pub(crate) fn number(name: &str, labels: &[String]) -> Option<u32> {
    let by_label = labels.iter().position(|label| label == name).and_then(|place| u32::try_from(place).ok());
    let exists = |n: &u32| labels.is_empty() || usize::try_from(*n).is_ok_and(|n| n < labels.len());
    by_label.or_else(|| name.parse().ok().filter(exists))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_its_label_or_its_number_however_that_is_written() {
        for (name, wanted) in [
            ("car", true),
            ("2", true),
            ("02", true),
            ("Car", false),
            ("20", false),
            ("-2", false),
            ("", false),
        ] {
            assert_eq!(names(name, "car", Some(2)), wanted, "{name}");
        }
        assert!(names("car", "car", None) && !names("2", "car", None) && names("7", "7", Some(1)));
    }

    #[test]
    fn labels_come_before_numbers_and_without_labels_every_number_is_a_class() {
        let labels = ["person", "0", "car"].map(str::to_owned);
        for (name, wanted) in
            [("car", Some(2)), ("02", Some(2)), ("0", Some(1)), ("3", None), ("dog", None), ("-1", None)]
        {
            assert_eq!(number(name, &labels), wanted, "{name}");
        }
        assert_eq!((number("3", &[]), number("dog", &[])), (Some(3), None));
    }
}
