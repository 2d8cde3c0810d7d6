//! The output of a model that a property or the sidecar names.

use cudainfer_kernels::tensor::TensorDesc;

/// The one of `outputs` that has the name that `property` is `set` to, or else the sidecar's; none where neither names one.
///
/// # Errors
/// A sentence: the model has no such output.
pub(crate) fn named<'a>(
    outputs: &'a [TensorDesc],
    property: &str,
    set: &str,
    sidecar: Option<&str>,
) -> Result<Option<&'a TensorDesc>, String> {
    let Some(name) = Some(set).filter(|name| !name.is_empty()).or(sidecar) else { return Ok(None) };
    let missing = || {
        format!("the model has no output '{name}'; it has {}. Set {property} to one of them", list(outputs))
    };
    outputs.iter().find(|output| output.name == name).map(Some).ok_or_else(missing)
}

/// Checks that the tables of a sidecar's section are named after outputs.
///
/// # Errors
/// A sentence about the first that is not.
pub(crate) fn tables_name_outputs<'a>(
    outputs: &[TensorDesc],
    section: &str,
    mut tables: impl Iterator<Item = &'a String>,
) -> Result<(), String> {
    match tables.find(|name| outputs.iter().all(|output| output.name != **name)) {
        None => Ok(()),
        Some(unknown) => Err(format!(
            "the sidecar has a table [{section}.{unknown}], but the model has no output '{unknown}'; it has {}",
            list(outputs)
        )),
    }
}

/// All outputs, as part of a sentence.
pub(crate) fn list(outputs: &[TensorDesc]) -> String {
    outputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_comes_before_the_sidecar_and_an_unknown_name_lists_the_outputs() {
        let outputs = ["a:float32:1x2", "b:int64:3"].map(|text| text.parse::<TensorDesc>().unwrap());
        let name = |set: &str, sidecar| {
            named(&outputs, "tensor", set, sidecar).map(|found| found.map(|output| output.name.clone()))
        };
        assert_eq!(name("", None), Ok(None));
        assert_eq!(name("b", Some("a")), Ok(Some("b".into())));
        assert_eq!(name("", Some("a")), Ok(Some("a".into())));
        let sentence =
            "the model has no output 'c'; it has a:float32:1x2, b:int64:3. Set tensor to one of them";
        assert_eq!(name("c", Some("a")), Err(sentence.to_owned()));
    }
}
