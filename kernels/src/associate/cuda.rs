//! Object keypoint similarity on the GPU.

use super::Pose;
use super::oks::{is_scale, lay_out, spread};
use crate::device::{CudaStream, DeviceError, Event, Kernel, Memory, Pinned};

/// Threads of a block.
const THREADS: u32 = 128;
/// Rows and columns of a tile.
const TILE: [u32; 2] = [4, 32];
/// Bytes that are allocated at first.
const ROOM: usize = 64 << 10;

/// The kernels' `Params`.
#[repr(C)]
#[derive(Clone, Copy)]
struct AssociateKernelParams {
    a: u64,
    b: u64,
    areas: u64,
    spreads: u64,
    out: u64,
    rows: u32,
    cols: u32,
    keypoints: u32,
}
const _: () = assert!(size_of::<AssociateKernelParams>() == 56);

/// [`super::oks_matrix`] on the GPU. A call uploads the objects, launches one kernel, which writes the matrix to host
/// memory, and waits for it; that pays only for crowds, see [`super::Similarity`]. Memory grows to what the largest call needs.
/// (Boxes are compared on the CPU, which looks only at those that overlap: reading a GPU's matrix of all took longer.)
#[derive(Debug)]
pub struct CudaSimilarity {
    oks: Kernel,
    objects: Pinned,
    uploaded: Memory,
    matrix: Pinned,
    done: Event,
}

impl CudaSimilarity {
    /// For streams of the context of `stream`, which counts the allocations.
    ///
    /// # Errors
    /// [`DeviceError`] if the GPU has no memory left or refuses the kernels.
    pub fn new(stream: &CudaStream) -> Result<Self, DeviceError> {
        let context = stream.context();
        Ok(Self {
            oks: Kernel::load(context, "associate", "oks")?,
            objects: stream.pin(ROOM)?,
            uploaded: stream.allocate(ROOM)?,
            matrix: stream.pin(ROOM)?,
            done: Event::new(context)?,
        })
    }

    /// As [`super::oks_matrix`], bit for bit.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn oks(
        &mut self,
        stream: &CudaStream,
        a: &[Pose<'_>],
        b: &[Pose<'_>],
        sigmas: &[f32],
    ) -> Result<&[f32], DeviceError> {
        if a.is_empty() || b.is_empty() {
            return Ok(&[]);
        }
        let keypoints = sigmas.len();
        let [points_a, points_b] = [2 * keypoints * a.len(), 2 * keypoints * b.len()];
        let floats = points_a + points_b + a.len() + keypoints;
        let objects = self.room(stream, floats, a.len() * b.len())?;
        let (points, rest) = objects.split_at_mut(points_a + points_b);
        let (areas, spreads) = rest.split_at_mut(a.len());
        lay_out(a.iter().chain(b), keypoints, points.as_chunks_mut().0);
        for (slot, pose) in areas.iter_mut().zip(a) {
            *slot = if is_scale(pose.area) { pose.area } else { 0.0 };
        }
        for (slot, sigma) in spreads.iter_mut().zip(sigmas) {
            *slot = spread(*sigma);
        }
        let at = |floats: usize| self.uploaded.pointer() + 4 * floats as u64;
        let params = AssociateKernelParams {
            a: at(0),
            b: at(points_a),
            areas: at(points_a + points_b),
            spreads: at(points_a + points_b + a.len()),
            out: self.matrix.pointer(),
            rows: count(a.len()),
            cols: count(b.len()),
            keypoints: count(keypoints),
        };
        self.launch(stream, floats, &params)?;
        self.result(stream, a.len() * b.len())
    }

    /// Makes room for this many floats of objects and of the matrix; returns the host's memory to upload from.
    fn room(
        &mut self,
        stream: &CudaStream,
        objects: usize,
        matrix: usize,
    ) -> Result<&mut [f32], DeviceError> {
        let bytes = |floats: usize| floats.saturating_mul(size_of::<f32>());
        let more = |bytes: usize| bytes.checked_next_power_of_two().unwrap_or(bytes);
        // The last call has waited for its work, so the memory is not in use.
        if self.objects.bytes() < bytes(objects) {
            self.objects = stream.pin(more(bytes(objects)))?;
            self.uploaded = stream.allocate(more(bytes(objects)))?;
        }
        if self.matrix.bytes() < bytes(matrix) {
            self.matrix = stream.pin(more(bytes(matrix)))?;
        }
        Ok(&mut bytemuck::cast_slice_mut(self.objects.as_mut_slice())[..objects])
    }

    fn launch(
        &self,
        stream: &CudaStream,
        floats: usize,
        params: &AssociateKernelParams,
    ) -> Result<(), DeviceError> {
        let [rows, cols] = TILE;
        let uploaded = self.uploaded.slice().first(size_of::<f32>() * floats);
        // SAFETY: the next call writes the objects again, after `result` has waited in this one.
        unsafe { stream.start_upload(&self.objects, uploaded)? };
        let grid = [params.rows.div_ceil(rows), params.cols.div_ceil(cols), 1];
        // SAFETY: `AssociateKernelParams` mirrors the kernels' struct. `room` has made room for all that they read and write, and it stays
        // until they are done, because `result` waits.
        unsafe { stream.launch(&self.oks, grid, [THREADS, 1, 1], 0, params) }?;
        stream.record(&self.done)
    }

    fn result(&self, stream: &CudaStream, pairs: usize) -> Result<&[f32], DeviceError> {
        stream.wait_on_host(&self.done)?;
        stream.counters().device_to_host.add_size(size_of::<f32>() * pairs);
        Ok(&bytemuck::cast_slice(self.matrix.as_slice())[..pairs])
    }
}

/// Kernels count in 32 bits; for larger sets there would be no memory for the matrix.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
