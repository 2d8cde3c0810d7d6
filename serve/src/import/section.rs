//! One group while it is translated: keys that are read are marked, and each of the others becomes a finding.

use std::path::PathBuf;

use super::document::Document;
use super::groups::{Entry, Group, Repeated};
use super::report::{Finding, Report, Verdict};

/// Keys that have no counterpart, with the reason. A name that ends in `*` stands for all keys with that prefix.
pub(super) type Reasons = &'static [(&'static [&'static str], Verdict, &'static str)];

/// A group of a file, and where findings go.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) document: &'a Document,
    pub(super) group: &'a Group,
    pub(super) report: &'a Report,
}

impl<'a> Section<'a> {
    /// The group of that name, if the document has one.
    pub(super) fn find(document: &'a Document, name: &str, report: &'a Report) -> Option<Self> {
        document.group(name).map(|group| Self { document, group, report })
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        let entry = self.group.entries.iter().find(|e| e.key == key)?;
        entry.read.set(true);
        Some(entry)
    }

    /// The value of a key, if it has one.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.entry(key).map(|e| e.value.trim()).filter(|v| !v.is_empty())
    }

    /// The value as a number. As with GLib, words may follow after a space. A value that is no number is a finding.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        let text = self.text(key)?;
        let number = text
            .split_whitespace()
            .next()
            .and_then(|word| word.parse::<f64>().ok())
            .filter(|n| n.is_finite());
        if number.is_none() {
            self.note(key, Verdict::NotTranslated, "it is no number");
        }
        number
    }

    /// The value as a whole number.
    pub(super) fn integer(&self, key: &str) -> Option<i64> {
        let number = self.number(key)?;
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        if number.fract() == 0.0 && number.abs() < 1e15 {
            return Some(number as i64);
        }
        self.note(key, Verdict::NotTranslated, "it is no whole number");
        None
    }

    /// Whether the value is a number other than 0, or `true`.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.text(key).is_some_and(|v| v == "true") || self.integer_or_word(key) != 0
    }

    fn integer_or_word(&self, key: &str) -> i64 {
        match self.text(key) {
            Some("true" | "false") | None => 0,
            Some(_) => self.integer(key).unwrap_or(0),
        }
    }

    /// The parts of a value between semicolons, without the empty ones.
    pub(super) fn list(&self, key: &str) -> Vec<&'a str> {
        self.text(key)
            .map(|v| v.split(';').map(str::trim).filter(|p| !p.is_empty()).collect())
            .unwrap_or_default()
    }

    /// The numbers between semicolons. If a part is no number, that is a finding and the list is empty.
    pub(super) fn numbers(&self, key: &str) -> Vec<f64> {
        let parts = self.list(key);
        let numbers: Option<Vec<f64>> =
            parts.iter().map(|p| p.parse().ok().filter(|n: &f64| n.is_finite())).collect();
        numbers.unwrap_or_else(|| {
            self.note(key, Verdict::NotTranslated, "one of its parts is no number");
            Vec::new()
        })
    }

    /// A path, relative to the file's folder.
    pub(super) fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(|p| self.document.resolve(p))
    }

    /// The keys of the group, in the order of the file.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.group.entries.iter().map(|e| e.key.as_str())
    }

    /// Whether the group is switched on: DeepStream's `enable`, which must be there.
    pub(super) fn enabled(&self) -> bool {
        let on = self.flag("enable");
        if !on {
            self.group.pass_over();
            self.about(Verdict::NotNeeded, "the group is switched off (enable=0)");
        }
        on
    }

    /// A finding about a key, or about the group if it lacks the key.
    pub(super) fn note(&self, key: &str, verdict: Verdict, sentence: impl Into<String>) {
        let Some(entry) = self.entry(key) else { return self.about(verdict, sentence) };
        self.report.add(Finding {
            file: self.document.path.clone(),
            line: entry.line,
            group: self.group.name.clone(),
            key: Some(entry.key.clone()),
            value: entry.value.clone(),
            verdict,
            sentence: sentence.into(),
        });
    }

    /// A finding about the whole group.
    pub(super) fn about(&self, verdict: Verdict, sentence: impl Into<String>) {
        self.report.add(Finding {
            file: self.document.path.clone(),
            line: self.group.line,
            group: self.group.name.clone(),
            key: None,
            value: String::new(),
            verdict,
            sentence: sentence.into(),
        });
    }

    /// Makes a finding of each key that no translation has read: with its reason, or as a key that is not known.
    pub(super) fn finish(&self, reasons: Reasons) {
        for entry in self.group.entries.iter().filter(|e| !e.read.get()) {
            let known = reasons.iter().find(|(names, ..)| {
                names.iter().any(|n| match n.strip_suffix('*') {
                    Some(start) => entry.key.starts_with(start),
                    None => entry.key == *n,
                })
            });
            let off = matches!(entry.value.trim(), "0" | "false");
            let (verdict, sentence) = match known {
                Some((_, Verdict::NotTranslated | Verdict::Differs, _)) if off => {
                    (Verdict::NotNeeded, "what it asks for by 0 is done without it")
                }
                Some((_, verdict, sentence)) => (*verdict, *sentence),
                None => (Verdict::NotTranslated, "import does not know this key"),
            };
            self.note(&entry.key, verdict, sentence);
        }
    }
}

/// Reports a key that a later line overrides.
pub(super) fn repeated(document: &Document, repeated: &Repeated, report: &Report) {
    report.add(Finding {
        file: document.path.clone(),
        line: repeated.entry.line,
        group: repeated.group.clone(),
        key: Some(repeated.entry.key.clone()),
        value: repeated.entry.value.clone(),
        verdict: Verdict::NotNeeded,
        sentence: format!("line {} sets it again, and the last one counts", repeated.by_line),
    });
}
