//! Rows of channels that are longer than the tensor has channels. Tensor cores take channels by eight, so a convolution of 21 channels is
//! made one of 24: what it writes in the rest of the row is read by nobody, or multiplied by weights of 0.

use std::collections::{HashMap, HashSet};

use super::convolution::Emitted;
use super::row;
use crate::graph::number::is_byte;
use crate::plan::{BufferId, Epilogue, View};

/// What is known of buffers that hold images with channels last.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// By buffer: how long its rows are, and how much of each is in use.
    rows: HashMap<BufferId, (usize, usize)>,
    /// Buffers whose rests of rows are numbers: NaN times 0 would be NaN.
    written: HashSet<BufferId>,
}

impl Rows {
    /// Notes that a buffer has rows of this length, of which so much is in use.
    pub fn add(&mut self, buffer: BufferId, length: usize, used: usize) {
        self.rows.insert(buffer, (length, used));
    }

    /// The view with the rest of its rows, as far as a multiple of [`row`], if that is nobody else's.
    pub fn wide(&self, view: &View) -> Option<View> {
        let (length, used) = *self.rows.get(&view.buffer)?;
        let (channels, wide) = (view.dims[1], view.dims[1].next_multiple_of(row(view.ty)));
        let begin = view.offset % length;
        let in_rows = [0, 2, 3].iter().all(|axis| view.strides[*axis].unsigned_abs().is_multiple_of(length));
        let is_last = begin + channels == used && begin + wide <= length;
        (in_rows && is_last && view.strides[1] == 1)
            .then(|| View { dims: widened(&view.dims, wide), ..view.clone() })
    }

    /// The same, where the rest of its rows are numbers.
    fn wide_and_written(&self, view: &View) -> Option<View> {
        self.wide(view).filter(|_| self.written.contains(&view.buffer))
    }

    /// Widens a convolution's output, where it is not a multiple of [`row`]: with filters of 0.
    pub fn widen_output(&mut self, emitted: &mut Emitted, output: &View) -> View {
        let filters = emitted.taps.filters;
        // What is added for integers has as many numbers as the model has filters.
        let is_integer = is_byte(emitted.input.ty);
        if filters.is_multiple_of(row(output.ty)) || filters <= 4 || emitted.groups != 1 || is_integer {
            return output.clone();
        }
        let parts = emitted.epilogue.iter().map(|part| match part {
            Epilogue::Unary(function) => Some(Epilogue::Unary(*function)),
            Epilogue::Add(view) => self.wide_and_written(view).map(Epilogue::Add),
            Epilogue::Multiply(view) => self.wide_and_written(view).map(Epilogue::Multiply),
            // Whatever nobody has written are integers as well.
            Epilogue::AddQuantized(view, by) => self.wide(view).map(|view| Epilogue::AddQuantized(view, *by)),
            Epilogue::Store(view) => self.wide(view).map(Epilogue::Store),
            Epilogue::Table(view) => Some(Epilogue::Table(view.clone())),
        });
        let (Some(wide), Some(epilogue)) = (self.wide(output), parts.collect()) else {
            return output.clone();
        };
        let of_filter = emitted.numbers.len() / filters;
        emitted.taps.filters = wide.dims[1];
        emitted.numbers.resize(of_filter * wide.dims[1], 0.0);
        if let Some(bias) = &mut emitted.bias {
            bias.resize(wide.dims[1], 0.0);
        }
        emitted.epilogue = epilogue;
        if wide.offset == 0 {
            self.written.insert(wide.buffer);
        }
        wide
    }

    /// Widens a convolution's input, where it is not a multiple of [`row`] and the rest of its rows are numbers, as integers always are:
    /// with weights of 0.
    pub fn widen_input(&self, emitted: &mut Emitted) {
        let channels = emitted.taps.channels;
        let is_good =
            is_byte(emitted.input.ty) || channels > 4 && self.written.contains(&emitted.input.buffer);
        if channels.is_multiple_of(row(emitted.input.ty)) || emitted.groups != 1 || !is_good {
            return;
        }
        let Some(wide) = self.wide(&emitted.input) else { return };
        let area = emitted.taps.rows * emitted.taps.columns;
        let filter = |filter: &[f32]| {
            let mut filter = filter.to_vec();
            filter.resize(wide.dims[1] * area, 0.0);
            filter
        };
        emitted.numbers = emitted.numbers.chunks_exact(channels * area).flat_map(filter).collect();
        emitted.taps.channels = wide.dims[1];
        emitted.input = wide;
    }
}

fn widened(dims: &[usize], channels: usize) -> Vec<usize> {
    let mut dims = dims.to_vec();
    dims[1] = channels;
    dims
}
