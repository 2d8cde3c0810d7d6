//! Labels in any script: text to a [`TextPicture`], with the fonts of the system or of a file.
//!
//! A line of text is brought into visual order (UAX #9), shaped and rasterised by cosmic-text, on the host. Each part is in the
//! first font that has it: the chosen one, then the system's. Characters that no font has are drawn as boxes, colour glyphs
//! (emoji) as their silhouettes. Control characters and line ends are spaces.
//!
//! The system's fonts are looked up once a process, when they are first needed.

#[cfg(feature = "fonts")]
mod cache;
#[cfg(feature = "fonts")]
mod database;
#[cfg(feature = "fonts")]
mod line;
#[cfg(feature = "fonts")]
mod raster;
#[cfg(feature = "fonts")]
#[cfg(test)]
mod tests;
#[cfg(feature = "fonts")]
mod typesetter;
#[cfg(not(feature = "fonts"))]
mod without;

use std::sync::Arc;

#[cfg(feature = "fonts")]
pub use typesetter::Fonts;
#[cfg(not(feature = "fonts"))]
pub use without::Fonts;

use super::TextPicture;

/// Which font text has, as far as the font has the characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FontChoice {
    /// The system's sans-serif font.
    System,
    /// A family of the system's, as `DejaVu Sans`, or a generic one, as `Serif`; case does not matter.
    Family(String),
    /// The bytes of a file: TrueType, OpenType, or the first font of a collection.
    File(Vec<u8>),
}

/// What can be wrong with a font.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FontError {
    /// The system has no fonts.
    #[error(
        "no font was found on this system. Install some, for example Debian's fonts-noto-core and fonts-noto-cjk, or name a \
         font's file"
    )]
    None,
    /// No font of the system is of the family.
    #[error(
        "there is no such family among the {families} of this system, for example {some}. Install a font of it, or name \
         another family or a font's file"
    )]
    #[allow(missing_docs)]
    Family { families: usize, some: String },
    /// The bytes are no font.
    #[error("it is no TrueType or OpenType font. Name a .ttf, .otf or .ttc file")]
    File,
    /// The Cargo feature `fonts` is off.
    #[error("this build has only its built-in letters (ISO 8859-1). Build it with the Cargo feature fonts")]
    NotBuilt,
}

/// A text as it is drawn.
#[derive(Clone, Debug)]
pub struct Typeset {
    /// The picture.
    pub picture: Arc<TextPicture>,
    /// The characters of the text that no font has and that were not reported before.
    pub absent: Vec<char>,
}
