//! The trtinfers of a pipeline without a source, with which those of its streams are compared.

use cudainfer_launch::elements;
use std::collections::BTreeMap;

use gst::prelude::*;

use super::parse::parse;
use crate::config::FilledDescription;
use cudainfer_launch::properties::texts;

/// The properties of a pipeline's trtinfers where no source sets anything, by element.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Defaults(BTreeMap<String, BTreeMap<String, String>>);

impl Defaults {
    /// Those of a description that was filled for no source in particular.
    ///
    /// # Errors
    /// A sentence: the description does not parse.
    pub fn of(filled: &FilledDescription) -> Result<Self, String> {
        let bin = parse(filled)?;
        let networks = elements::of_factory(&bin, "trtinfer").into_iter();
        Ok(Self(networks.map(|element| (element.name().to_string(), texts(&element))).collect()))
    }

    /// The properties of the trtinfer of this name.
    pub fn properties(&self, element: &str) -> Option<&BTreeMap<String, String>> {
        self.0.get(element)
    }

    /// The models of the trtinfers.
    pub fn models(&self) -> impl Iterator<Item = &String> {
        self.0.values().filter_map(|properties| properties.get("model"))
    }

    /// The name of the trtinfer of this name, or of the only one.
    ///
    /// # Errors
    /// A sentence: there is none, or there are several.
    pub fn network(&self, element: Option<&str>) -> Result<String, String> {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        match (element, names.as_slice()) {
            (Some(name), _) if self.0.contains_key(name) => Ok(name.to_owned()),
            (None, [only]) => Ok((*only).to_owned()),
            (_, []) => Err("its line has no trtinfer, or each source fills it in for itself".into()),
            _ => Err(format!(
                "it has the trtinfers {}: name one of them, as PIPELINE/ELEMENT",
                names.join(", ")
            )),
        }
    }
}
