//! Tests what reads bytes that others wrote: files, texts of properties, answers of servers. A reader may refuse them; it must not
//! panic, end the process, take longer than a second, or take much more memory than they have.
//!
//! A target is a test in the crate that has the reader, `fuzz_NAME`, with examples in `CRATE/fuzz/NAME`. `cargo test` reads these, and
//! some hundred mutations of them, which are the same in every run ([`mutation`]). `scripts/fuzz` builds the crate with counters of
//! its branches and runs the same test in libFuzzer ([`coverage`]), which mutates what has reached new branches. What it finds is put
//! in the folder of the examples, and is read by `cargo test` from then on.
//!
//! Beside that, [`simulate`] runs state machines on clocks and disks of their own, one run for each seed.

#![allow(clippy::panic)] // a test's failure is a panic

mod case;
#[cfg(feature = "coverage")]
mod coverage;
mod file;
mod memory;
#[cfg(not(feature = "coverage"))]
mod mutation;
mod seeds;
mod simulation;

use std::path::{Path, PathBuf};

pub use file::CaseFile;
pub use simulation::{Tally, simulate};

/// A reader, and how much memory it may take.
#[derive(Clone, Debug)]
pub struct Target {
    name: &'static str,
    /// Where its examples lie.
    examples: PathBuf,
    /// Bytes that it may allocate for each byte that it reads.
    ratio: usize,
}

impl Target {
    /// The target of this name, of the crate in this folder, which is `env!("CARGO_MANIFEST_DIR")`.
    pub fn new(crate_folder: &str, name: &'static str) -> Self {
        Self { name, examples: Path::new(crate_folder).join("fuzz").join(name), ratio: 10 }
    }

    /// Allows more memory than ten bytes for each byte that is read, where the format itself says much in few bytes.
    #[must_use]
    pub fn with_ratio(self, ratio: usize) -> Self {
        Self { ratio, ..self }
    }

    /// Has the reader read all cases.
    ///
    /// # Panics
    /// A case made it panic, or took too much time or memory. There are no examples.
    pub fn run(self, read: impl FnMut(&[u8]) + 'static) {
        let examples = seeds::read(&self.examples);
        let case = case::Case::new(self, read);
        #[cfg(feature = "coverage")]
        coverage::run(case, &examples);
        #[cfg(not(feature = "coverage"))]
        mutation::run(case, &examples);
    }

    /// As [`Self::run`], for texts: bytes that are no UTF-8 are replaced before they are read.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn run_text(self, mut read: impl FnMut(&str) + 'static) {
        self.run(move |bytes| match str::from_utf8(bytes) {
            Ok(text) => read(text),
            Err(_) => read(&String::from_utf8_lossy(bytes)),
        });
    }
}
