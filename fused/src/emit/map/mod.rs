//! Maps: a thread makes up to eight neighbouring elements of all outputs.
//!
//! The loops follow the first output's memory. Loads and stores are of up to 16 bytes wherever a tensor's elements lie together along the
//! innermost loop, and of single elements elsewhere; so each byte moves once, but for windows, whose cells come from the caches.

mod gather;
mod pool;
mod program;
mod resize;
mod sample;
mod source;
mod tile;

use std::fmt::Write as _;

use self::source::Input;
use self::tile::Tile;
use super::kernel::{Kernel, Slots};
use super::launch::MULTIPROCESSORS;
use super::nest::{Nest, is_small, offset};
use super::reader::{Reader, width};
use crate::FusedError;
use crate::plan::{Map, Source, View};

/// The kernels of a map: one, but where the outputs are too many for its parameter.
pub(super) fn kernels(map: &Map) -> Result<Vec<Kernel>, FusedError> {
    if map.dims.contains(&0) || map.outputs.is_empty() {
        return Ok(Vec::new());
    }
    let refuse = |why: String| Err(FusedError::Plan(why));
    let views = || map.sources.iter().flat_map(Source::views).chain(map.outputs.iter().map(|(view, _)| view));
    if let Some(view) = views().find(|view| !is_small(view)) {
        return refuse(format!("a map's tensor has too many elements: {view:?}"));
    }
    let (first, rest) = parts(map)?;
    let mut kernels = vec![kernel(&first)];
    if let Some(rest) = rest {
        let reads_what_is_written = map
            .sources
            .iter()
            .flat_map(Source::views)
            .any(|read| map.outputs.iter().any(|(view, _)| view.buffer == read.buffer));
        if reads_what_is_written {
            return refuse(format!(
                "a map in place has {} outputs, too many for a kernel",
                map.outputs.len()
            ));
        }
        kernels.extend(self::kernels(&rest)?);
    }
    Ok(kernels)
}

/// As many of the outputs as one kernel has room for, and the others.
fn parts(map: &Map) -> Result<(Map, Option<Map>), FusedError> {
    let with = |outputs: &[(View, usize)]| {
        let needed = program::needed(&map.program, outputs);
        let sources = program::sources(&map.program, &needed);
        let mut slots = Slots::writing(outputs.iter().map(|(view, _)| view));
        let read = sources.iter().filter_map(|source| map.sources.get(*source)).flat_map(Source::views);
        read.for_each(|view| {
            slots.address(view);
        });
        slots.fit()
    };
    let Some(count) = (1..=map.outputs.len()).rev().find(|count| with(&map.outputs[..*count])) else {
        return Err(FusedError::Plan(format!(
            "a map reads {} tensors, too many for a kernel",
            map.sources.len()
        )));
    };
    let (first, rest) = map.outputs.split_at(count);
    let part = |outputs: &[(View, usize)]| Map { outputs: outputs.to_vec(), ..map.clone() };
    Ok((part(first), (!rest.is_empty()).then(|| part(rest))))
}

