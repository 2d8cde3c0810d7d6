//! Text to pictures.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use cosmic_text::fontdb::ID;
use cosmic_text::{
    Attrs, AttrsList, Family, FontSystem, Hinting, LayoutGlyph, LayoutLine, PlatformFallback, ShapeLine,
    Shaping, SwashCache, SwashContent, Wrap,
};

use super::cache::Cache;
use super::line::Line;
use super::raster::{Frame, Sheet, Stamp};
use super::{FontChoice, FontError, Typeset, database};
use crate::draw::TextPicture;

/// Which forms of Chinese characters are preferred; a font that is named overrides it.
const LOCALE: &str = "en-US";
/// After this many rasterised glyphs all are dropped: about 10 MB of large ones.
const GLYPHS: usize = 4096;
/// Texts after which words that did not occur in them are dropped from the cache of shapes.
const WORDS: u64 = 2048;
/// The most characters that are remembered as absent from all fonts; then all are forgotten.
const ABSENT: usize = 4096;
/// The largest letters, in pixels.
const LARGEST: u32 = 512;

/// A font, the system's fonts for characters that it lacks, and caches of texts and glyphs.
pub struct Fonts {
    system: FontSystem,
    /// The font that comes first.
    first: Attrs<'static>,
    glyphs: SwashCache,
    absent: HashSet<char>,
    cache: Cache,
    /// The number of texts that were not in the cache.
    made: u64,
}

impl fmt::Debug for Fonts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fonts").field("first", &self.first).finish_non_exhaustive()
    }
}

/// A glyph, or the box that stands for one, as it lies on its line.
enum Place {
    Glyph { key: cosmic_text::CacheKey, x: i32, y: i32 },
    Missing { left: i32, right: i32 },
}

impl Fonts {
    /// Looks the fonts up; the first call in a process reads a part of every font of the system.
    ///
    /// # Errors
    /// [`FontError`]: the font is not available, or there is none.
    pub fn open(choice: FontChoice) -> Result<Self, FontError> {
        let bad = if matches!(choice, FontChoice::File(_)) { FontError::File } else { FontError::None };
        let (mut database, first) = database::open(choice)?;
        let face = database.face(first).ok_or(bad.clone())?.clone();
        // A family name of its own: fonts are asked for by family, and the system may have a family of the file's name.
        let family = format!("cudainfer {first}");
        database.remove_face(first);
        let mut renamed = face;
        renamed.families.insert(0, (family.clone(), cosmic_text::fontdb::Language::English_UnitedStates));
        let (weight, style, stretch) = (renamed.weight, renamed.style, renamed.stretch);
        let first = database.push_face_info(renamed);
        database.set_sans_serif_family(family);
        let mut system =
            FontSystem::new_with_locale_and_db_and_fallback(LOCALE.into(), database, PlatformFallback);
        // Once a font is loaded it stays, so text always has a font.
        let loaded: Option<ID> = system.get_font(first, weight).map(|font| font.id());
        loaded.ok_or(bad)?;
        let first = Attrs::new().family(Family::SansSerif).weight(weight).style(style).stretch(stretch);
        let (glyphs, absent, cache) = (SwashCache::new(), HashSet::new(), Cache::default());
        Ok(Self { system, first, glyphs, absent, cache, made: 0 })
    }

    /// The label of `text` in letters of `size` pixels (from the lowest to the highest, about), for frames `widest` pixels
    /// wide: a text that is too long loses its end. A text that was drawn lately is only looked up.
    pub fn typeset(&mut self, text: &str, size: u32, widest: u32) -> Typeset {
        let size = size.clamp(1, LARGEST);
        let key = (text.to_owned(), size, widest);
        if let Some(picture) = self.cache.get(&key) {
            return Typeset { picture, absent: Vec::new() };
        }
        self.made += 1;
        if self.made.is_multiple_of(WORDS) {
            // Drops words that were not used since the call before last.
            self.system.shape_run_cache.trim(1);
        }
        let mut line = self.shape(text, size, widest);
        let absent = self.learn(&line);
        if !absent.is_empty() {
            line = self.shape(text, size, widest);
        }
        let picture = Arc::new(self.picture(&line, size, widest));
        self.cache.insert(key, picture.clone());
        Typeset { picture, absent }
    }

