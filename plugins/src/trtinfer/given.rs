//! The property `constants`: values of inputs that may change while frames flow, and the names of the classes that change with them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gst::glib;

use crate::model::sidecar::labels;
use crate::model::{Array, ModelInfo};
use crate::strings;

/// The field with the names of the classes.
const LABELS: &str = "labels";

/// What the property gives.
#[derive(Debug)]
pub(super) struct Given {
    /// Distinguishes it from what was given before.
    pub number: u64,
    /// By the inputs' names.
    pub values: BTreeMap<String, GivenValue>,
    /// The names of the classes; an empty list where they have none.
    pub labels: Option<Vec<String>>,
}

/// The value of an input.
#[derive(Debug)]
pub(super) enum GivenValue {
    Array(Array),
    Numbers(Vec<f64>),
    /// Elements of the input's type.
    Bytes(Arc<[u8]>),
}

impl Given {
    /// Reads the structure, and the files that it names.
    ///
    /// # Errors
    /// A sentence: a field is nothing that an input can take, or a file cannot be used.
    pub fn read(structure: &gst::StructureRef) -> Result<Self, String> {
        let (mut values, mut names) = (BTreeMap::new(), None);
        for (name, value) in structure.iter() {
            if name == LABELS {
                names = Some(read_labels(value)?);
            } else {
                values.insert(name.to_string(), read_value(name, value)?);
            }
        }
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Ok(Self { number: COUNT.fetch_add(1, Ordering::Relaxed) + 1, values, labels: names })
    }

    /// What is known of a model, with the names of the classes that are given, if any are.
    pub fn info_with(given: Option<&Self>, info: &ModelInfo) -> ModelInfo {
        let labels = given.and_then(|given| given.labels.as_ref());
        labels.map_or_else(|| info.clone(), |labels| info.with_labels(labels))
    }
}

fn read_labels(value: &glib::SendValue) -> Result<Vec<String>, String> {
    if let Some(file) = strings::path(value) {
        return labels(&file).map_err(|e| e.to_string());
    }
    let names = items(value)
        .and_then(|items| items.iter().map(|text| strings::text(text)).collect::<Option<Vec<_>>>());
    names.ok_or_else(|| {
        "labels of the property constants are neither texts nor the name of a file. Write labels=<cat,dog>, or labels=classes.txt".into()
    })
}

fn read_value(name: &str, value: &glib::SendValue) -> Result<GivenValue, String> {
    if let Some(file) = strings::path(value) {
        let read = Array::read(Path::new(&file), name);
        return read.map(GivenValue::Array).map_err(|why| {
            format!(
                "the file '{}' that the property constants names for {name} cannot be used: {why}",
                file.display()
            )
        });
    }
    if let Ok(buffer) = value.get::<gst::Buffer>() {
        let map = buffer.map_readable().map_err(|e| format!("the buffer for {name} cannot be read: {e}"))?;
        return Ok(GivenValue::Bytes(map.as_slice().into()));
    }
    let number = |value: &glib::SendValue| {
        let number = value.transform::<f64>().ok().filter(|_| value.type_() != glib::Type::STRING)?;
        number.get::<f64>().ok()
    };
    let numbers = match items(value) {
        Some(items) => items.iter().map(number).collect(),
        None => number(value).map(|number| vec![number]),
    };
    numbers.map(GivenValue::Numbers).ok_or_else(|| {
        format!(
            "the property constants gives {name} a value of type {}. Set the name of a .npy or .npz file, numbers as <0.5,1.5>, or a \
             GstBuffer with its elements",
            value.type_()
        )
    })
}

/// The elements of a list or array.
fn items(value: &glib::SendValue) -> Option<Vec<glib::SendValue>> {
    let array = value.get::<gst::Array>().map(|array| array.as_slice().to_vec());
    array.or_else(|_| value.get::<gst::List>().map(|list| list.as_slice().to_vec())).ok()
}
