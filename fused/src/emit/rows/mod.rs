//! Reductions and softmax (cuda/rows.cuh): how their rows are shared out among threads.

mod share;

use std::fmt::Write as _;

use self::share::{Share, aligned};
use super::kernel::{Kernel, Slots};
use super::launch::whole;
use super::nest::{Nest, is_small, offset};
use super::reader::{Reader, width};
use super::text::literal;
use crate::FusedError;
use crate::graph::ReduceKind;
use crate::plan::{Normalize, Reduce, Softmax, View};

/// The most numbers of a row that a thread keeps in registers.
const MOST_KEPT: usize = 64;

/// The kernel of a reduction.
pub(super) fn reduce(step: &Reduce) -> Result<Vec<Kernel>, FusedError> {
    if step.output.elements() == 0 {
        return Ok(Vec::new());
    }
    let state = match step.kind {
        Some(ReduceKind::Sum) => "Sum",
        Some(ReduceKind::Mean) => "Mean",
        Some(ReduceKind::Maximum) => "Most",
        Some(ReduceKind::Minimum) => "Least",
        Some(ReduceKind::L2) => "Norm",
        None => "WhereMost",
    };
    let rows = Rows::new(&step.input, &step.output, &step.axes, &[])?;
    let mut slots = Slots::writing([&step.output]);
    let shape = rows.shape(&mut slots) + &rows.write_result(&mut slots);
    Ok(vec![rows.kernel("reduce", &format!("reduce<KERNEL_shape, {state}>(b);"), &shape, slots)])
}

/// The kernel of a softmax.
pub(super) fn softmax(step: &Softmax) -> Result<Vec<Kernel>, FusedError> {
    if step.output.elements() == 0 {
        return Ok(Vec::new());
    }
    let rows = Rows::new(&step.input, &step.output, &[step.axis], &[])?;
    let mut slots = Slots::writing([&step.output]);
    let shape = rows.shape(&mut slots) + &rows.write_row(&mut slots);
    Ok(vec![rows.kernel("softmax", "softmax<KERNEL_shape>(b);", &shape, slots)])
}

/// The kernel of a normalisation.
pub(super) fn normalize(step: &Normalize) -> Result<Vec<Kernel>, FusedError> {
    let Normalize { input, axes, epsilon, factor, added, output } = step;
    if output.elements() == 0 {
        return Ok(Vec::new());
    }
    let along: Vec<&View> = [factor].into_iter().chain(added).collect();
    let rows = Rows::new(input, output, axes, &along)?;
    let mut slots = Slots::writing([output]);
    let mut shape = rows.shape(&mut slots) + &rows.write_row(&mut slots);
    let _ = writeln!(shape, "    static constexpr float EPSILON = {};", literal(*epsilon));
    shape += &rows.read_along("factor", Some(factor), &mut slots);
    shape += &rows.read_along("added", added.as_ref(), &mut slots);
    Ok(vec![rows.kernel("normalize", "normalize<KERNEL_shape>(b);", &shape, slots)])
}

/// The rows of a step, and who works at them.
struct Rows<'a> {
    input: &'a View,
    output: &'a View,
    /// The loops over rows.
    outer: Nest,
    /// The loops along a row.
    inner: Nest,
    share: Share,
}

impl<'a> Rows<'a> {
    /// `along` are read along rows as well.
    fn new(input: &'a View, output: &'a View, axes: &[usize], along: &[&View]) -> Result<Self, FusedError> {
        if !is_small(input) || !is_small(output) {
            return Err(FusedError::Plan(format!("a reduction's tensor has too many elements: {input:?}")));
        }
        let keep = |is_inner: bool| -> Vec<usize> {
            let dims = input.dims.iter().enumerate();
            dims.map(|(dim, extent)| if axes.contains(&dim) == is_inner { *extent } else { 1 }).collect()
        };
        let special = vec![false; input.dims.len()];
        let views: [&[isize]; 2] = [&input.strides, &output.strides];
        let outer = Nest::new(&keep(false), &input.strides, &views, &special);
        // Of a reduction, the output has no strides along a row.
        let is_whole = output.dims == input.dims;
        let mut inside = if is_whole { views.to_vec() } else { views[..1].to_vec() };
        inside.extend(along.iter().map(|view| &view.strides[..]));
        let inner = Nest::new(&keep(true), &input.strides, &inside, &special);
        let share = Share::new(input, &outer, &inner);
        Ok(Self { input, output, outer, inner, share })
    }

    /// The constants of the kernel's shape, and how it reads.
    fn shape(&self, slots: &mut Slots) -> String {
        let Share { columns, count, length, groups, threads, .. } = self.share;
        let kept = length.div_ceil(groups) * count <= MOST_KEPT;
        let reader = Reader::new(self.input, slots);
        let (unit_step, load_step) = if columns { (count, 1) } else { (1, count) };
        let place = |nest: &Nest, from: &str, step: usize| {
            let sum = offset(&counters(nest), &nest.strides(&self.input.strides));
            format!("{}        return 0{sum};\n", nest.counters(from, step))
        };
        format!(
            "    static constexpr bool COLUMNS = {columns}, KEPT = {kept};\n    static constexpr int COUNT = {count}, \
             LENGTH = {length}, GROUPS = {groups}, THREADS = {threads};\n    \
             static __device__ int offset(unsigned unit) {{\n{}    }}\n    static __device__ int step(unsigned j) {{\n{}    }}\n    \
             static __device__ void read(const Buffers& b, float* to, int at) {{\n        {}\n    }}\n",
            place(&self.outer, "unit", unit_step),
            place(&self.inner, "j", load_step),
            reader.load("to", " + at", count),
        )
    }

