//! What there is of fonts in a build without them.

use super::{FontChoice, FontError, Typeset};

/// Without values.
#[derive(Debug)]
pub enum Fonts {}

impl Fonts {
    /// There are none.
    ///
    /// # Errors
    /// [`FontError::NotBuilt`], always.
    pub fn open(_choice: FontChoice) -> Result<Self, FontError> {
        Err(FontError::NotBuilt)
    }

    /// Nobody gets here.
    pub fn typeset(&mut self, _text: &str, _size: u32, _widest: u32) -> Typeset {
        match *self {}
    }
}
