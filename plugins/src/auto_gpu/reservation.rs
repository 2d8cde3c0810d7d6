//! The instances of this process, by GPU.

use std::path::Path;
use std::sync::Mutex;

use cudainfer_kernels::device::{Choice, Context, Device};

use super::{CAT, usable};
use crate::sync::lock;

/// The GPU of each instance there is.
static RESERVED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Memory that a model needs besides a few times its file.
const LEAST: usize = 512 << 20;

/// Multiple of a model's file that it may need: for weights, what the provider makes of them, and tensors between layers.
const FILES: usize = 4;

/// An instance counts on a GPU, as long as this lives.
#[derive(Debug)]
pub(crate) struct Reservation {
    gpu: Option<u32>,
}

impl Reservation {
    /// Reserves a GPU for the model in this file: the GPU that `device` names, or `near`, where the stream or the pipeline is;
    /// else the one with the fewest instances of this process that has room. None for the CPU.
    pub fn of(device: Choice, model: &Path, near: Option<u32>) -> Self {
        let mut reserved = lock(&RESERVED);
        let gpu = match device {
            Choice::Cpu => None,
            Choice::Cuda(gpu) => Some(gpu),
            Choice::Auto => near.or_else(|| choose(&usable(), &reserved, |gpu| has_room(gpu, model))),
        };
        if let Some(gpu) = gpu {
            let others = reserved.iter().filter(|other| **other == gpu).count();
            gst::info!(
                CAT,
                "{} runs on GPU {gpu}, with {others} other instances of this process (device={device})",
                model.display()
            );
            reserved.push(gpu);
        }
        Self { gpu }
    }

    /// Its number; none on the CPU.
    pub fn gpu(&self) -> Option<u32> {
        self.gpu
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some(gpu) = self.gpu else { return };
        let mut reserved = lock(&RESERVED);
        if let Some(place) = reserved.iter().position(|other| *other == gpu) {
            reserved.swap_remove(place);
        }
    }
}

/// The GPU with the fewest instances that has room, the first of several; where none has, the one with the fewest.
fn choose(devices: &[&Device], reserved: &[u32], has_room: impl Fn(&Device) -> bool) -> Option<u32> {
    let mut by_load = devices.to_vec();
    by_load.sort_by_key(|device| reserved.iter().filter(|gpu| **gpu == device.ordinal).count());
    // A single GPU is not asked for its memory: that takes a context.
    let found = match by_load.as_slice() {
        [only] => Some(only),
        several => several.iter().find(|device| has_room(device)).or(several.first()),
    };
    found.map(|device| device.ordinal)
}

/// Whether a GPU has memory left for the model, as far as its file tells.
fn has_room(device: &Device, model: &Path) -> bool {
    let file = std::fs::metadata(model).map_or(0, |data| usize::try_from(data.len()).unwrap_or(usize::MAX));
    let wanted = file.saturating_mul(FILES).saturating_add(LEAST);
    let free = Context::new(device).and_then(|context| context.memory()).map(|(free, _)| free);
    let room = free.as_ref().is_ok_and(|free| *free >= wanted);
    if !room {
        gst::info!(CAT, "GPU {} is passed over: {free:?} bytes free, {wanted} wanted", device.ordinal);
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(ordinal: u32) -> Device {
        Device { ordinal, name: format!("GPU {ordinal}"), capability: (9, 0), driver: 13000 }
    }

    #[test]
    fn the_gpu_with_the_fewest_instances_is_taken_if_it_has_room() {
        let gpus = [gpu(0), gpu(1), gpu(3)];
        let all: Vec<&Device> = gpus.iter().collect();
        let anywhere = |_: &Device| true;
        assert_eq!(choose(&all, &[], anywhere), Some(0));
        assert_eq!(choose(&all, &[0], anywhere), Some(1));
        assert_eq!(choose(&all, &[1, 0], anywhere), Some(3));
        assert_eq!(choose(&all, &[3, 1, 0, 0], anywhere), Some(1), "the first of those with as few");
        assert_eq!(choose(&all, &[], |device| device.ordinal == 3), Some(3));
        assert_eq!(choose(&all, &[0, 1], |_| false), Some(3), "where none has room, the emptiest");
        assert_eq!(choose(&all[..1], &[0, 0], |_| panic!("there is no other")), Some(0));
        assert_eq!(choose(&[], &[], anywhere), None);
    }

    #[test]
    fn a_reservation_counts_as_long_as_it_is_held_and_none_is_made_on_the_cpu() {
        // Numbers of GPUs that no test of models has.
        let on = |gpu| Reservation::of(Choice::Cuda(gpu), Path::new("none.onnx"), None);
        let count = |gpu| lock(&RESERVED).iter().filter(|other| **other == gpu).count();
        let (first, second) = (on(901), on(901));
        assert_eq!((first.gpu(), count(901)), (Some(901), 2));
        let near = Reservation::of(Choice::Auto, Path::new("none.onnx"), Some(902));
        assert_eq!((near.gpu(), count(902)), (Some(902), 1));
        drop((first, near));
        assert_eq!((count(901), count(902)), (1, 0));
        drop(second);
        assert_eq!(count(901), 0);
        assert_eq!(Reservation::of(Choice::Cpu, Path::new("none.onnx"), Some(901)).gpu(), None);
        assert_eq!(count(901), 0);
    }
}
