//! Decodes outputs in which each row is the result of one frame or region: on the CPU row by row, on the GPU all rows of a
//! batch at once.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::geometry::RowFrame;
use cudainfer_kernels::sanity::{Expected, Survey};
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::Side;
use crate::meta::batch::{Batch, ResultKey};
use crate::meta::tensor::{Failure, OnDevice, Tensor, TensorSet};

/// The kernels of an element that decodes rows.
pub trait RowDecoder: Send + 'static {
    /// The decoder on the CPU.
    type Cpu: Send;
    /// The decoder on the GPU, in one stream.
    type Gpu: Send;
    /// The results of a row.
    type Found: Clone + Send + Sync + 'static;

    /// Whether there is a version on the GPU. Without one, tensors are downloaded, which is counted as a fallback.
    fn is_on_gpu(&self) -> bool {
        true
    }

    /// Called with the first tensors in system memory, and earlier to check outputs and parameters.
    ///
    /// # Errors
    /// They do not fit.
    fn cpu(&self) -> Result<Self::Cpu, Failure>;

    /// Called with the first tensors on the GPU.
    ///
    /// # Errors
    /// As `cpu`; an error of the driver.
    fn gpu(&self, stream: &CudaStream) -> Result<Self::Gpu, Failure>;

    /// Decodes a row on the CPU.
    ///
    /// # Errors
    /// Tensors that differ from those announced.
    fn run(cpu: &mut Self::Cpu, tensors: &[TensorView<'_>], row: &RowFrame) -> Result<Self::Found, Failure>;

    /// Enqueues the work on all rows of a batch.
    ///
    /// # Errors
    /// As `run`; an error of the driver.
    fn start(
        gpu: &mut Self::Gpu,
        stream: &CudaStream,
        tensors: &[DeviceTensor<'_>],
        rows: &[RowFrame],
    ) -> Result<(), Failure>;

    /// Waits for the work, and returns the results of each row.
    ///
    /// # Errors
    /// An error of the driver.
    fn finish(gpu: &mut Self::Gpu, stream: &CudaStream) -> Result<Vec<Self::Found>, Failure>;

    /// Whether `finish` failed for lack of room that has been made meanwhile: the same batch is started once more.
    fn has_room_now(_failure: &Failure) -> bool {
        false
    }

    /// What [`RowDecoder::survey`] should show; `None` if nothing about the outputs is judged.
    fn expected(&self) -> Option<Expected> {
        None
    }

    /// Statistics of a row; `None` for tensors that differ from those announced.
    fn survey(&self, _tensors: &[TensorView<'_>]) -> Option<Survey> {
        None
    }
}

/// Decodes rows on the device that has their tensors.
pub struct Rows<D: RowDecoder> {
    decoder: D,
    /// The outputs that are read; empty for all.
    reads: Vec<TensorDesc>,
    /// Everything that the results depend on, except for the tensors.
    key: ResultKey,
    /// The frame's width and height.
    frame: [usize; 2],
    made: Option<Made<D>>,
}

/// The decoder, made with the first tensors.
enum Made<D: RowDecoder> {
    Cpu(D::Cpu),
    /// With the stream that it was made for.
    Gpu(D::Gpu, Arc<CudaStream>),
}

impl<D: RowDecoder> Rows<D> {
    /// `key` has everything that the results depend on, except for the tensors: elements with the same key share the results
    /// of a batch. `reads` are the outputs that the decoder reads, in its order; empty for all. `frame` is the frame's width
    /// and height.
    ///
    /// # Errors
    /// Outputs or parameters that do not fit, as far as that is known before the first tensors.
    pub fn new(decoder: D, key: &str, reads: Vec<TensorDesc>, frame: [usize; 2]) -> Result<Self, String> {
        decoder.cpu().map_err(|e| e.to_string())?;
        Ok(Self { decoder, reads, key: ResultKey::new(key), frame, made: None })
    }

    /// The results of the row of its batch that `set` is.
    pub fn find(&mut self, set: &TensorSet, side: &Side) -> Result<D::Found, String> {
        let (batch, number) = set.batch(self.frame);
        let tensors = self.read(batch.tensors())?;
        let found = match side.on_device(tensors)? {
            Some((_, stream)) if !self.decoder.is_on_gpu() => {
                stream.counters().fallbacks.add(1);
                self.on_cpu(set)
            }
            Some((tensors, stream)) => self.on_gpu(&batch, number, &tensors, &stream),
            None => self.on_cpu(set),
        };
        found.map_err(|e| e.to_string())
    }

    /// Decodes each of `sets`, and hands it and its results to `put`.
    ///
    /// # Errors
    /// A sentence: a tensor is missing or differs from the one announced, an error of the driver, or what `put` returns.
    pub fn find_each(
        &mut self,
        sets: &[TensorSet],
        side: &Side,
        mut put: impl FnMut(&TensorSet, D::Found) -> Result<(), String>,
    ) -> Result<(), String> {
        for set in sets {
            let found = self.find(set, side)?;
            put(set, found)?;
        }
        Ok(())
    }

    /// For [`super::Decode::expected`].
    pub fn expected(&self) -> Option<Expected> {
        self.decoder.expected()
    }

    /// For [`super::Decode::survey`].
    pub fn survey(&self, set: &TensorSet) -> Option<Survey> {
        let tensors = self.read(&set.tensors).ok()?;
        let mapped = tensors.into_iter().map(|tensor| tensor.map().ok()).collect::<Option<Vec<_>>>()?;
        let views = mapped.iter().map(|mapped| mapped.view().ok()).collect::<Option<Vec<_>>>()?;
        self.decoder.survey(&views)
    }

    /// The tensors that are read, not copied: each row of a batch asks for them.
    fn read<'a>(&self, all: &'a [Tensor]) -> Result<Vec<&'a Tensor>, String> {
        if self.reads.is_empty() {
            return Ok(all.iter().collect());
        }
        let tensor = |output: &TensorDesc| {
            let missing = || format!("a frame came without the tensor '{}'", output.name);
            all.iter().find(|t| t.desc.name == output.name).ok_or_else(missing)
        };
        self.reads.iter().map(tensor).collect()
    }

    fn on_cpu(&mut self, set: &TensorSet) -> Result<D::Found, Failure> {
        let tensors = self.read(&set.tensors)?;
        let mapped = tensors.into_iter().map(Tensor::map).collect::<Result<Vec<_>, _>>()?;
        let views = mapped.iter().map(|mapped| mapped.view()).collect::<Result<Vec<_>, _>>()?;
        if !matches!(self.made, Some(Made::Cpu(_))) {
            self.made = Some(Made::Cpu(self.decoder.cpu()?));
        }
        let Some(Made::Cpu(cpu)) = &mut self.made else { return Err("there is no decoder".into()) };
        D::run(cpu, &views, &RowFrame { to_frame: set.to_frame, frame: self.frame })
    }

    /// The host waits for the GPU here, because results become metadata. The first row of a batch that arrives has the whole
    /// batch decoded.
    fn on_gpu(
        &mut self,
        batch: &Batch,
        number: usize,
        tensors: &OnDevice<'_>,
        stream: &Arc<CudaStream>,
    ) -> Result<D::Found, Failure> {
        let Self { decoder, key, made, .. } = self;
        let found = batch.once(key, || {
            if !matches!(made, Some(Made::Gpu(_, made_for)) if Arc::ptr_eq(made_for, stream)) {
                *made = Some(Made::Gpu(decoder.gpu(stream)?, Arc::clone(stream)));
            }
            let Some(Made::Gpu(gpu, _)) = made else { return Err("there is no decoder".into()) };
            let mut decode = || {
                tensors
                    .read(stream, |views| stream.sampled(|| D::start(gpu, stream, views, batch.rows())))?;
                D::finish(gpu, stream)
            };
            match decode() {
                Err(failure) if D::has_room_now(&failure) => decode(),
                done => done,
            }
        })?;
        found.get(number).cloned().ok_or_else(|| "the batch has no such row".into())
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Affine;
    use cudainfer_kernels::tensor::TensorType;

    use super::*;

    /// Counts the references to a buffer while its bytes are decoded, and adds up the bytes.
    struct Holders(gst::Buffer);

    impl RowDecoder for Holders {
        type Cpu = gst::Buffer;
        type Gpu = ();
        type Found = (i32, u32);

        fn cpu(&self) -> Result<Self::Cpu, Failure> {
            Ok(self.0.clone())
        }

        fn gpu(&self, _: &CudaStream) -> Result<Self::Gpu, Failure> {
            Err("there is no GPU".into())
        }

        fn run(
            held: &mut Self::Cpu,
            tensors: &[TensorView<'_>],
            _: &RowFrame,
        ) -> Result<Self::Found, Failure> {
            let sum = tensors.iter().flat_map(|tensor| tensor.bytes()).map(|byte| u32::from(*byte)).sum();
            Ok((holders(held), sum))
        }

        fn start(
            _: &mut Self::Gpu,
            _: &CudaStream,
            _: &[DeviceTensor<'_>],
            _: &[RowFrame],
        ) -> Result<(), Failure> {
            Err("there is no GPU".into())
        }

        fn finish(_: &mut Self::Gpu, _: &CudaStream) -> Result<Vec<Self::Found>, Failure> {
            Err("there is no GPU".into())
        }
    }

    fn holders(buffer: &gst::Buffer) -> i32 {
        // SAFETY: the buffer lives.
        unsafe { (*buffer.as_ptr()).mini_object.refcount }
    }

    fn tensor(name: &str, data: gst::Buffer) -> Tensor {
        Tensor { desc: TensorDesc::fixed(name, TensorType::UInt8, &[1, 4]), data }
    }

    #[test]
    fn the_outputs_that_are_read_are_not_copied_nor_held() {
        gst::init().unwrap();
        let boxes = tensor("boxes", gst::Buffer::from_slice([1u8, 2, 3, 4]));
        let scores = tensor("scores", gst::Buffer::from_slice([10u8, 20, 30, 40]));
        let batch = Batch::new(vec![boxes.clone(), scores.clone()], Vec::new());
        let set = TensorSet {
            tensors: vec![boxes.clone(), scores.clone()],
            input: [4, 4],
            to_frame: Affine::IDENTITY,
            batch: Some((batch, 0)),
            object: None,
            region: None,
            held: false,
        };
        for (reads, sum) in [(Vec::new(), 110), (vec![scores.desc.clone()], 100)] {
            let decoder = Holders(scores.data.clone());
            let mut rows = Rows::new(decoder, "sums", reads, [4, 4]).unwrap();
            let side = Side::default();
            rows.find(&set, &side).unwrap();
            let before = holders(&scores.data);
            assert_eq!(rows.find(&set, &side), Ok((before, sum)));
        }
        let gone =
            Rows::new(Holders(scores.data.clone()), "", vec!["masks:uint8:1x4".parse().unwrap()], [4, 4]);
        assert!(gone.unwrap().find(&set, &Side::default()).unwrap_err().contains("'masks'"));
    }
}
