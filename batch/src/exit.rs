//! Exit codes, by which a scheduler decides what to do with the job.

/// How the program ends. Codes above 2 are those of sysexits.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Every video of this share is finished.
    Done,
    /// Videos failed by themselves: they fail everywhere.
    BadInput,
    /// The GPU has failed: another machine may do it.
    GpuFault,
    /// The disk is full, or pipelines do not stop: another machine may do it.
    Sick,
    /// It was asked to end before the end: the same command goes on.
    Interrupted,
    /// Arguments, pipeline or model are wrong: every other share fails as well.
    Configuration,
}

impl Exit {
    /// The code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::BadInput => 65,
            Self::GpuFault => 70,
            Self::Sick => 71,
            Self::Interrupted => 75,
            Self::Configuration => 78,
        }
    }
}
