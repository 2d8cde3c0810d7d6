//! Elements as a pipeline description has them.

use std::fmt;

/// A factory and the properties that are set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    factory: &'static str,
    properties: Vec<(&'static str, String)>,
}

impl Element {
    pub(super) fn new(factory: &'static str) -> Self {
        Self { factory, properties: Vec::new() }
    }

    /// With a property.
    pub(super) fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.properties.push((name, value.to_string()));
        self
    }

    /// With another value of a property that is set already.
    pub(super) fn replaced(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        for property in self.properties.iter_mut().filter(|(n, _)| *n == name) {
            property.1 = value.to_string();
        }
        self
    }

    /// With a property, if it has a value.
    pub(super) fn with_some(self, name: &'static str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.factory)?;
        for (name, value) in &self.properties {
            write!(f, " {name}={}", quoted(value))?;
        }
        Ok(())
    }
}

/// A value in quotation marks, if gst_parse_launch would not take it as one word.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+={}".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_one_word_are_quoted() {
        let element = Element::new("gpunms").with("classes", "traffic light,car").with("iou", 0.5);
        assert_eq!(element.to_string(), r#"gpunms classes="traffic light,car" iou=0.5"#);
        assert_eq!(Element::new("x").with("y", r#"a"b\c"#).to_string(), r#"x y="a\"b\\c""#);
    }
}
