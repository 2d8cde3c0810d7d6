//! Key files, as GLib's `GKeyFile` reads them and with its words for what is wrong: sections in brackets, and keys with values.

use std::collections::BTreeMap;

/// Sections with their keys; values have no space around them.
pub(super) struct KeyFile(pub(super) BTreeMap<String, BTreeMap<String, String>>);

impl KeyFile {
    /// Reads the text of a file. Of a section that is there twice the keys come together, of a key that is there twice the last counts.
    ///
    /// # Errors
    /// The sentence that GLib has for it.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut current = None;
        for whole in text.split('\n') {
            let whole = whole.strip_suffix('\r').unwrap_or(whole);
            let line = whole.trim_start_matches(is_space);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = section(line) {
                if name.is_empty() || name.contains(|c: char| c == '[' || c.is_control()) {
                    return Err(format!("Invalid group name: {name}"));
                }
                sections.entry(name.to_owned()).or_default();
                current = Some(name);
                continue;
            }
            let (key, value) = line.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
                format!("Key file contains line “{whole}” which is not a key-value pair, group, or comment")
            })?;
            let keys = current.and_then(|name: &str| sections.get_mut(name));
            let keys = keys.ok_or("Key file does not start with a group")?;
            let key = key.trim_end_matches(is_space);
            if !is_key(key) {
                return Err(format!("Invalid key name: {key}"));
            }
            keys.insert(key.to_owned(), value.trim_start_matches(is_space).to_owned());
        }
        for keys in sections.values_mut() {
            for (key, value) in keys {
                *value = unescaped(value).ok_or_else(|| {
                    format!("Key file contains key “{key}” which has a value that cannot be interpreted.")
                })?;
            }
        }
        Ok(Self(sections))
    }
}

/// C's `isspace`.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// The name of the section that begins with this line.
fn section(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    rest.chars().all(|c| matches!(c, ' ' | '\t')).then_some(name)
}

/// Whether a key has this name, which may end with a locale in brackets.
fn is_key(name: &str) -> bool {
    let (own, locale) = name.split_once('[').map_or((name, None), |(own, locale)| (own, Some(locale)));
    let is_locale = |locale: &str| {
        let inner = locale.strip_suffix(']');
        inner.is_some_and(|inner| {
            inner.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@'))
        })
    };
    !own.is_empty()
        && !own.contains(']')
        && !own.starts_with(' ')
        && !own.ends_with(' ')
        && locale.is_none_or(is_locale)
}

/// A value without its escapes and the space around it; `None` for an escape that is none.
fn unescaped(value: &str) -> Option<String> {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next()? {
                's' => ' ',
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keys_and_escapes_are_read_as_glib_reads_them() {
        let text = "# first\r\n\n [a b]\t\nkey = one  \r\nname[de_DE]=\\ttwo\\\\three\\s\n#key=2\n[c]\n[a b]\nkey=last\n x y=\n";
        let KeyFile(sections) = KeyFile::of(text).unwrap();
        assert_eq!(sections.keys().collect::<Vec<_>>(), ["a b", "c"]);
        let keys: Vec<_> = sections["a b"].iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(keys, [("key", "last"), ("name[de_DE]", "two\\three"), ("x y", "")]);
    }

    #[test]
    fn what_is_wrong_is_said_in_glibs_words() {
        for (text, sentence) in [
            (
                "[a]\nno key",
                "Key file contains line “no key” which is not a key-value pair, group, or comment",
            ),
            ("[a]\n=1", "Key file contains line “=1” which is not a key-value pair, group, or comment"),
            ("[a] b", "Key file contains line “[a] b” which is not a key-value pair, group, or comment"),
            ("a=1", "Key file does not start with a group"),
            ("[]", "Invalid group name: "),
            ("[a[b]", "Invalid group name: a[b"),
            ("[a]\nb[c=1", "Invalid key name: b[c"),
            ("[a]\nb=\\x", "Key file contains key “b” which has a value that cannot be interpreted."),
            ("[a]\nb=1\\", "Key file contains key “b” which has a value that cannot be interpreted."),
        ] {
            assert_eq!(KeyFile::of(text).err().as_deref(), Some(sentence), "{text}");
        }
    }
}
