//! Copies of several pieces of device memory in one launch: what a batch is made of lies where its frames have brought it, and a copy
//! of each takes some microseconds of the host and of the device.

use crate::device::{CudaStream, DeviceError, DeviceSlice, Kernel};

/// Pieces that a launch takes.
const MOST_PIECES: usize = 64;
/// Threads of a block, bytes that a thread takes at a time, and the most blocks of a piece.
const THREADS: usize = 256;
const BYTES: usize = 4 * 16;
const MOST_BLOCKS: usize = 2048;

/// `Piece` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    from: u64,
    to: u64,
    bytes: u64,
}

/// `Params` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    pieces: [Piece; MOST_PIECES],
}

const _: () = assert!(size_of::<Arguments>() == 1536);

/// The kernel that copies.
#[derive(Clone, Debug)]
pub struct CudaCopies(Kernel);

impl CudaCopies {
    /// In the context of `stream`.
    ///
    /// # Errors
    /// [`DeviceError::Call`] if the driver does not take the kernel.
    pub fn new(stream: &CudaStream) -> Result<Self, DeviceError> {
        Kernel::load(stream.context(), "copies", "copy_pieces").map(Self)
    }

    /// Enqueues the copies of pieces, each to its place, of as many bytes as both have, and returns at once. A place overlaps
    /// neither with others nor with a piece; it is fastest where all begin at multiples of 16 bytes. One copy, or a launch for each 64 pieces.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn start(
        &self,
        stream: &CudaStream,
        copies: &[(DeviceSlice<'_>, DeviceSlice<'_>)],
    ) -> Result<(), DeviceError> {
        if let [(from, to)] = copies {
            return stream.copy_on_device(*from, *to);
        }
        for copies in copies.chunks(MOST_PIECES) {
            let mut arguments = Arguments { pieces: [Piece::default(); MOST_PIECES] };
            let (mut longest, mut all) = (0, 0);
            for (piece, (from, to)) in arguments.pieces.iter_mut().zip(copies) {
                let bytes = from.bytes().min(to.bytes());
                *piece = Piece { from: from.pointer(), to: to.pointer(), bytes: bytes as u64 };
                longest = longest.max(bytes);
                all += bytes;
            }
            let blocks = longest.div_ceil(BYTES * THREADS).clamp(1, MOST_BLOCKS);
            let [blocks, count, threads] =
                [blocks, copies.len(), THREADS].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            // SAFETY: the kernel's parameter is this struct; the slices hold as many bytes as it says, and stay as their makers promised.
            unsafe { stream.launch(&self.0, [blocks, count, 1], [threads, 1, 1], 0, &arguments)? };
            stream.counters().device_to_device.add_size(all);
        }
        Ok(())
    }
}
