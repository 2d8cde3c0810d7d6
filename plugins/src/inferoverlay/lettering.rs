//! The letters in which text is written: the built-in ones, or those of a font.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use cudainfer_files as files;
use cudainfer_kernels::draw::fonts::{FontChoice, Fonts};
use cudainfer_kernels::draw::{
    Primitive, Rgb, TextPicture, built_in_letters_show, default_scale, label_size,
};

use super::settings::Settings;
use crate::log::INFEROVERLAY as CAT;

/// Bytes that a font's file may have. Large collections have some 100 MB.
const LARGEST_FILE: u64 = 512 << 20;
/// Characters that one warning names.
const NAMED: usize = 8;
/// Pixels of a built-in letter's height.
const BUILT_IN: u32 = 13;
/// The value of `font` with which text is in the built-in letters, as far as they have it.
const BUILT_IN_FONT: &str = "built-in";

/// A text as it is written.
#[derive(Clone, Debug)]
pub(super) struct Caption {
    text: String,
    scale: u32,
    /// In the letters of a font.
    picture: Option<Arc<TextPicture>>,
}

impl Caption {
    /// In the built-in letters, magnified.
    pub fn built_in(text: String, scale: u32) -> Self {
        Self { text, scale, picture: None }
    }

    /// Width and height of its label in pixels; 0 if there is nothing to write.
    pub fn size(&self) -> [u32; 2] {
        match &self.picture {
            _ if self.text.is_empty() => [0, 0],
            Some(picture) => picture.size(),
            None => label_size(&self.text, self.scale),
        }
    }

    /// The label at (x, y); none if there is nothing to write.
    pub fn label(&self, (x, y): (f32, f32), color: Rgb) -> Option<Primitive<'_>> {
        let Self { text, scale, picture } = self;
        match picture {
            _ if text.is_empty() => None,
            Some(text) => Some(Primitive::FontLabel { x, y, text, color }),
            None => Some(Primitive::Label { x, y, text, color, scale: *scale }),
        }
    }
}

/// Magnification of the built-in letters on a frame `height` pixels high.
pub(super) fn text_scale(settings: &Settings, height: usize) -> u32 {
    if settings.text_scale > 0 { settings.text_scale } else { default_scale(height) }
}

/// The writer of one element's labels. By default it has the built-in letters.
#[derive(Debug, Default)]
pub(super) struct Lettering {
    /// Everything is in a font; else only what the built-in letters lack.
    always: bool,
    fonts: Option<Fonts>,
    /// There are no fonts, which was reported.
    failed: bool,
}

