//! What became of each key, so that none is left out silently.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

/// How much a key that was not translated one to one matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It has no counterpart, and results or behaviour differ without it.
    NotTranslated,
    /// It was translated, but what it does is not quite the same.
    Differs,
    /// It has no counterpart, and needs none.
    NotNeeded,
}

impl Verdict {
    const ALL: [Self; 3] = [Self::NotTranslated, Self::Differs, Self::NotNeeded];

    fn title(self) -> &'static str {
        match self {
            Self::NotTranslated => "not translated",
            Self::Differs => "translated, but not quite the same",
            Self::NotNeeded => "not needed here",
        }
    }
}

/// A sentence about one key, or about a whole group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file in which the key stands.
    pub file: PathBuf,
    /// Its line, counted from 1; 0 is the whole file.
    pub line: usize,
    /// Its group.
    pub group: String,
    /// The key; without one, the sentence is about the group.
    pub key: Option<String>,
    /// Its value.
    pub value: String,
    /// How much it matters.
    pub verdict: Verdict,
    /// Why it was not translated, and what to set.
    pub sentence: String,
}

/// Findings with one sentence: `FILE:LINE [group] key=value, LINE key=value: sentence`.
struct Together<'a>(&'a [&'a Finding]);

impl fmt::Display for Together<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else { return Ok(()) };
        write!(f, "{}", first.file.display())?;
        if first.line > 0 {
            write!(f, ":{}", first.line)?;
        }
        if !first.group.is_empty() {
            write!(f, " [{}]", first.group)?;
        }
        for (number, finding) in self.0.iter().enumerate() {
            let Some(key) = &finding.key else { continue };
            if number > 0 {
                write!(f, ", {}", finding.line)?;
            }
            write!(f, " {key}={}", finding.value)?;
        }
        write!(f, ": {}", first.sentence)
    }
}

/// All findings of an import.
#[derive(Debug, Default)]
pub struct Report {
    findings: RefCell<Vec<Finding>>,
}

impl Report {
    /// Adds a finding.
    pub(super) fn add(&self, finding: Finding) {
        self.findings.borrow_mut().push(finding);
    }

    /// Adds a sentence about a whole file.
    pub(super) fn file(&self, file: &Path, verdict: Verdict, sentence: impl Into<String>) {
        self.add(Finding {
            file: file.to_owned(),
            line: 0,
            group: String::new(),
            key: None,
            value: String::new(),
            verdict,
            sentence: sentence.into(),
        });
    }

    /// The findings: what matters most first, then by file and line.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut all = self.findings.borrow().clone();
        all.sort_by(|a, b| (a.verdict, &a.file, a.line).cmp(&(b.verdict, &b.file, b.line)));
        all.dedup();
        all
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.findings();
        for verdict in Verdict::ALL {
            let these: Vec<_> = all.iter().filter(|x| x.verdict == verdict).collect();
            if these.is_empty() {
                continue;
            }
            writeln!(f, "{} ({}):", verdict.title(), these.len())?;
            // Keys of a group with the same sentence share a line.
            let together = |a: &&Finding, b: &&Finding| {
                (&a.file, &a.group, &a.sentence, a.key.is_some())
                    == (&b.file, &b.group, &b.sentence, b.key.is_some())
            };
            for findings in these.chunk_by(together) {
                writeln!(f, "  {}", Together(findings))?;
            }
        }
        Ok(())
    }
}
