//! Stand-ins for the types of fonts in a build without them.

use super::{FontChoice, FontError, Typeset};

/// A type without values.
#[derive(Debug)]
pub enum Fonts {}

impl Fonts {
    /// Always fails: this build has no fonts.
    ///
    /// # Errors
    /// [`FontError::NotBuilt`], always.
    pub fn open(_choice: FontChoice) -> Result<Self, FontError> {
        Err(FontError::NotBuilt)
    }

    /// Cannot be called, because there is no value.
    pub fn typeset(&mut self, _text: &str, _size: u32, _widest: u32) -> Typeset {
        match *self {}
    }
}
