//! A target in `cargo test`: the examples, and mutations of them that are the same in every run.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::case::Case;

/// Mutations of the examples that one run of the tests reads.
const CASES: u32 = 400;
/// The environment variables for another number, and for other mutations.
const CASES_VARIABLE: &str = "CUDAINFER_FUZZ_CASES";
const SEED_VARIABLE: &str = "CUDAINFER_FUZZ_SEED";
/// The longest case: sizes that a reader must refuse are numbers in small files, too.
const LONGEST: usize = 1 << 16;

/// What texts and binary formats are sensitive to: signs of syntax, and numbers at the ends of their ranges.
const TOKENS: [&[u8]; 40] = [
    b"",
    b"\0",
    b"\n",
    b"\r",
    b" ",
    b"\"",
    b"'",
    b"\\",
    b",",
    b";",
    b":",
    b"=",
    b"#",
    b"/",
    b"%",
    b"&",
    b"*",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"<",
    b">",
    b"-",
    b"-1",
    b"0",
    b"1e999",
    b"-1e-999",
    b"NaN",
    b"inf",
    b"9223372036854775807",
    b"18446744073709551616",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"\xc3\xa9",
    b"\xf0\x9f\x98\x80",
    b"\xe2\x80\xae",
];

/// A change of a case.
#[derive(Clone, Debug)]
enum Edit {
    /// Other bytes take the place of some.
    Replace(Index, usize, Vec<u8>),
    /// A part is repeated in another place.
    Repeat(Index, Index, usize, u8),
    /// A part of another example is inserted.
    Splice(Index, Index, Index, usize),
    /// One bit.
    Flip(Index, u8),
    /// Everything after a place is left out.
    Cut(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let token = prop::sample::select(TOKENS.to_vec()).prop_map(<[u8]>::to_vec);
    let bytes = prop_oneof![3 => token, 1 => vec(any::<u8>(), 0..9)];
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), 0_usize..20, bytes).prop_map(|(at, length, bytes)| Edit::Replace(at, length, bytes)),
        1 => (index(), index(), 1_usize..64, 1_u8..).prop_map(|(from, to, length, times)| Edit::Repeat(from, to, length, times)),
        1 => (index(), index(), index(), 1_usize..200).prop_map(|(which, from, to, length)| Edit::Splice(which, from, to, length)),
        1 => (index(), 0_u8..8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        1 => index().prop_map(Edit::Cut),
    ]
}

impl Edit {
    fn apply(&self, case: &mut Vec<u8>, examples: &[Vec<u8>]) {
        let place = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        let part = |bytes: &[u8], from: usize, length: usize| {
            bytes.get(from..bytes.len().min(from + length)).unwrap_or_default().to_vec()
        };
        match self {
            Self::Replace(at, length, bytes) => {
                let at = place(at, case);
                case.splice(at..case.len().min(at + length), bytes.iter().copied());
            }
            Self::Repeat(from, to, length, times) => {
                let part = part(case, place(from, case), *length).repeat((*times).into());
                let to = place(to, case);
                case.splice(to..to, part);
            }
            Self::Splice(which, from, to, length) => {
                let other = which.get(examples);
                let part = part(other, place(from, other), *length);
                let to = place(to, case);
                case.splice(to..to, part);
            }
            Self::Flip(at, bit) => {
                let at = place(at, case);
                if let Some(byte) = case.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Cut(at) => case.truncate(place(at, case)),
        }
        case.truncate(LONGEST);
    }
}

pub fn run<R: FnMut(&[u8])>(case: Case<R>, examples: &[Vec<u8>]) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let seed = number(SEED_VARIABLE).unwrap_or(1);
    let cases = number(CASES_VARIABLE).and_then(|cases| u32::try_from(cases).ok()).unwrap_or(CASES);
    println!("{}: {} examples, {cases} mutations of {SEED_VARIABLE}={seed}", case.name(), examples.len());
    let case = std::cell::RefCell::new(case);
    for example in examples {
        case.borrow_mut().run(example);
    }
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let mutated = (any::<Index>(), vec(edit(), 1..6)).prop_map(|(which, edits)| {
        let mut bytes = which.get(examples).clone();
        for edit in &edits {
            edit.apply(&mut bytes, examples);
        }
        Bytes(bytes)
    });
    let result = TestRunner::new(config).run(&mutated, |bytes| {
        case.borrow_mut().run(&bytes.0);
        Ok(())
    });
    if let Err(found) = result {
        panic!("{}: {found}", case.borrow().name());
    }
}

/// Shown as a byte string, from which a file can be made.
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Target, seeds};

    fn examples() -> (Target, Vec<Vec<u8>>) {
        let target = Target::new(env!("CARGO_MANIFEST_DIR"), "greeting");
        let examples = seeds::read(&target.examples);
        (target, examples)
    }

    #[test]
    #[should_panic(expected = "greeting")]
    fn a_reader_that_panics_at_what_no_example_has_is_found() {
        let (target, examples) = examples();
        run(Case::new(target, |bytes: &[u8]| assert!(!bytes.contains(&b'%'))), &examples);
    }

    #[test]
    #[should_panic(expected = "allocated")]
    fn a_reader_that_believes_a_number_is_found() {
        let (target, examples) = examples();
        let read = |bytes: &[u8]| {
            let digits: String =
                bytes.iter().filter(|b| b.is_ascii_digit()).map(|b| char::from(*b)).collect();
            let count = digits.parse::<usize>().unwrap_or_default().min(1 << 24);
            std::hint::black_box(Vec::<u8>::with_capacity(count));
        };
        run(Case::new(target, read), &examples);
    }

    #[test]
    fn a_reader_that_is_right_is_content_with_all() {
        let (target, examples) = examples();
        run(Case::new(target, |bytes: &[u8]| drop(String::from_utf8_lossy(bytes).to_uppercase())), &examples);
    }
}
