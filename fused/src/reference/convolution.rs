//! Convolutions.

use super::memory::Memory;
use super::{function, index, places};
use crate::graph::Unary;
use crate::plan::{Convolution, Epilogue};

/// Runs a convolution.
pub(super) fn run(step: &Convolution, memory: &mut Memory) -> Result<(), String> {
    let input = memory.read(&step.input)?;
    let weights = memory.read(&step.weights)?;
    let bias = step.bias.as_ref().map(|bias| memory.read_exactly(bias)).transpose()?;
    let outside = f64::from(step.zero);
    let (image, taps) = (&step.input.dims, &step.weights.dims);
    let (&[_, channels, rows, columns], &[outputs, depth, ..]) = (&image[..], &taps[..]) else {
        return Err(format!("dimensions of a convolution are four each: {image:?}, {taps:?}"));
    };
    if step.groups == 0 || depth * step.groups != channels || outputs % step.groups != 0 {
        return Err(format!("{} groups of {image:?} by {taps:?}", step.groups));
    }
    let mut sums = Vec::new();
    for at in places(&step.output.dims) {
        let [image_number, k, p, q] = at[..] else { return Err("the output has four dimensions".into()) };
        let first = k / (outputs / step.groups) * depth;
        // Sums of integers are exact.
        let mut sum = bias.as_ref().map_or(0.0, |bias| bias[k]);
        for r in 0..taps[2] {
            for s in 0..taps[3] {
                let inside = step.window.cell(0, p, r, rows).zip(step.window.cell(1, q, s, columns));
                for c in 0..depth {
                    let cell = inside.map_or(outside, |(y, x)| {
                        f64::from(input[index(image, &[image_number, first + c, y, x])])
                    });
                    sum += cell * f64::from(weights[index(taps, &[k, c, r, s])]);
                }
            }
        }
        sums.push(sum as f32);
    }
    for epilogue in &step.epilogue {
        match epilogue {
            Epilogue::Unary(function) => {
                sums.iter_mut().for_each(|sum| *sum = function::unary(*function, *sum))
            }
            Epilogue::Add(view) => sums.iter_mut().zip(memory.read(view)?).for_each(|(sum, add)| *sum += add),
            Epilogue::Multiply(view) => {
                sums.iter_mut().zip(memory.read(view)?).for_each(|(sum, by)| *sum *= by)
            }
            Epilogue::AddQuantized(view, by) => {
                let add = |(sum, x): (&mut f32, f32)| *sum += function::unary(Unary::Dequantize(*by), x);
                sums.iter_mut().zip(memory.read(view)?).for_each(add);
            }
            Epilogue::Store(view) => memory.write(view, &sums)?,
            Epilogue::Table(view) => {
                let results = memory.read(view)?;
                let looked = |sum: &mut f32| {
                    *sum = results[usize::try_from((*sum as i32).rem_euclid(256)).unwrap_or(0)];
                };
                sums.iter_mut().for_each(looked);
            }
        }
    }
    memory.write(&step.output, &sums)
}