    fn shape(&mut self, text: &str, size: u32, widest: u32) -> (Line, LayoutLine) {
        let line = Line::new(text, size, widest, &self.absent);
        let shaped =
            ShapeLine::new(&mut self.system, &line.text, &AttrsList::new(&self.first), Shaping::Advanced, 1);
        // Without a width nothing is wrapped. (With Wrap::None cosmic-text 0.19 loses the start of a line if that runs against
        // the line's direction.)
        let laid_out = shaped.layout(size as f32, None, Wrap::Word, None, None, Hinting::Disabled);
        let all = laid_out.into_iter().next().unwrap_or_else(|| LayoutLine {
            w: 0.0,
            max_ascent: 0.0,
            max_descent: 0.0,
            line_height_opt: None,
            glyphs: Vec::new(),
            decorations: Vec::new(),
        });
        (line, all)
    }

    /// Remembers the characters of a line that no font has, so that no other line asks every font for them; returns those
    /// that are new.
    fn learn(&mut self, (line, laid_out): &(Line, LayoutLine)) -> Vec<char> {
        let mut found = Vec::new();
        for glyph in laid_out.glyphs.iter().filter(|glyph| glyph.glyph_id == 0) {
            let characters = line.text.get(glyph.start..glyph.end).unwrap_or_default().chars();
            found.extend(characters.filter(|character| !character.is_whitespace()));
        }
        found.retain(|character| !self.has(*character));
        if self.absent.len() + found.len() > ABSENT {
            self.absent.clear();
        }
        found.retain(|character| self.absent.insert(*character));
        found
    }

    /// Whether any font has a character.
    fn has(&mut self, character: char) -> bool {
        let faces: Vec<_> = self.system.db().faces().map(|face| (face.id, face.weight)).collect();
        faces.into_iter().any(|(id, weight)| {
            self.system.get_font(id, weight).is_some_and(|font| font.as_swash().charmap().map(character) != 0)
        })
    }

    fn picture(&mut self, (line, laid_out): &(Line, LayoutLine), size: u32, widest: u32) -> TextPicture {
        if self.glyphs.image_cache.len() > GLYPHS {
            self.glyphs.image_cache.clear();
        }
        let frame = Frame::new(size, widest);
        let cap = 72 * frame.lowest / 100;
        let places: Vec<_> = laid_out.glyphs.iter().map(|glyph| place(glyph, line)).collect();
        let mut extents = Vec::with_capacity(places.len());
        for place in &places {
            extents.extend(match *place {
                Place::Missing { left, right } => Some([left, -cap, right, 0]),
                Place::Glyph { key, x, y } => self.stamp(key, x, y).and_then(|stamp| {
                    let rows = stamp.data.len().checked_div(stamp.step * stamp.width as usize)?;
                    let [width, rows] = [i32::try_from(stamp.width).ok()?, i32::try_from(rows).ok()?];
                    // A space shows nothing, however wide it is.
                    (rows > 0).then(|| [stamp.left, stamp.top, stamp.left + width, stamp.top + rows])
                }),
            });
        }
        // True if all parts run from right to left, or if they are within such a text.
        let reversed =
            laid_out.glyphs.iter().map(|glyph| glyph.level).min().is_some_and(|level| level.is_rtl());
        let mut sheet = Sheet::new(extents.into_iter(), &frame, reversed);
        for place in &places {
            match *place {
                Place::Missing { left, right } => sheet.outline(left, right, cap, (frame.lowest / 13).max(1)),
                Place::Glyph { key, x, y } => {
                    if let Some(stamp) = self.stamp(key, x, y) {
                        sheet.add(&stamp);
                    }
                }
            }
        }
        sheet.picture(&frame, laid_out.w.ceil() as i32)
    }

    /// A glyph rasterised, with its origin at (x, y).
    fn stamp(&mut self, key: cosmic_text::CacheKey, x: i32, y: i32) -> Option<Stamp<'_>> {
        let image = self.glyphs.get_image(&mut self.system, key).as_ref()?;
        let step = if image.content == SwashContent::Mask { 1 } else { 4 };
        let at = image.placement;
        Some(Stamp { left: x + at.left, top: y - at.top, width: at.width, step, data: &image.data })
    }
}

fn place(glyph: &LayoutGlyph, line: &Line) -> Place {
    if glyph.glyph_id == 0 || line.stand_ins.contains(&glyph.start) {
        // With a gap to the next box.
        let (left, width) = (glyph.x.round() as i32 + 1, glyph.w.round() as i32 - 2);
        return Place::Missing { left, right: left + width.max(2) };
    }
    let at = glyph.physical((0.0, 0.0), 1.0);
    Place::Glyph { key: at.cache_key, x: at.x, y: at.y }
}
