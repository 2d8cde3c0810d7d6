//! DeepStream's YAML: groups that hold keys. Deeper values are named by their path, lists are joined by `;`.

use saphyr_parser::{Event, Marker, Parser};

use super::groups::{Entry, Groups};

/// Maximum depth of nested values.
const DEEPEST: usize = 8;

/// Reads the first document.
///
/// # Errors
/// The line, and a sentence: it is no YAML, is not made of groups, has aliases or is nested too deeply.
pub(super) fn parse(text: &str) -> Result<Groups, (usize, String)> {
    // The tracker's files begin with OpenCV's line "%YAML:1.0", which is no valid directive of YAML.
    let text = if text.starts_with("%YAML:") { format!("#{text}") } else { text.to_owned() };
    let mut reader = Reader { groups: Groups::default(), path: Vec::new(), open: Vec::new() };
    for event in Parser::new_from_str(&text) {
        let (event, span) = event.map_err(|e| (e.marker().line(), e.info().to_owned()))?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        reader.take(event, &span.start).map_err(|sentence| (span.start.line(), sentence))?;
    }
    Ok(reader.groups)
}

/// The map or list that is open at the present position.
enum Open {
    Map {
        /// The key whose value comes next.
        key: Option<(String, usize)>,
    },
    List {
        values: Vec<String>,
    },
}

struct Reader {
    groups: Groups,
    /// The keys of the maps that are open.
    path: Vec<(String, usize)>,
    open: Vec<Open>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, at: &Marker) -> Result<(), String> {
        match event {
            Event::Scalar(text, ..) => self.value(&text, at.line()),
            Event::MappingStart(..) => self.start(Open::Map { key: None }),
            Event::SequenceStart(..) => self.start(Open::List { values: Vec::new() }),
            Event::MappingEnd => {
                self.open.pop();
                self.path.pop();
                Ok(())
            }
            Event::SequenceEnd => {
                let Some(Open::List { values }) = self.open.pop() else { return Ok(()) };
                match (self.path.pop(), self.open.last_mut()) {
                    (_, Some(Open::List { values: outer })) => outer.extend(values),
                    (Some((key, line)), _) => self.entry(&key, &values.join(";"), line),
                    _ => return Err("a list stands where a group was expected".into()),
                }
                Ok(())
            }
            Event::Alias(_) => Err("it has an alias, which is not followed".into()),
            _ => Ok(()),
        }
    }

    fn start(&mut self, open: Open) -> Result<(), String> {
        if self.open.len() >= DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} times"));
        }
        match self.open.last_mut() {
            Some(Open::Map { key }) => {
                let (name, line) = key.take().ok_or("a key is no plain word")?;
                if self.path.is_empty() && matches!(open, Open::Map { .. }) {
                    self.groups.open(&name, line);
                }
                self.path.push((name, line));
            }
            Some(Open::List { .. }) if matches!(open, Open::Map { .. }) => {
                self.path.push(("-".into(), 0));
            }
            _ => {}
        }
        self.open.push(open);
        Ok(())
    }

    fn value(&mut self, text: &str, line: usize) -> Result<(), String> {
        match self.open.last_mut() {
            Some(Open::List { values }) => values.push(text.to_owned()),
            Some(Open::Map { key }) => match key.take() {
                None => *key = Some((text.to_owned(), line)),
                Some((name, line)) => self.entry(&name, text, line),
            },
            None => return Err(format!("'{text}' stands where a group was expected")),
        }
        Ok(())
    }

    /// Adds a key to the group that is open; deeper ones are named by their path.
    fn entry(&mut self, key: &str, value: &str, line: usize) {
        let (group, at, inner) = match self.path.split_first() {
            Some(((group, at), inner)) => (group.clone(), *at, inner),
            None => (String::new(), line, &[][..]),
        };
        let mut name: Vec<&str> = inner.iter().map(|(k, _)| k.as_str()).filter(|k| *k != "-").collect();
        name.push(key);
        let name = name.join(".");
        let place = self.groups.open(&group, at);
        self.groups.add(place, Entry::new(&name, value, line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, String, String, usize)> {
        let groups = parse(text).unwrap().groups;
        groups
            .into_iter()
            .flat_map(|g| g.entries.into_iter().map(move |e| (g.name.clone(), e.key, e.value, e.line)))
            .collect()
    }

    #[test]
    fn groups_lists_and_deeper_maps_become_keys_with_their_lines() {
        let text = "source0:\n  uri: file:///a.mp4\n  dims: [3, 544, 960]\ntracker:\n  sub:\n    deep: 1\n";
        let line = |g: &str, k: &str, v: &str, n| (g.to_owned(), k.to_owned(), v.to_owned(), n);
        assert_eq!(
            all(text),
            [
                line("source0", "uri", "file:///a.mp4", 2),
                line("source0", "dims", "3;544;960", 3),
                line("tracker", "sub.deep", "1", 6),
            ]
        );
    }

    #[test]
    fn the_trackers_first_line_is_not_taken_for_a_directive() {
        assert_eq!(all("%YAML:1.0\nBaseConfig:\n  a: 0.5\n")[0].3, 3);
    }

    #[test]
    fn aliases_and_texts_without_groups_are_refused() {
        assert!(parse("a: &x\n  b: 1\nc: *x\n").is_err());
        assert!(parse("just words\n").is_err());
        assert!(parse("a: [1\n").is_err());
    }
}