/// The kernel of a map.
fn kernel(map: &Map) -> Kernel {
    let needed = program::needed(&map.program, &map.outputs);
    let sources = program::sources(&map.program, &needed);
    let mut slots = Slots::writing(map.outputs.iter().map(|(view, _)| view));
    let inputs: Vec<Input> = sources
        .iter()
        .map(|number| Input::new(*number, &map.sources[*number], &map.dims, &mut slots))
        .collect();
    let nest = nest(map, &inputs);
    let step = step(map, &nest, &inputs);
    let tile = Tile::new(&nest, &inputs, step);
    let step = tile.as_ref().map_or(step, |tile| tile.step);
    let threads = nest.count() / step / tile.as_ref().map_or(1, |tile| tile.count);

    let mut body = tile.as_ref().map_or_else(String::new, |tile| tile.begin(&nest, &inputs));
    for input in &inputs {
        let _ = writeln!(body, "    float s{}[{step}];", input.number);
        match &tile {
            Some(tile) if tile.has(input) => body.push_str(&tile.take(input)),
            _ => body.push_str(&input.source(&nest, step)),
        }
    }
    // Integers that a function makes are stored as they are, and not cut off.
    let is_carrier = |number: usize| {
        map.outputs.get(number).is_some_and(|(view, made)| map.program.quantizes_to(*made) == Some(view.ty))
    };
    for number in 0..map.outputs.len() {
        let _ = writeln!(body, "    float o{number}[{step}];");
    }
    let _ = writeln!(body, "#pragma unroll\n    for (int l = 0; l < {step}; ++l) {{");
    body.push_str(&program::source(&map.program, &needed));
    for (number, (_, expression)) in map.outputs.iter().enumerate() {
        let rise = if is_carrier(number) { " + RAISED" } else { "" };
        let _ = writeln!(body, "        o{number}[l] = e{expression}{rise};");
    }
    body.push_str("    }\n");
    for (number, (view, _)) in map.outputs.iter().enumerate() {
        let how = if is_carrier(number) { "store_carried" } else { "store" };
        body.push_str(&store(number, view, how, &nest, step, &mut slots));
    }

    if tile.is_some() {
        body.push_str("    }\n");
    }

    let (blocks, block) = super::launch::blocks(threads);
    let counters = tile.map_or_else(|| nest.counters("thread", step), |tile| tile.counters(&nest));
    let source = format!(
        "extern \"C\" __global__ void __launch_bounds__({block}) KERNEL(const Buffers b) {{\n    next_begins();\n    previous_wait();\n    \
         const unsigned thread = blockIdx.x * {block}u + threadIdx.x;\n    \
         if (thread >= b.count) {{\n        return;\n    }}\n{counters}{body}}}\n"
    );
    Kernel::new("map", &source, blocks, block, slots).counting(threads)
}

/// The loops of a map.
fn nest(map: &Map, inputs: &[Input]) -> Nest {
    let strides = inputs.iter().map(|input| &input.strides[..]);
    let views: Vec<&[isize]> = strides.chain(map.outputs.iter().map(|(view, _)| &view.strides[..])).collect();
    let special: Vec<bool> =
        (0..map.dims.len()).map(|dim| inputs.iter().any(|input| input.special[dim])).collect();
    Nest::new(&map.dims, &map.outputs[0].0.strides, &views, &special)
}

/// How many neighbours a thread makes: 16 bytes of the smallest type, but eight at most, where the first output takes them at once.
fn step(map: &Map, nest: &Nest, inputs: &[Input]) -> usize {
    let Some(innermost) = nest.axes.last() else { return 1 };
    let inputs = inputs.iter().map(|input| input.size);
    let size = inputs.chain(map.outputs.iter().map(|(view, _)| view.ty.size())).min().unwrap_or(4);
    let mut most = (16 / size).clamp(2, 8);
    while !innermost.extent.is_multiple_of(most) {
        most /= 2;
    }
    // A window's loads take their time one after another: where there are few threads, each makes less.
    let pools = map.sources.iter().any(|source| matches!(source, Source::Pooled { .. }));
    while pools && most > 2 && nest.count() / most < 256 * MULTIPROCESSORS {
        most /= 2;
    }
    let (view, _) = &map.outputs[0];
    width(view.offset, &nest.strides(&view.strides), most)
}

/// Stores what the program made of an output, by a function of cuda/memory.cuh.
fn store(number: usize, view: &View, how: &str, nest: &Nest, step: usize, slots: &mut Slots) -> String {
    let writer = Reader::new(view, slots);
    let strides = nest.strides(&view.strides);
    let counters: Vec<String> = (0..strides.len()).map(|axis| format!("c{axis}")).collect();
    let together = width(view.offset, &strides, step);
    let at = writer.at(&offset(&counters, &strides));
    let mut text = String::new();
    for lane in (0..step).step_by(together) {
        let lanes = strides.last().copied().unwrap_or(0) * lane.cast_signed();
        let _ = writeln!(text, "    {how}<{together}>({at} + {lanes}, o{number} + {lane});");
    }
    text
}
