//! Outputs that the host reads: all rows of a batch are downloaded in one copy an output, and read on the host.

use crate::device::{CudaStream, DeviceTensor, Event, Pinned};
use crate::geometry::Affine;
use crate::keypoints::reader::check;
use crate::keypoints::{KeypointsError, RowReader};
use crate::peaks::Outcome;
use crate::tensor::{Dims, TensorDesc, TensorView};

/// A [`RowReader`] for outputs that lie in device memory, for all rows of a batch at once. One batch is in flight at a time.
#[derive(Debug)]
pub struct CudaReader<R> {
    reader: R,
    /// What the reader announces, here so that no batch copies it.
    announced: Vec<TensorDesc>,
    /// A copy of each output's rows.
    copies: Vec<Copy>,
    done: Event,
    /// The maps of the rows in flight.
    to_frame: Vec<Affine>,
}

#[derive(Debug)]
struct Copy {
    rows: Pinned,
    /// The dimensions of a batch of these rows.
    dims: Dims,
}

impl<R: RowReader> CudaReader<R> {
    /// For the outputs of `reader`.
    ///
    /// # Errors
    /// [`KeypointsError::Device`].
    pub fn new(reader: R, stream: &CudaStream) -> Result<Self, KeypointsError> {
        let announced = reader.outputs().to_vec();
        Ok(Self {
            reader,
            announced,
            copies: Vec::new(),
            done: Event::new(stream.context())?,
            to_frame: Vec::new(),
        })
    }

    /// Enqueues the copies of as many rows of `outputs` as there are `to_frame`; [`CudaReader::finish`] returns their results. A batch
    /// that was started before and not finished is dropped.
    ///
    /// # Errors
    /// As [`RowReader::run`], and [`KeypointsError::Rows`] or [`KeypointsError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        outputs: &[DeviceTensor<'_>],
        to_frame: &[Affine],
    ) -> Result<(), KeypointsError> {
        self.to_frame.clear();
        if self.announced.len() != outputs.len() {
            return Err(KeypointsError::Count { got: outputs.len(), wanted: self.announced.len() });
        }
        for (announced, output) in self.announced.iter().zip(outputs) {
            check(announced, output.name, output.ty, &output.dims, to_frame.len())?;
        }
        for (i, output) in outputs.iter().enumerate() {
            let Some(rows) = output.first_rows(to_frame.len()).filter(|_| !to_frame.is_empty()) else {
                return Ok(());
            };
            if self.copies.len() <= i {
                self.copies.push(Copy { rows: stream.pin(rows.bytes())?, dims: rows.dims });
            }
            let copy = &mut self.copies[i];
            if copy.rows.bytes() < rows.bytes() {
                copy.rows = stream.pin(rows.bytes())?;
            }
            // SAFETY: only `finish` reads the memory, and it waits for the copy.
            unsafe { stream.start_download(rows.slice(), &mut copy.rows)? };
            copy.dims = rows.dims;
        }
        stream.record(&self.done)?;
        self.to_frame.extend_from_slice(to_frame);
        Ok(())
    }

    /// Waits once, and returns the results of the rows that were started last, each as [`RowReader::run`] makes them.
    ///
    /// # Errors
    /// [`KeypointsError::Device`], also for faults of earlier work.
    pub fn finish(&mut self, stream: &CudaStream) -> Result<Vec<(R::Found, Outcome)>, KeypointsError> {
        let to_frame = std::mem::take(&mut self.to_frame);
        if to_frame.is_empty() {
            return Ok(Vec::new());
        }
        stream.wait_on_host(&self.done)?;
        let batches: Vec<_> = self
            .announced
            .iter()
            .zip(&self.copies)
            .filter_map(|(output, copy)| {
                let bytes = copy.dims.iter().product::<usize>() * output.ty.size();
                let all = copy.rows.as_slice().get(..bytes)?;
                TensorView::new(&output.name, output.ty, &copy.dims, all).ok()
            })
            .collect();
        let results = to_frame.iter().enumerate().map(|(i, to_frame)| {
            let rows: Vec<_> = batches.iter().filter_map(|batch| batch.row(i)).collect();
            self.reader.run(&rows, to_frame)
        });
        results.collect()
    }
}
