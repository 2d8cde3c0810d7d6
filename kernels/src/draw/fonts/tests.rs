//! Texts in fonts of Debian: fonts-dejavu-core (Latin, Hebrew, Arabic), fonts-lohit-deva, fonts-tlwg-garuda-ttf and
//! fonts-droid-fallback (Chinese), which `scripts/test` installs. Another system may have others for the same scripts.

use super::*;

const SIZE: u32 = 40;
const WIDEST: u32 = 1920;
/// The greatest value of a pixel that letters do not cover.
const RIM: usize = 3;

fn fonts() -> Fonts {
    let path = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{path}, of Debian's fonts-dejavu-core: {e}"));
    Fonts::open(FontChoice::File(bytes)).unwrap()
}

fn typeset(text: &str) -> Arc<TextPicture> {
    let typeset = fonts().typeset(text, SIZE, WIDEST);
    assert_eq!(typeset.absent, [], "no font has these of {text:?}: see the packages above");
    typeset.picture
}

/// The rows of values of the part with letters, without the label around it.
fn rows(picture: &TextPicture) -> Vec<Vec<usize>> {
    let stride = picture.stride() as usize;
    let [columns, _] = picture.extent();
    let row =
        |words: &[u32]| words.iter().flat_map(|word| TextPicture::values(*word)).take(columns).collect();
    picture.words().chunks(stride.max(1)).map(row).collect()
}

/// From the first to the last index for which it holds.
fn extent(length: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut at = (0..length).filter(|i| holds(*i));
    at.next().map_or(0, |first| at.next_back().unwrap_or(first) + 1 - first)
}

/// Columns and rows from the first letter to the last.
fn ink(picture: &TextPicture) -> [usize; 2] {
    let rows = rows(picture);
    let columns = rows.first().map_or(0, Vec::len);
    [
        extent(columns, |x| rows.iter().any(|row| row[x] > RIM)),
        extent(rows.len(), |y| rows[y].iter().any(|v| *v > RIM)),
    ]
}

/// Widths of the parts that have a free column between them, from left to right.
fn parts(picture: &TextPicture) -> Vec<usize> {
    let rows = rows(picture);
    let columns = rows.first().map_or(0, Vec::len);
    let used: Vec<bool> = (0..columns).map(|x| rows.iter().any(|row| row[x] > RIM + 2)).collect();
    used.chunk_by(|a, b| a == b).filter(|part| part[0]).map(<[bool]>::len).collect()
}

#[test]
fn letters_have_the_size_that_is_asked_for_and_room_around_them() {
    let picture = typeset("HxH");
    let [width, height] = ink(&picture);
    // Capitals of DejaVu are 0.73 high and 0.75 wide with their room, 'x' 0.59.
    assert!((28..=31).contains(&height), "{height}");
    assert!((74..=84).contains(&width), "{width}");
    let [label_width, label_height] = picture.size();
    assert!((50..=52).contains(&label_height) && (92..=104).contains(&label_width), "{:?}", picture.size());
    // All labels have this height, unless letters need more.
    assert_eq!(typeset("person 7").size()[1], label_height);
    assert!(typeset("Ệ").size()[1] >= label_height);
    let [_, half] = ink(&fonts().typeset("H", SIZE / 2, WIDEST).picture);
    assert!((14..=16).contains(&half), "{half}");
}

#[test]
fn hebrew_and_arabic_run_from_right_to_left_and_arabic_letters_join() {
    // A wide letter and a narrow one: the first letter is on the right.
    let [narrow, wide] = parts(&typeset("או"))[..] else { panic!("two letters") };
    assert!(2 * narrow < wide + 4, "{narrow} {wide}");
    let [wide, narrow] = parts(&typeset("Ml"))[..] else { panic!("two letters") };
    assert!(2 * narrow < wide, "{narrow} {wide}");
    // Within such a text, numbers run from left to right, and the text goes on at their left.
    let line = parts(&typeset("ו 1M"));
    assert!(line.last() < line.first(), "the narrow letter is the right one: {line:?}");
    // The first strong letter decides, and nothing before it is lost.
    let line = parts(&typeset("88 ו"));
    assert!(line.len() == 3 && line[0] < line[1] && line[0] < line[2], "{line:?}");
    assert_eq!(parts(&typeset("ببب")).len(), 1);
    assert_eq!(parts(&typeset("ب ب ب")).len(), 3);
}

#[test]
fn marks_stand_on_their_letters_and_clusters_are_shaped() {
    let ([x, marked], accent) = (["x", "x\u{301}"].map(|text| ink(&typeset(text))), ink(&typeset("é")));
    assert!(marked[0] <= x[0] + 2 && marked[1] > x[1] + 5, "{x:?} {marked:?}");
    assert_eq!(ink(&typeset("e\u{301}")), accent);
    // The line above joins a word's letters; the vowel sign i stands at the left of its consonant and adds little.
    assert_eq!(parts(&typeset("हिन्दी")).len(), 1);
    // Three marks above one another and one below take no room of their own.
    let [thai, marked] = ["ท", "ที่"].map(|text| ink(&typeset(text)));
    assert!(marked[0] <= thai[0] + 6 && marked[1] > thai[1] + 8, "{thai:?} {marked:?}");
}

