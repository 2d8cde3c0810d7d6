//! Strings that another program wrote: properties, fields of caps, metadata, queries. GObject and GStreamer pass on any bytes,
//! but Rust's strings are UTF-8, and `Value::get` panics at others, which ends the process. Code outside of this file never reads
//! such strings with it.

use std::path::PathBuf;

use gst::glib;
use gst::prelude::*;

use crate::ignored;

/// Whether a property of any kind may be set to this value: false for a string that is not UTF-8. Then a WARNING is posted, and
/// the property keeps its value. For properties that are names of files, which may be any bytes, there is [`path`].
pub(crate) fn is_text(
    element: &impl IsA<gst::Element>,
    value: &glib::Value,
    pspec: &glib::ParamSpec,
) -> bool {
    let Some(bytes) = value.get::<Option<PathBuf>>().ok().flatten() else { return true };
    if bytes.to_str().is_some() {
        return true;
    }
    gst::element_warning!(
        element,
        gst::LibraryError::Settings,
        (
            "{}: the property {} is set to {bytes:?}, which is not UTF-8: it keeps its value. Set it to text in UTF-8",
            element.as_ref().name(),
            pspec.name()
        )
    );
    false
}

/// A string, whose bytes that are not UTF-8 are replaced by U+FFFD, which is counted; `None`, where it is NULL or no string.
pub(crate) fn text(value: &glib::Value) -> Option<String> {
    let bytes = value.get::<Option<PathBuf>>().ok().flatten()?;
    let text = bytes.into_os_string().into_string();
    Some(text.unwrap_or_else(|bytes| {
        ignored::note(1);
        bytes.to_string_lossy().into_owned()
    }))
}

/// The [`text`] of a field.
pub(crate) fn field(structure: &gst::StructureRef, name: &str) -> Option<String> {
    text(structure.value(name).ok()?)
}

/// The [`text`]s of a field that is an array; `None`, where one of its values is no text.
pub(crate) fn list(structure: &gst::StructureRef, name: &str) -> Option<Vec<String>> {
    structure.get::<gst::ArrayRef>(name).ok()?.iter().map(|value| text(value)).collect()
}

/// The name of a file, whose bytes are taken as they are; none, where it is empty.
pub(crate) fn path(value: &glib::Value) -> Option<PathBuf> {
    // glib takes these by their bytes.
    value.get::<Option<PathBuf>>().ok().flatten().filter(|path| !path.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::Path;

    use super::*;

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push(path);
            }
        }
    }

    /// Whether a line of source text has GLib read a string, or may, because it does not name the type that it reads.
    fn reads_directly(line: &str) -> bool {
        let strings =
            ["get::<String>", "get::<&str>", "get::<Option<String>>", "get::<Option<&str>>", "GString>("];
        // `Value::get` and `Structure::get` return a Result, the `get` of collections an Option.
        let untyped = |name: &str| {
            let Some((_, rest)) = line.split_once(name) else { return false };
            let rest = rest.split_once(')').map_or("", |(_, rest)| rest);
            rest.starts_with(".ok()")
        };
        strings.iter().any(|text| line.contains(text))
            || [" s.get(", "(s.get(", "structure.get(", "structure().get(", "v.get("].into_iter().any(untyped)
    }

    #[test]
    fn strings_of_other_programs_are_read_only_here() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        sources(&root, &mut files);
        // The programs in bin/ read what our elements post, which is UTF-8.
        let is_program = |path: &Path| path.parent().is_some_and(|folder| folder.ends_with("bin"));
        let own =
            |path: &Path| path.ends_with("strings.rs") || path.ends_with("tests.rs") || is_program(path);
        let mut direct = Vec::new();
        for path in files.iter().filter(|path| !own(path)) {
            let text = std::fs::read_to_string(path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().filter(|line| reads_directly(line));
            direct.extend(lines.map(|line| format!("{}: {}", path.display(), line.trim())));
        }
        assert!(
            files.len() > 200 && direct.is_empty(),
            "strings::text, field or list reads any bytes: {direct:#?}"
        );
        assert!(reads_directly("name: s.get(\"name\").ok()?,"));
        assert!(!reads_directly("let x = s.get::<f64>(\"x\").ok()?;"));
    }

    #[test]
    fn any_bytes_are_text_and_those_that_are_not_utf8_are_counted() {
        gst::init().unwrap();
        let value = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec())).to_value();
        ignored::take();
        assert_eq!(text(&value("grün".as_bytes())).as_deref(), Some("grün"));
        assert_eq!((text(&None::<String>.to_value()), text(&1.to_value()), ignored::take()), (None, None, 0));
        assert_eq!((text(&value(b"gr\xfcn")).as_deref(), ignored::take()), (Some("gr\u{fffd}n"), 1));
    }
}