impl Lettering {
    /// With the font that the property names, or the system's sans-serif one where it is empty: if there is none, with the
    /// built-in letters.
    ///
    /// # Errors
    /// There is no such font.
    pub fn open(font: &str) -> Result<Self, String> {
        if font == BUILT_IN_FONT {
            return Ok(Self::default());
        }
        if font.is_empty() {
            return Ok(match Fonts::open(FontChoice::System) {
                Ok(fonts) => Self { always: true, fonts: Some(fonts), failed: false },
                Err(why) => {
                    gst::info!(CAT, "labels are in the built-in letters: {why}");
                    Self::default()
                }
            });
        }
        let wrong = |why: String| format!("font='{font}': {why}");
        let path = Path::new(font);
        let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_lowercase());
        let a_file = font.contains('/')
            || suffix.is_some_and(|suffix| ["ttf", "otf", "ttc", "otc"].contains(&&*suffix));
        let choice = if a_file {
            let bytes = read(path)
                .map_err(|why| wrong(format!("{why}. Name a .ttf, .otf or .ttc file, or a family")))?;
            FontChoice::File(bytes)
        } else {
            FontChoice::Family(font.to_owned())
        };
        let fonts = Fonts::open(choice).map_err(|why| wrong(why.to_string()))?;
        Ok(Self { always: true, fonts: Some(fonts), failed: false })
    }

    /// Size of a font's letters on a frame `height` pixels high. A font for all text has any size; one that stands in for built-in
    /// letters has theirs.
    fn size(&self, settings: &Settings, height: usize) -> u32 {
        if !self.always || settings.text_scale > 0 {
            return BUILT_IN.saturating_mul(text_scale(settings, height));
        }
        u32::try_from(height / 40).unwrap_or(u32::MAX).max(BUILT_IN)
    }

    /// Pixels from a line of text to the next, with the label's border.
    pub fn line_height(&self, settings: &Settings, height: usize) -> f32 {
        self.size(settings, height) as f32 * 1.5
    }

    /// Looks up the system's fonts if `labels`, which may be drawn, need them, so that no frame waits for it.
    pub fn prepare<'a>(&mut self, mut labels: impl Iterator<Item = &'a String>) {
        if self.fonts.is_none() && labels.any(|label| !built_in_letters_show(label)) {
            // If there are no fonts, the first such label reports it.
            self.fonts = Fonts::open(FontChoice::System).ok();
        }
    }

    /// Writes `text` for frames of `width` x `height` pixels; adds reasons for warnings to `warnings`.
    pub fn write(
        &mut self,
        text: String,
        settings: &Settings,
        [width, height]: [usize; 2],
        warnings: &mut Vec<String>,
    ) -> Caption {
        let (scale, size) = (text_scale(settings, height), self.size(settings, height));
        if text.is_empty() || !self.always && built_in_letters_show(&text) || self.failed {
            return Caption::built_in(text, scale);
        }
        let fonts = match &mut self.fonts {
            Some(fonts) => fonts,
            none => match Fonts::open(FontChoice::System) {
                Ok(fonts) => none.insert(fonts),
                Err(why) => {
                    self.failed = true;
                    warnings.push(format!("the label '{text}' is drawn with question marks: {why}"));
                    return Caption::built_in(text, scale);
                }
            },
        };
        let widest = u32::try_from(width).unwrap_or(u32::MAX);
        let typeset = fonts.typeset(&text, size, widest);
        if !typeset.absent.is_empty() {
            warnings.push(boxes(&typeset.absent));
        }
        Caption { text, scale, picture: Some(typeset.picture) }
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    files::open(path)?.take(LARGEST_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The warning about characters that no font has.
fn boxes(absent: &[char]) -> String {
    let shown = |character: &char| format!("'{character}' (U+{:04X})", u32::from(*character));
    let mut named: Vec<_> = absent.iter().take(NAMED).map(shown).collect();
    if absent.len() > NAMED {
        named.push(format!("{} more", absent.len() - NAMED));
    }
    format!(
        "no font has {}, drawn as boxes. Install a font that has them, for example from Debian's fonts-noto-core or \
         fonts-noto-cjk, or name one in font",
        named.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(always: bool, text_scale: u32) -> [u32; 5] {
        let settings = Settings { text_scale, ..Settings::default() };
        let lettering = Lettering { always, ..Lettering::default() };
        [240, 720, 1080, 2160, usize::MAX].map(|height| lettering.size(&settings, height))
    }

    #[test]
    fn text_grows_with_the_frame_and_a_font_in_steps_of_one() {
        assert_eq!(sizes(false, 0)[..4], [13, 13, 26, 52]);
        assert_eq!(sizes(true, 0), [13, 18, 27, 54, u32::MAX]);
        assert_eq!(sizes(true, 3), [39; 5]);
        assert_eq!(sizes(false, 3), [39; 5]);
    }

    #[test]
    fn a_label_is_as_large_as_its_background() {
        assert_eq!(Caption::built_in("ab".into(), 2).size(), [32, 30]);
        assert_eq!(Caption::built_in(String::new(), 2).size(), [0, 0]);
    }

    #[test]
    fn only_what_the_built_in_letters_lack_needs_a_font() {
        let (mut lettering, settings, mut warnings) =
            (Lettering::open("built-in").unwrap(), Settings::default(), Vec::new());
        for text in ["", "person 87%", "Straße", "a\nb"] {
            let caption = lettering.write(text.into(), &settings, [640, 480], &mut warnings);
            assert!(caption.picture.is_none() && lettering.fonts.is_none(), "{text:?}");
        }
        lettering.prepare([&"person".to_owned(), &"Wagen".to_owned()].into_iter());
        assert!(lettering.fonts.is_none());
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn characters_that_no_font_has_are_named_and_many_are_counted() {
        let all: Vec<char> = ('a'..='k').collect();
        let warning = boxes(&all);
        assert!(
            warning.contains("'a' (U+0061)") && warning.contains("'h'") && !warning.contains("'i'"),
            "{warning}"
        );
        assert!(warning.contains("3 more") && warning.contains("fonts-noto"), "{warning}");
    }
}
