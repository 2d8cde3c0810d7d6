//! GLib's key files, the form that DeepStream reads: `[group]`, `key=value`, comments that begin with `#`.
//!
//! Own code, because the report names lines, which none of glib's `KeyFile`, `rust-ini` and `configparser` keeps with the
//! values. A test compares it with `glib::KeyFile`.

use super::groups::{Entry, Groups};

/// Reads a key file.
///
/// # Errors
/// The line, and a sentence: a line is neither a group, a key nor a comment, or a key stands before the first group.
pub(super) fn parse(text: &str) -> Result<Groups, (usize, String)> {
    let mut groups = Groups::default();
    let mut open = None;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let number = index + 1;
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let Some(name) = name.trim_end().strip_suffix(']').filter(|n| !n.is_empty()) else {
                return Err((number, format!("'{}' is no group: it must end with ']'", line.trim_end())));
            };
            open = Some(groups.open(name, number));
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err((number, format!("'{}' is neither [group] nor key=value", line.trim_end())));
        };
        let Some(place) = open else {
            return Err((number, format!("the key '{}' stands before the first [group]", key.trim_end())));
        };
        groups.add(place, Entry::new(key.trim_end(), &unescape(value.trim_start()), number));
    }
    Ok(groups)
}

/// A value with GLib's escapes replaced. Other backslashes stay, as in a path of Windows.
fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        let escaped = match (c, rest.clone().next()) {
            ('\\', Some('s')) => ' ',
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some('\\')) => '\\',
            _ => {
                out.push(c);
                continue;
            }
        };
        out.push(escaped);
        rest.next();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GLib, and so DeepStream, reads of a text.
    fn by_glib(text: &str) -> Vec<(String, String, String)> {
        let file = glib::KeyFile::new();
        file.load_from_data(text, glib::KeyFileFlags::NONE).unwrap();
        let mut all = Vec::new();
        for group in file.groups().iter() {
            for key in file.keys(group).unwrap().iter() {
                all.push((group.to_string(), key.to_string(), file.string(group, key).unwrap().to_string()));
            }
        }
        all
    }

    #[test]
    fn groups_keys_and_values_are_those_that_glib_reads() {
        let text = "# a comment\n\n  [source0]\nenable = 1\n uri= file:///a b#c.mp4\nlist=1;2;3;\ncontainer=1 # mp4\n\
                    [sink0]\nempty=\npath=C\\\\x\\ty\n[source0]\nenable=0\nlate=yes\n";
        let ours: Vec<_> = parse(text)
            .unwrap()
            .groups
            .into_iter()
            .flat_map(|g| g.entries.into_iter().map(move |e| (g.name.clone(), e.key, e.value)))
            .collect();
        let mut sorted = (ours, by_glib(text));
        sorted.0.sort();
        sorted.1.sort();
        // glib lists a repeated key twice, with one value.
        sorted.1.dedup();
        assert_eq!(sorted.0, sorted.1);
    }

    #[test]
    fn lines_are_counted_from_one_and_repeated_keys_are_kept_apart() {
        let groups = parse("[a]\nx=1\n\n# y\nx=2\n").unwrap();
        assert_eq!((groups.groups[0].line, groups.groups[0].entries[0].line), (1, 5));
        assert_eq!((groups.repeated[0].entry.line, groups.repeated[0].by_line), (2, 5));
    }

    #[test]
    fn what_is_no_key_file_is_refused_with_its_line() {
        for (text, line) in [("[a]\nnonsense\n", 2), ("x=1\n", 1), ("[a\n", 1), ("[]\n", 1)] {
            assert_eq!(parse(text).map(|_| ()).unwrap_err().0, line, "{text}");
        }
    }
}
