//! How records follow each other in a file.

/// How records follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Each is a line, or several.
    #[default]
    Lines,
    /// They are the elements of one JSON array, which is closed after each write.
    Array,
}

impl Layout {
    /// What a file without records holds.
    pub fn head(self) -> &'static [u8] {
        match self {
            Self::Lines => b"",
            Self::Array => b"[",
        }
    }

    /// What stands before a record; `first` in the file or not.
    pub fn before(self, first: bool) -> &'static [u8] {
        match self {
            Self::Lines => b"",
            Self::Array if first => b"\n",
            Self::Array => b",\n",
        }
    }

    /// What stands after a record.
    pub fn after(self) -> &'static [u8] {
        match self {
            Self::Lines => b"\n",
            Self::Array => b"",
        }
    }

    /// What stands after the last record, and is overwritten by the next.
    pub fn tail(self) -> &'static [u8] {
        match self {
            Self::Lines => b"",
            Self::Array => b"\n]\n",
        }
    }
}
