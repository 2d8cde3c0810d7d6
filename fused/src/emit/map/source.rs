//! What a map's program reads, as source that fills `s0[0..step]`, `s1[0..step]`, ...

use std::fmt::Write as _;

use super::{gather, pool, resize, sample};
use crate::emit::kernel::Slots;
use crate::emit::nest::{Nest, offset};
use crate::emit::reader::{Reader, width};
use crate::emit::text::literal;
use crate::graph::PadMode;
use crate::plan::{Source, View};

/// A source of a map, as its kernel reads it.
pub(super) struct Input<'a> {
    /// Its index among the map's sources.
    pub(super) number: usize,
    /// The size of its elements in bytes.
    pub(super) size: usize,
    /// By dimension of the map; 0 where the tensor is not read at the place.
    pub(super) strides: Vec<isize>,
    /// Along which dimensions it is not simply read at the place.
    pub(super) special: Vec<bool>,
    kind: &'a Source,
    pub(super) reader: Reader,
    /// Of its other tensors: indices, places.
    pub(super) others: Vec<Reader>,
}

/// Where a piece of source reads.
pub(super) struct Place<'a> {
    pub(super) nest: &'a Nest,
    /// The array that is filled.
    pub(super) to: String,
    /// With how many neighbours along the innermost loop.
    pub(super) count: usize,
    /// The loops' counters.
    pub(super) counters: Vec<String>,
}

impl Place<'_> {
    /// The place along a dimension.
    pub(super) fn along(&self, dim: usize) -> String {
        self.nest.axis_of(dim).map_or_else(|| "0".into(), |axis| self.counters[axis].clone())
    }

    /// The map's extent along a dimension that is not joined with others.
    pub(super) fn extent(&self, dim: usize) -> usize {
        self.nest.axis_of(dim).map_or(1, |axis| self.nest.axes[axis].extent)
    }
}

impl<'a> Input<'a> {
    /// The source `number` of a map over `dims`.
    pub(super) fn new(number: usize, kind: &'a Source, dims: &[usize], slots: &mut Slots) -> Self {
        let view = kind.view();
        let is_other = |dim: usize| view.dims.get(dim) != dims.get(dim);
        let is_special = |dim: usize| match kind {
            Source::Element(_) => false,
            Source::Resized { scales, .. } => scales[dim] != 1.0 || is_other(dim),
            Source::Padded { before, .. } => before[dim] != 0 || is_other(dim),
            Source::Pooled { .. } | Source::Sampled { .. } => dim >= 2,
            Source::Gathered { axis, .. } => dim == *axis,
        };
        let mut special: Vec<bool> = (0..dims.len()).map(is_special).collect();
        let plain =
            view.strides.iter().zip(&special).map(|(stride, special)| if *special { 0 } else { *stride });
        let (strides, reader) = (plain.collect(), Reader::new(view, slots));
        // Along these dimensions, other elements are read at each place.
        for other in &kind.views()[1..] {
            special.iter_mut().zip(&other.strides).for_each(|(special, stride)| *special |= *stride != 0);
        }
        let others = kind.views()[1..].iter().map(|other| Reader::new(other, slots)).collect();
        Self { number, size: view.ty.size(), strides, special, kind, reader, others }
    }

    /// Of the first element.
    pub(super) fn offset(&self) -> usize {
        self.kind.view().offset
    }

    /// Source that fills this source's array with `step` neighbours along the innermost loop.
    pub(super) fn source(&self, nest: &Nest, step: usize) -> String {
        let view = self.kind.view();
        let strides = nest.strides(&self.strides);
        let (last, stride) = (strides.len().saturating_sub(1), strides.last().copied().unwrap_or(0));
        let is_special =
            (0..self.special.len()).any(|dim| self.special[dim] && nest.axis_of(dim) == Some(last));
        let place = |to: String, lane: &str, count: usize| {
            let mut counters: Vec<String> = (0..strides.len()).map(|axis| format!("c{axis}")).collect();
            if let (Some(counter), false) = (counters.last_mut(), lane.is_empty()) {
                *counter = format!("(c{last} + {lane})");
            }
            Place { nest, to, count, counters }
        };
        let array = format!("s{}", self.number);
        if step == 1 {
            return self.fill(&place(array, "", 1));
        }
        if is_special || !(0..=1).contains(&stride) {
            let one = self.fill(&place(format!("{array} + l"), "l", 1));
            return format!("#pragma unroll\n    for (int l = 0; l < {step}; ++l) {{\n{one}    }}\n");
        }
        if stride == 0 {
            return self.fill(&place(array.clone(), "", 1))
                + &format!("    fill<{step}>({array}, {array}[0]);\n");
        }
        let special = (0..self.special.len()).filter(|dim| self.special[*dim]);
        let all = special.filter_map(|dim| view.strides.get(dim).copied()).chain(strides.iter().copied());
        let together = width(view.offset, &all.collect::<Vec<_>>(), step);
        let lanes = (0..step).step_by(together);
        lanes
            .map(|lane| self.fill(&place(format!("{array} + {lane}"), &lane.to_string(), together)))
            .collect()
    }

    /// Source that fills `place.count` elements of an array.
    fn fill(&self, place: &Place) -> String {
        let plain = offset(&place.counters, &place.nest.strides(&self.strides));
        match self.kind {
            Source::Resized { view, mode, coordinates, scales } => {
                let resized = resize::Resized { view, mode: *mode, coordinates: *coordinates, scales };
                resize::source(&resized, self, place, &plain)
            }
            Source::Padded { view, before, mode } => self.padded(view, before, *mode, place, &plain),
            Source::Pooled { view, kind, window } => pool::source(view, *kind, window, self, place, &plain),
            Source::Gathered { view, indices, axis } => {
                gather::source(view, indices, *axis, self, place, &plain)
            }
            Source::Sampled { view, places, how } => sample::source(view, places, *how, self, place, &plain),
            Source::Element(_) => format!("    {}\n", self.reader.load(&place.to, &plain, place.count)),
        }
    }

    /// A test whether the place is inside, or the place inside that it mirrors.
    fn padded(&self, view: &View, before: &[isize], mode: PadMode, place: &Place, plain: &str) -> String {
        let mut text = String::from("    {\n");
        let (mut at, mut tests) = (plain.to_owned(), vec!["true".to_owned()]);
        for dim in (0..before.len()).filter(|dim| self.special[*dim]) {
            let (last, stride) = (view.dims[dim].cast_signed() - 1, view.strides[dim]);
            let cell = format!("int({}) - ({})", place.along(dim), before[dim]);
            let inside = match mode {
                PadMode::Constant(_) => cell,
                PadMode::Edge => format!("min(max({cell}, 0), {last})"),
                PadMode::Reflect if last == 0 => "0".into(),
                PadMode::Reflect => format!("reflect({cell}, {last})"),
            };
            let _ = writeln!(text, "        const int y{dim} = {inside};");
            let _ = write!(at, " + y{dim} * {stride}");
            tests.push(format!("unsigned(y{dim}) <= {last}u"));
        }
        let load = self.reader.load(&place.to, &at, place.count);
        if let PadMode::Constant(value) = mode {
            let fill = format!("fill<{}>({}, {});", place.count, place.to, literal(value));
            let test = tests.join(" && ");
            let _ = writeln!(
                text,
                "        if ({test}) {{\n            {load}\n        }} else {{\n            {fill}\n        }}"
            );
        } else {
            let _ = writeln!(text, "        {load}");
        }
        text + "    }\n"
    }
}
