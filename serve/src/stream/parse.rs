//! Parsing a pipeline's description, whose keys were filled in. Nothing here knows for which source.

use cudainfer_launch::{elements, properties};
use gst::prelude::*;

use super::naming;
use super::template::Template;
use crate::config::{FilledDescription, Scalar};

/// Whether a description parses.
///
/// # Errors
/// A sentence.
pub fn check_description(filled: &FilledDescription) -> Result<(), String> {
    parse(filled).map(drop)
}

/// Parses a description and sets the values of its keys; its open pads become those of the bin.
pub(super) fn parse(filled: &FilledDescription) -> Result<gst::Bin, String> {
    let template = template(&filled.text);
    let parsed = parse_elements(&template.text);
    let missing = parsed.as_ref().err().is_some_and(|sentence| sentence.starts_with(elements::MISSING));
    if let Some(word) = template.misplaced.filter(|_| !missing) {
        return Err(format!(
            "'{word}' stands where no key can: a key is a value of a property, or a part of one. Write PROPERTY={{key}}, without spaces"
        ));
    }
    let bin = parsed?;
    for slot in &template.slots {
        for element in elements::all(&bin).into_iter().filter(|element| element.name() == slot.element) {
            let text = element
                .find_property(&slot.property)
                .is_some_and(|spec| spec.value_type() == gst::glib::Type::STRING);
            let value = Scalar::Text(slot.value(&filled.values, text)?);
            properties::set(&element, &slot.property, &value)?;
        }
    }
    Ok(bin)
}

/// A description as it is in the configuration, taken apart.
pub(super) fn template(description: &str) -> Template {
    Template::of(&naming::named(description, |word| gst::ElementFactory::find(word).is_some()))
}

fn parse_elements(description: &str) -> Result<gst::Bin, String> {
    let mut context = gst::ParseContext::new();
    let flags = gst::ParseFlags::FATAL_ERRORS | gst::ParseFlags::PLACE_IN_BIN;
    let parsed =
        gst::parse::bin_from_description_with_name_full(description, true, "line", Some(&mut context), flags);
    let bin = parsed.map_err(|e| match elements::missing_in(&context, &e) {
        Some(missing) => elements::missing(&missing),
        None => {
            let syntax = e.matches(gst::ParseError::Syntax);
            let form = ". Write elements as NAME PROPERTY=VALUE, with ! between them, as for gst-launch-1.0";
            format!("the line does not parse: {}{}", e.message(), if syntax { form } else { "" })
        }
    })?;
    bin.downcast::<gst::Bin>().map_err(|_| "the line describes no elements".into())
}
