//! Key files as GLib reads them: sections in brackets, and keys with values.

use std::collections::BTreeMap;

/// Sections with their keys; values have no space around them.
pub(super) struct KeyFile(pub(super) BTreeMap<String, BTreeMap<String, String>>);

impl KeyFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The sentence that GLib has for it; there is a NUL in it, where GLib would take it to end.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let message = |error: glib::Error| error.message().to_owned();
        if text.contains('\0') {
            return Err("there is a NUL in it, and it must be text".into());
        }
        let file = glib::KeyFile::new();
        file.load_from_data(text, glib::KeyFileFlags::NONE).map_err(message)?;
        let mut sections = BTreeMap::new();
        for section in &file.groups() {
            let keys = file.keys(section).map_err(message)?;
            let pairs = keys.iter().map(|key| {
                let value = file.string(section, key).map_err(message)?;
                Ok((key.to_string(), value.trim().to_owned()))
            });
            sections.insert(section.to_string(), pairs.collect::<Result<_, String>>()?);
        }
        Ok(Self(sections))
    }
}
