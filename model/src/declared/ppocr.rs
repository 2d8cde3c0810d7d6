//! PP-OCR's recognisers, as RapidOCR publishes them: the key `character` has the characters that the model knows, one a line,
//! without the blank before them and the space after them. The input is that of PP-OCR's `RecResizeImg`.

use cudainfer_kernels::preproc::{ChannelOrder, Interpolation, Padding, Resize};

use super::Declared;
use super::values::normalize;
use crate::ClassMode;
use crate::onnx::Metadata;
use crate::origin::OriginKind;

/// Most characters that are accepted; PP-OCRv6 knows 18708.
const MOST_CHARACTERS: usize = 100_000;
/// Width and height of PP-OCR's input; wider lines are squeezed.
const SIZE: [u32; 2] = [320, 48];

pub(super) fn read(metadata: &Metadata) -> Option<Declared> {
    let text = metadata.get("character")?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let characters: Vec<_> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    if characters.len() < 2 || characters.len() > MOST_CHARACTERS {
        return None;
    }
    let mut declared = Declared::new(OriginKind::Metadata, "PP-OCR");
    let words = &mut declared.words;
    let printable =
        |character: &&str| character.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    words.output.labels = characters.iter().map(printable).collect();
    words.classify.mode = Some(ClassMode::Text);
    let input = &mut words.input;
    // Its reader leaves OpenCV's order as it is.
    input.channels = Some(ChannelOrder::Bgr);
    (input.width, input.height) = (Some(SIZE[0]), Some(SIZE[1]));
    normalize(input, 1.0 / 255.0, Some(vec![0.5]), Some(vec![0.5]));
    (input.resize, input.padding) = (Some(Resize::LetterboxTopLeft), Some(Padding::Mean));
    input.interpolation = Some(Interpolation::Bilinear);
    Some(declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> Option<Declared> {
        let entries = [("character".to_owned(), text.to_owned())].into();
        read(&Metadata { entries, ..Metadata::default() })
    }

    #[test]
    fn the_characters_are_the_lines_and_white_space_among_them_counts() {
        for text in ["!\n\u{3000}\nA\n字", "!\n\u{3000}\nA\n字\n", "!\r\n\u{3000}\r\nA\r\n字\r\n"] {
            let words = declared(text).unwrap().words;
            assert_eq!(words.output.labels, ["!", "\u{3000}", "A", "字"], "{text:?}");
            assert_eq!(words.classify.mode, Some(ClassMode::Text));
        }
        let input = declared("a\nb").unwrap().words.input;
        assert_eq!((input.width, input.height, input.padding), (Some(320), Some(48), Some(Padding::Mean)));
        assert_eq!((input.channels, input.resize), (Some(ChannelOrder::Bgr), Some(Resize::LetterboxTopLeft)));
        assert_eq!((input.mean, input.std), (Some(vec![0.5]), Some(vec![0.5])));
    }

    #[test]
    fn hostile_characters_are_left_out() {
        for text in ["", "a", "a\n", &"\n".repeat(100_001)] {
            assert!(declared(text).is_none(), "{}", text.len());
        }
        assert_eq!(declared("a\n\u{7}").unwrap().words.output.labels, ["a", " "]);
        assert!(read(&Metadata::default()).is_none());
    }
}
