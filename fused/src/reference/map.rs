//! Maps: each element by itself.

use super::memory::Memory;
use super::{function, index, place, places, sample};
use crate::plan::{Expression, Map, Program, Source};

/// Runs a map: everything is read before anything is written.
pub(super) fn run(step: &Map, memory: &mut Memory) -> Result<(), String> {
    let sources = step.sources.iter().map(|source| elements(source, &step.dims, memory));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let mut outputs = vec![Vec::new(); step.outputs.len()];
    for index in 0..step.dims.iter().product() {
        let numbers = evaluate(&step.program, |source| sources.get(source).map(|source| source[index]))?;
        for (output, (_, expression)) in outputs.iter_mut().zip(&step.outputs) {
            let number = numbers.get(*expression);
            output.push(*number.ok_or_else(|| format!("there is no expression {expression}"))?);
        }
    }
    step.outputs.iter().zip(outputs).try_for_each(|((view, _), elements)| memory.write(view, &elements))
}

/// What a program's expressions are, given its sources.
fn evaluate(program: &Program, source: impl Fn(usize) -> Option<f32>) -> Result<Vec<f32>, String> {
    let mut numbers: Vec<f32> = Vec::new();
    for (at, expression) in program.0.iter().enumerate() {
        let number = |of: usize| {
            numbers
                .get(of)
                .copied()
                .ok_or_else(|| format!("expression {at} refers to {of}, which is not made yet"))
        };
        let made = match *expression {
            Expression::Source(of) => source(of).ok_or_else(|| format!("there is no source {of}"))?,
            Expression::Constant(number) => number,
            Expression::Unary(function, of) => function::unary(function, number(of)?),
            Expression::Binary(function, a, b) => function::binary(function, number(a)?, number(b)?),
            Expression::Select(condition, then, other) => {
                if number(condition)? != 0.0 {
                    number(then)?
                } else {
                    number(other)?
                }
            }
        };
        numbers.push(made);
    }
    Ok(numbers)
}

/// What a source is at all places, row-major.
fn elements(source: &Source, dims: &[usize], memory: &Memory) -> Result<Vec<f32>, String> {
    let view = source.view();
    let tensor = memory.read(view)?;
    let same_rank = view.dims.len() == dims.len();
    match source {
        Source::Element(_) if view.dims == dims => Ok(tensor),
        Source::Resized { mode, coordinates, scales, .. } if same_rank && scales.len() == dims.len() => {
            let tables = sample::resized(*mode, *coordinates, scales, &view.dims, dims);
            Ok(places(dims).map(|at| sample::mix(&tables, &tensor, &view.dims, &at)).collect())
        }
        Source::Padded { before, mode, .. } if same_rank && before.len() == dims.len() => {
            Ok(places(dims).map(|at| sample::padded(*mode, before, &tensor, &view.dims, &at)).collect())
        }
        Source::Pooled { kind, window, .. } if same_rank && dims.len() == 4 => {
            let count: usize = dims.iter().product();
            Ok((0..count)
                .map(|i| sample::pooled(*kind, window, &tensor, &view.dims, &place(dims, i)))
                .collect())
        }
        Source::Gathered { indices, axis, .. } if same_rank && *axis < dims.len() => {
            let chosen = memory.read(indices)?;
            let element = |(mut at, chosen): (Vec<usize>, f32)| {
                at[*axis] = sample::chosen(chosen, view.dims[*axis]);
                tensor[index(&view.dims, &at)]
            };
            Ok(places(dims).zip(chosen).map(element).collect())
        }
        Source::Sampled { places: [x, y], how, .. } if same_rank && dims.len() == 4 => {
            let both = memory.read(x)?.into_iter().zip(memory.read(y)?);
            Ok(places(dims)
                .zip(both)
                .map(|(at, place)| sample::sampled(*how, &tensor, &view.dims, &at, place))
                .collect())
        }
        _ => Err(format!("{source:?} has no {dims:?}")),
    }
}
