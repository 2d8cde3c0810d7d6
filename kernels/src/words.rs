//! Words for the values of enums: what users write in properties, sidecars and caps, and a sentence about each. They are stated
//! once, beside the enum, by [`words!`](crate::words!).

/// An enum whose values users write as words.
pub trait Words: Copy + PartialEq + Send + Sync + 'static {
    /// Every value, in the order in which users see them.
    const ALL: &'static [Self];

    /// The word for it.
    fn word(self) -> &'static str;

    /// What it means, in a sentence for users.
    fn sentence(self) -> &'static str;

    /// The value with this word.
    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == word)
    }

    /// All words, as in "rgb, bgr, gray".
    fn list() -> String {
        Self::ALL.iter().map(|value| value.word()).collect::<Vec<_>>().join(", ")
    }
}

/// The words of an enum's values, and their sentences: a row for each value, which the compiler demands.
///
/// ```
/// use cudainfer_kernels::words::Words as _;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Side {
///     Left,
///     Right,
/// }
///
/// cudainfer_kernels::words! { Side:
///     Left = "left", "Where the thumb of the right hand is";
///     Right = "right", "The other one";
/// }
///
/// assert_eq!((Side::Left.word(), Side::of_word("right")), ("left", Some(Side::Right)));
/// ```
#[macro_export]
macro_rules! words {
    ($enum:ty: $($value:ident = $word:literal, $sentence:literal;)+) => {
        impl $crate::words::Words for $enum {
            const ALL: &'static [Self] = &[$(Self::$value),+];

            fn word(self) -> &'static str {
                match self {
                    $(Self::$value => $word),+
                }
            }

            fn sentence(self) -> &'static str {
                match self {
                    $(Self::$value => $sentence),+
                }
            }
        }
    };
}