#[test]
fn chinese_comes_from_another_font_of_the_same_size() {
    let [width, height] = ink(&typeset("汉字"));
    assert!((68..=80).contains(&width) && (34..=42).contains(&height), "{width} {height}");
    // On the same baseline as Latin letters, which stay what they are.
    assert!(typeset("a汉").size()[1] >= typeset("a").size()[1]);
}

#[test]
fn a_character_that_no_font_has_is_a_box_and_is_reported_once() {
    let mut fonts = fonts();
    // A character of a private use area.
    let first = fonts.typeset("\u{10fffd}", SIZE, WIDEST);
    assert_eq!(first.absent, ['\u{10fffd}']);
    let [width, height] = ink(&first.picture);
    assert!((12..=26).contains(&width) && (26..=31).contains(&height), "{width} {height}");
    let rows = rows(&first.picture);
    let middle: Vec<_> = rows[rows.len() / 2].iter().map(|v| *v == 15).collect();
    let runs: Vec<_> = middle.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
    assert_eq!(runs, [3, 3], "it is hollow");
    let again = fonts.typeset("a\u{10fffd}a\u{10fffd}", SIZE, WIDEST);
    assert!(again.absent.is_empty());
    let parts = parts(&again.picture);
    assert_eq!((parts.len(), parts[1], parts[3]), (4, width, width));
}

#[test]
fn line_ends_and_control_characters_are_spaces_and_nothing_is_a_label_without_letters() {
    for text in ["a\nb", "a\tb", "a\0b", "a\u{2029}b", "a\u{7f}b"] {
        assert_eq!(typeset(text), typeset("a b"), "{text:?}");
    }
    for text in ["", " ", "\n\n", "\u{200d}", "\u{202e}"] {
        assert_eq!(ink(&typeset(text)), [0, 0], "{text:?}");
    }
    assert_eq!(typeset("a\u{202e}"), typeset("a"), "what directs the order is not seen");
}

#[test]
fn what_is_too_long_loses_its_end_and_what_is_too_high_is_cut() {
    let cut = |text: &str| fonts().typeset(text, SIZE, 200).picture;
    let long = cut(&format!("M{}", "l".repeat(10_000)));
    assert_eq!(long.size()[0], 200);
    assert!(parts(&long)[0] > 20, "the begin is there");
    let reversed = cut(&format!("א{}", "ו".repeat(10_000)));
    assert_eq!(reversed.size()[0], 200);
    assert!(*parts(&reversed).last().unwrap() > 15, "the begin is at the right");
    let tower = cut(&format!("o{}", "\u{301}".repeat(60)));
    assert!(tower.size()[1] <= 3 * SIZE + 4, "{:?}", tower.size());
    for (size, widest) in [(0, 0), (1, 1), (u32::MAX, u32::MAX), (7, 3)] {
        fonts().typeset("any size ا", size, widest);
    }
}

#[test]
fn a_text_that_was_drawn_is_not_drawn_again() {
    let mut fonts = fonts();
    let mut picture = |text, size| fonts.typeset(text, size, WIDEST).picture;
    let first = picture("again", 26);
    assert!(!Arc::ptr_eq(&first, &picture("again", 13)));
    assert!(Arc::ptr_eq(&first, &picture("again", 26)));
}

#[test]
fn what_is_no_font_and_what_is_not_there_is_refused() {
    for bytes in [b"".to_vec(), b"no font".to_vec(), vec![0; 4096], b"\0\x01\0\0\xff\xff".to_vec()] {
        assert_eq!(Fonts::open(FontChoice::File(bytes)).unwrap_err(), FontError::File);
    }
    let error = Fonts::open(FontChoice::Family("Grotesk Unheard".into())).unwrap_err().to_string();
    assert!(error.contains("'DejaVu Sans'") && error.contains("Install"), "{error}");
    let mut found = Fonts::open(FontChoice::Family("dejavu sans mono".into())).unwrap();
    let widths = ["ii", "MM"].map(|text| found.typeset(text, SIZE, WIDEST).picture.size()[0]);
    assert!(widths[0].abs_diff(widths[1]) <= 2, "a family of letters that are all as wide: {widths:?}");
    Fonts::open(FontChoice::System).unwrap();
    for generic in ["Serif", "sans", "Sans-Serif"] {
        Fonts::open(FontChoice::Family(generic.into())).unwrap_or_else(|e| panic!("{generic}: {e}"));
    }
}
