//! Drawing as a list of commands, which the GPU carries out (`cuda/draw.cu`).

use std::ops::Range;
use std::slice;

use super::canvas::{Canvas, Ink, Layout, TextInks};
use super::capsule::Capsule;
use super::letters::{Glyph, HEIGHT, WIDTH};
use super::text_picture::TextPicture;

/// A kind of command: it covers all of its rectangle. Every chroma sample that it touches is drawn, too.
pub(super) const FILL: u32 = 0;
/// The pixels of a [`Capsule`], whose bytes the data are, each as far as it is covered. A chroma sample is covered as its pixel that
/// is covered most.
pub(super) const CAPSULE: u32 = 1;
/// Magnified letters, of which the data has enough for the rectangle, four words of a [`Glyph`] each. Chroma samples whose
/// top-left pixel is covered are drawn.
pub(super) const LETTERS: u32 = 2;
/// All of the rectangle, each pixel with an ink of its own: the data are the inks of the 16 values and the rows of a
/// [`TextPicture`], whose first pixel is that of the rectangle. A chroma sample's ink is the mean of its four pixels'.
pub(super) const PICTURE: u32 = 3;

/// A command to draw: the kernel's `Command`. The rectangle is within the frame; its right and bottom are outside it.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Command {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
    /// The [`Ink`]'s bytes, the first lowest.
    pub ink: u32,
    /// [`FILL`], [`CAPSULE`], [`LETTERS`] or [`PICTURE`].
    pub kind: u32,
    /// Where its data begins, in words.
    pub data: u32,
    /// Magnification of letters; words of a picture's row.
    pub scale: i32,
}
const _: () = assert!(size_of::<Command>() == 32);

/// The largest width and height of a frame whose drawing can be recorded.
pub(super) const MOST: usize = 1 << 19;

/// A canvas that records commands. Later commands cover earlier ones.
#[derive(Debug)]
pub(super) struct Recorder<'a> {
    layout: Layout,
    pub recorded: &'a mut Recorded,
}

/// Recorded commands and their data.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub commands: Vec<Command>,
    pub data: Vec<u32>,
}

impl<'a> Recorder<'a> {
    /// A canvas for a frame of `layout`, whose sides are [`MOST`] pixels at most. Clears `recorded` first.
    pub fn new(layout: Layout, recorded: &'a mut Recorded) -> Self {
        recorded.commands.clear();
        recorded.data.clear();
        Self { layout, recorded }
    }

    fn push(&mut self, [x, y]: &[Range<usize>; 2], ink: Ink, kind: u32, scale: i64) {
        // Pixels within the frame fit into i32. A larger magnification is cut to it, which shows the same.
        let pixel = |v: usize| i32::try_from(v).unwrap_or(i32::MAX);
        self.recorded.commands.push(Command {
            left: pixel(x.start),
            top: pixel(y.start),
            right: pixel(x.end),
            bottom: pixel(y.end),
            ink: u32::from_le_bytes(ink.0),
            kind,
            data: word(self.recorded.data.len()),
            scale: i32::try_from(scale).unwrap_or(i32::MAX),
        });
    }
}

fn word(v: usize) -> u32 {
    u32::try_from(v).unwrap_or(u32::MAX)
}

impl Canvas for Recorder<'_> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn fill(&mut self, x: Range<i64>, y: Range<i64>, ink: Ink) {
        if let Some(area) = self.layout.clip(x, y) {
            self.push(&area, ink, FILL, 0);
        }
    }

    fn capsule(&mut self, shape: &Capsule, ink: Ink) {
        if let Some(area) = self.layout.clip(shape.columns(), shape.rows()) {
            self.push(&area, ink, CAPSULE, 0);
            self.recorded.data.extend_from_slice(bytemuck::cast_slice(slice::from_ref(shape)));
        }
    }

    fn letters(&mut self, origin: [i64; 2], scale: i64, text: &mut dyn Iterator<Item = Glyph>, ink: Ink) {
        let [x, y] = origin;
        let start = self.recorded.data.len();
        self.recorded.data.extend(text.flat_map(|glyph| glyph.0));
        let letters = i64::try_from((self.recorded.data.len() - start) / 4).unwrap_or(0);
        let (right, bottom) = (x + scale * i64::from(WIDTH) * letters, y + scale * i64::from(HEIGHT));
        if let Some(area) = self.layout.clip(x..right, y..bottom) {
            self.push(&area, ink, LETTERS, scale);
            if let Some(command) = self.recorded.commands.last_mut() {
                command.data = word(start);
            }
        } else {
            self.recorded.data.truncate(start);
        }
    }

    fn picture(&mut self, origin: [i64; 2], text: &TextPicture, inks: &TextInks) {
        let [columns, rows] = text.extent().map(|v| i64::try_from(v).unwrap_or(0));
        let [left, top] = [0, 1].map(|i| origin[i] + i64::from(text.at()[i]));
        if let Some(area) = self.layout.clip(left..left + columns, top..top + rows) {
            self.push(&area, inks[0], PICTURE, text.stride().into());
            let data = &mut self.recorded.data;
            data.extend(inks.map(|ink| u32::from_le_bytes(ink.0)));
            // Rows below the frame are not needed, except for one that shares its chroma with the last.
            let shown = area[1].len().next_multiple_of(2) * text.stride() as usize;
            data.extend(&text.words()[..shown]);
        }
    }
}
