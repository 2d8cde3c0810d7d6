//! Coordinates are results already: all rows of a batch are downloaded in one copy, and read on the host.

use crate::device::{CudaStream, DeviceTensor, Event, Pinned};
use crate::geometry::Affine;
use crate::keypoints::regressed::Announced;
use crate::keypoints::{CoordinateParams, Instance, InstanceReader, KeypointsError, PointReader};
use crate::peaks::{Outcome, Peak};
use crate::tensor::{Dims, TensorDesc, TensorView};

/// Downloads the rows of an output.
#[derive(Debug)]
struct Fetched {
    rows: Pinned,
    done: Event,
    /// The maps of the rows in flight.
    to_frame: Vec<Affine>,
    /// The dimensions of a batch of these rows.
    dims: Option<Dims>,
}

impl Fetched {
    fn new(stream: &CudaStream) -> Result<Self, KeypointsError> {
        Ok(Self {
            rows: stream.pin(0)?,
            done: Event::new(stream.context())?,
            to_frame: Vec::new(),
            dims: None,
        })
    }

    /// Enqueues the copy. One that was started before and not finished is dropped.
    fn start(
        &mut self,
        announced: &Announced,
        stream: &CudaStream,
        output: &DeviceTensor<'_>,
        to_frame: &[Affine],
    ) -> Result<(), KeypointsError> {
        self.dims = None;
        announced.check(output.name, output.ty, &output.dims, to_frame.len())?;
        let Some(rows) = output.first_rows(to_frame.len()).filter(|_| !to_frame.is_empty()) else {
            return Ok(());
        };
        if self.rows.bytes() < rows.bytes() {
            self.rows = stream.pin(rows.bytes())?;
        }
        // SAFETY: only `finish` reads the memory, and it waits for the copy.
        unsafe { stream.start_download(rows.slice(), &mut self.rows)? };
        stream.record(&self.done)?;
        self.to_frame.clear();
        self.to_frame.extend_from_slice(to_frame);
        self.dims = Some(rows.dims);
        Ok(())
    }

    /// Waits for the copy and hands each row to `read`.
    fn finish(
        &mut self,
        output: &TensorDesc,
        stream: &CudaStream,
        mut read: impl FnMut(&TensorView<'_>, &Affine) -> Result<Outcome, KeypointsError>,
    ) -> Result<Vec<Outcome>, KeypointsError> {
        let Some(dims) = self.dims.take() else { return Ok(Vec::new()) };
        stream.wait_on_host(&self.done)?;
        let bytes = dims.iter().product::<usize>() * output.ty.size();
        let all = self.rows.as_slice().get(..bytes).unwrap_or_default();
        let Ok(all) = TensorView::new(&output.name, output.ty, &dims, all) else { return Ok(Vec::new()) };
        let rows = self.to_frame.iter().enumerate();
        rows.filter_map(|(i, to_frame)| Some(read(&all.row(i)?, to_frame))).collect()
    }
}

/// [`PointReader`] for an output that lies in device memory, for all rows of a batch at once. One batch is in flight at a
/// time.
#[derive(Debug)]
pub struct CudaPointReader {
    reader: PointReader,
    fetched: Fetched,
}

impl CudaPointReader {
    /// As [`PointReader::new`].
    ///
    /// # Errors
    /// As that, and [`KeypointsError::Device`].
    pub fn new(
        output: &TensorDesc,
        input: [usize; 2],
        params: CoordinateParams,
        stream: &CudaStream,
    ) -> Result<Self, KeypointsError> {
        Ok(Self { reader: PointReader::new(output, input, params)?, fetched: Fetched::new(stream)? })
    }

    /// Enqueues the copy of as many rows of `output` as there are `to_frame`; [`CudaPointReader::finish`] returns the points.
    ///
    /// # Errors
    /// As [`PointReader::run`], and [`KeypointsError::Rows`] or [`KeypointsError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        output: &DeviceTensor<'_>,
        to_frame: &[Affine],
    ) -> Result<(), KeypointsError> {
        self.fetched.start(&self.reader.announced, stream, output, to_frame)
    }

    /// Waits once, and replaces `peaks` by the points of the rows that were started last, each as [`PointReader::run`] does.
    ///
    /// # Errors
    /// [`KeypointsError::Device`], also for faults of earlier work.
    pub fn finish(
        &mut self,
        stream: &CudaStream,
        peaks: &mut Vec<Vec<Peak>>,
    ) -> Result<Vec<Outcome>, KeypointsError> {
        peaks.clear();
        let Self { reader, fetched } = self;
        let output = reader.announced.output.clone();
        fetched.finish(&output, stream, |row, to_frame| {
            let mut of_row = Vec::new();
            let outcome = reader.run(row, to_frame, &mut of_row)?;
            peaks.push(of_row);
            Ok(outcome)
        })
    }
}

/// [`InstanceReader`] for an output that lies in device memory, as [`CudaPointReader`].
#[derive(Debug)]
pub struct CudaInstanceReader {
    reader: InstanceReader,
    fetched: Fetched,
}

impl CudaInstanceReader {
    /// As [`InstanceReader::new`].
    ///
    /// # Errors
    /// As that, and [`KeypointsError::Device`].
    pub fn new(
        output: &TensorDesc,
        input: [usize; 2],
        params: CoordinateParams,
        stream: &CudaStream,
    ) -> Result<Self, KeypointsError> {
        Ok(Self { reader: InstanceReader::new(output, input, params)?, fetched: Fetched::new(stream)? })
    }

    /// Enqueues the copy of as many rows of `output` as there are `to_frame`; [`CudaInstanceReader::finish`] returns
    /// the instances.
    ///
    /// # Errors
    /// As [`InstanceReader::run`], and [`KeypointsError::Rows`] or [`KeypointsError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        output: &DeviceTensor<'_>,
        to_frame: &[Affine],
    ) -> Result<(), KeypointsError> {
        self.fetched.start(&self.reader.announced, stream, output, to_frame)
    }

    /// Waits once, and replaces `instances` by those of the rows that were started last, each as [`InstanceReader::run`]
    /// does.
    ///
    /// # Errors
    /// [`KeypointsError::Device`], also for faults of earlier work.
    pub fn finish(
        &mut self,
        stream: &CudaStream,
        instances: &mut Vec<Vec<Instance>>,
    ) -> Result<Vec<Outcome>, KeypointsError> {
        instances.clear();
        let Self { reader, fetched } = self;
        let output = reader.announced.output.clone();
        fetched.finish(&output, stream, |row, to_frame| {
            let mut of_row = Vec::new();
            let outcome = reader.run(row, to_frame, &mut of_row)?;
            instances.push(of_row);
            Ok(outcome)
        })
    }
}
