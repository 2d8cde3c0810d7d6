//! A label's text before it is shaped.

use std::collections::HashSet;

/// Stands for a character that no font has: every font for text has digits, and they are as wide as a letter.
const STAND_IN: char = '0';
/// Characters of a text beyond those that fit into a frame's width: marks that take no room of their own.
const MARKS: usize = 64;
/// The most characters of a text.
const MOST: usize = 4096;

/// A line of text that can be shaped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub text: String,
    /// Where in the text the characters begin that stand for ones that no font has.
    pub stand_ins: Vec<usize>,
}

impl Line {
    /// As much of `text` as can be seen in `widest` pixels if letters have `size`. Characters of `absent` are replaced.
    pub fn new(text: &str, size: u32, widest: u32, absent: &HashSet<char>) -> Self {
        // Few letters are narrower than a quarter of their size.
        let seen = usize::try_from(4 * u64::from(widest) / u64::from(size.max(1))).unwrap_or(MOST);
        let mut line = Self { text: String::with_capacity(text.len().min(4 * MOST)), stand_ins: Vec::new() };
        for character in text.chars().take(seen.saturating_add(MARKS).min(MOST)) {
            if absent.contains(&character) {
                line.stand_ins.push(line.text.len());
                line.text.push(STAND_IN);
            } else if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
                line.text.push(' ');
            } else {
                line.text.push(character);
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_of_what_can_be_seen() {
        let line = |text: &str, absent: &[char]| Line::new(text, 10, 100, &absent.iter().copied().collect());
        assert_eq!(line("a\nb\tc\u{85}d\u{2029}e\0", &[]).text, "a b c d e ");
        let replaced = line("aकb", &['क']);
        assert_eq!((replaced.text.as_str(), replaced.stand_ins), ("a0b", vec![1]));
        assert_eq!(line(&"i".repeat(9999), &[]).text.len(), 40 + 64);
        assert_eq!(Line::new(&"i".repeat(9999), 0, u32::MAX, &HashSet::new()).text.len(), MOST);
    }
}