    /// How a reduction's kernel writes the results of a unit.
    fn write_result(&self, slots: &mut Slots) -> String {
        let count = if self.share.columns { self.share.count } else { 1 };
        let stores = self.stores(&self.outer, &counters(&self.outer), count, slots);
        let counters = self.outer.counters("unit", count);
        format!(
            "    static __device__ void write(const Buffers& b, const float* from, unsigned unit) {{\n{counters}{stores}    }}\n"
        )
    }

    /// How a softmax' kernel writes what became of a load.
    fn write_row(&self, slots: &mut Slots) -> String {
        let Share { columns, count, .. } = self.share;
        let base = |nest: &Nest, name: &str, from: &str, step: usize| {
            let sum = offset(&counters(nest), &nest.strides(&self.output.strides));
            format!(
                "        int {name};\n        {{\n{}            {name} = 0{sum};\n        }}\n",
                nest.counters(from, step)
            )
        };
        let (unit_step, load_step) = if columns { (count, 1) } else { (1, count) };
        let text =
            base(&self.outer, "begin", "unit", unit_step) + &base(&self.inner, "along", "j", load_step);
        let nest = if columns { &self.outer } else { &self.inner };
        let all: Vec<isize> =
            self.both().iter().map(|(nest, axis)| nest.stride(*axis, &self.output.strides)).collect();
        let stride = nest.axes.len().checked_sub(1).map_or(0, |axis| nest.stride(axis, &self.output.strides));
        let together = aligned(self.output.offset, &all, stride, count);
        let writer = Reader::new(self.output, slots);
        let mut stores = String::new();
        for lane in (0..count).step_by(together) {
            let at = writer.at(&format!(" + begin + along + {}", stride * lane.cast_signed()));
            let _ = writeln!(stores, "        store<{together}>({at}, from + {lane});");
        }
        format!(
            "    static __device__ void write(const Buffers& b, const float* from, unsigned unit, unsigned j) {{\n{text}{stores}    }}\n"
        )
    }

    /// How a kernel reads what belongs to the numbers of a load, wherever the row is: 0 if there is no such tensor.
    fn read_along(&self, name: &str, view: Option<&View>, slots: &mut Slots) -> String {
        let Share { columns, count, .. } = self.share;
        let head = format!("    static __device__ void {name}(const Buffers& b, float* to, unsigned j) {{\n");
        let Some(view) = view else {
            return format!("{head}        for (int i = 0; i < COUNT; ++i) to[i] = 0.f;\n    }}\n");
        };
        let reader = Reader::constant(view, slots);
        let strides = self.inner.strides(&view.strides);
        let place = offset(&counters(&self.inner), &strides);
        let mut text = head + &self.inner.counters("j", if columns { 1 } else { count });
        if columns {
            // The numbers are of neighbouring rows.
            let one = reader.element(&place);
            let _ = writeln!(text, "        for (int i = 0; i < COUNT; ++i) to[i] = {one};");
        } else {
            let together = width(view.offset, &strides, count);
            let stride = strides.last().copied().unwrap_or(0);
            for lane in (0..count).step_by(together) {
                let at = format!("{place} + {}", stride * lane.cast_signed());
                let _ = writeln!(text, "        {}", reader.load(&format!("to + {lane}"), &at, together));
            }
        }
        text + "    }\n"
    }

    /// All loops.
    fn both(&self) -> Vec<(&Nest, usize)> {
        let axes = |nest: &'_ Nest| 0..nest.axes.len();
        axes(&self.outer)
            .map(|axis| (&self.outer, axis))
            .chain(axes(&self.inner).map(|axis| (&self.inner, axis)))
            .collect()
    }

    /// Stores `count` neighbours along the innermost of some loops.
    fn stores(&self, nest: &Nest, counters: &[String], count: usize, slots: &mut Slots) -> String {
        let writer = Reader::new(self.output, slots);
        let strides = nest.strides(&self.output.strides);
        let together = width(self.output.offset, &strides, count);
        let stride = strides.last().copied().unwrap_or(0);
        let mut text = String::new();
        for lane in (0..count).step_by(together) {
            let sum = offset(counters, &strides) + &format!(" + {}", stride * lane.cast_signed());
            let _ = writeln!(text, "        store<{together}>({}, from + {lane});", writer.at(&sum));
        }
        text
    }

    fn kernel(&self, what: &str, call: &str, shape: &str, slots: Slots) -> Kernel {
        let Share { units, groups, threads, .. } = self.share;
        let source = format!(
            "struct KERNEL_shape {{\n{shape}}};\nextern \"C\" __global__ void __launch_bounds__({threads}) KERNEL(const Buffers b) \
             {{\n    {call}\n}}\n"
        );
        let blocks = units.div_ceil(threads / groups);
        Kernel::new(what, &source, whole(blocks), whole(threads), slots).counting(units)
    }
}

/// The names of a nest's counters.
fn counters(nest: &Nest) -> Vec<String> {
    (0..nest.axes.len()).map(|axis| format!("c{axis}")).collect()
}
