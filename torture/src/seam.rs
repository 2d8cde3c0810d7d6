//! Where calls can be made to fail, and how many have been made there.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use crate::fault::{Fault, Form};

macro_rules! seams {
    ($($seam:ident $name:literal $description:literal)*) => {
        /// A kind of calls that can be made to fail.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Seam {
            $(#[doc = $description] $seam,)*
        }

        impl Seam {
            const ALL: &[Self] = &[$(Self::$seam,)*];

            /// What it is called in the output.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$seam => $name,)*
                }
            }
        }
    };
}

seams! {
    Open "open" "Files below the folder that is watched are opened or made."
    Write "write" "Files below the folder are written, cut or extended."
    Rename "rename" "Files below the folder get another name."
    Sync "sync" "Files and folders below the folder are flushed to the disk."
    Remove "remove" "Files and folders below the folder are removed."
    Folder "folder" "Folders are made below the folder."
    Socket "socket" "Sockets are made."
    Connect "connect" "Sockets are connected."
    Send "send" "Sockets are written to."
    Accept "accept" "Connections are accepted."
    Thread "thread" "Threads of Rust are started."
    Memory "memory" "Memory is asked for that may be refused: `try_reserve`."
    OrtOpen "ort-open" "ONNX Runtime opens a model."
    OrtRun "ort-run" "ONNX Runtime runs a model."
    OpenVinoOpen "openvino-open" "OpenVINO reads or compiles a model."
    OpenVinoRun "openvino-run" "OpenVINO runs a model."
    DriverCall "driver" "Calls of the CUDA driver that are none of the others."
    Launch "launch" "Kernels and graphs are launched."
    DeviceMemory "device-memory" "Device memory is allocated."
    PinnedMemory "pinned-memory" "Pinned memory is allocated."
    Compile "compile" "The engine fused compiles a kernel, or has cuDNN make an engine."
}

const COUNT: usize = Seam::ALL.len();

static CALLS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
/// The seam that is armed, by its place in [`Seam::ALL`]; [`COUNT`] for none.
static ARMED: AtomicUsize = AtomicUsize::new(COUNT);
static FIRST: AtomicU64 = AtomicU64::new(0);
static FORM: AtomicUsize = AtomicUsize::new(0);
static ERROR: AtomicI32 = AtomicI32::new(0);
static FAILED: AtomicU64 = AtomicU64::new(0);
/// The first call that failed.
static SITE: Mutex<String> = Mutex::new(String::new());
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// What a call is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is made.
    Real,
    /// It fails with this error.
    Error(i32),
    /// Half of it is made.
    Half,
}

impl Seam {
    fn place(self) -> usize {
        Self::ALL.iter().position(|seam| *seam == self).unwrap_or(COUNT)
    }

    /// How often it was called since it was last armed.
    pub(crate) fn calls(self) -> u64 {
        CALLS.get(self.place()).map_or(0, |calls| calls.load(SeqCst))
    }
}

/// Calls for files count from now on if these lie below this folder.
///
/// # Errors
/// It cannot be found.
pub fn watch(folder: &Path) -> std::io::Result<()> {
    let real = folder.canonicalize()?;
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(real);
    Ok(())
}

/// Whether this path lies below the folder that is watched; and its part below it.
pub(crate) fn watched(path: &Path) -> Option<String> {
    let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    Some(path.strip_prefix(folder.as_ref()?).ok()?.display().to_string())
}

/// Makes calls fail from now on, or none. Counts begin at 0 again.
pub(crate) fn arm(fault: Option<&Fault>) {
    ARMED.store(COUNT, SeqCst);
    CALLS.iter().chain([&FAILED]).for_each(|count| count.store(0, SeqCst));
    SITE.lock().unwrap_or_else(PoisonError::into_inner).clear();
    if let Some(fault) = fault {
        FIRST.store(fault.first, SeqCst);
        FORM.store(fault.form.number(), SeqCst);
        ERROR.store(fault.error, SeqCst);
        ARMED.store(fault.seam.place(), SeqCst);
    }
}

/// Makes all calls from now on, so that a scenario can look at what the run has left. Counts stay.
pub fn disarm() {
    ARMED.store(COUNT, SeqCst);
}

/// How many calls have failed since the seam was armed, and which was the first.
pub(crate) fn failed() -> (u64, String) {
    (FAILED.load(SeqCst), SITE.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

/// Counts a call and decides what becomes of it. `site` names it in the output; it is only asked where the call fails.
pub(crate) fn answer(seam: Seam, site: impl FnOnce() -> String) -> Answer {
    let place = seam.place();
    let Some(calls) = CALLS.get(place) else { return Answer::Real };
    let number = calls.fetch_add(1, SeqCst) + 1;
    if ARMED.load(SeqCst) != place {
        return Answer::Real;
    }
    let form = Form::of(FORM.load(SeqCst));
    let first = FIRST.load(SeqCst);
    if number != first && !(form == Form::ThenOn && number > first) {
        return Answer::Real;
    }
    if FAILED.fetch_add(1, SeqCst) == 0 {
        *SITE.lock().unwrap_or_else(PoisonError::into_inner) = site();
    }
    if form == Form::Half { Answer::Half } else { Answer::Error(ERROR.load(SeqCst)) }
}
