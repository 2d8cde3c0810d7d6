//! Convolutions of integers of 8 bits, instead of such of the numbers that these stand for.

use super::super::number::{float, integer, real, real_length};
use super::super::{Elements, Node, Operator, Quantization, Refusal, ValueId, Window};
use super::quantize::integers;
use super::rewrite::Rewrite;
use cudainfer_kernels::tensor::TensorType;

/// A convolution of numbers of integers, by weights that are multiples of a number for each output, is one of integers.
pub fn convolution(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let Operator::Convolution { window, groups } = node.operator else { return Ok(None) };
    let Some((x, by)) = integers(rewrite, node.inputs[0]) else { return Ok(None) };
    let Some(weights) = Weights::of(rewrite, node.inputs[1], 0) else { return Ok(None) };
    if groups > 1 && weights.of_output() > MOST_OF_GROUP {
        return Ok(None);
    }
    let dims = rewrite.dims(node.inputs[1]).to_vec();
    let mut inputs = vec![x];
    inputs.extend(weights.add(rewrite, &dims, by));
    inputs.extend(&node.inputs[2..]);
    let operator = Operator::QuantizedConvolution { window, groups, zero: by.zero };
    let dims = rewrite.dims(node.output).to_vec();
    rewrite.builder.node(operator, &inputs, TensorType::Float32, &dims).map(Some)
}

/// A product of numbers of integers with such a matrix is a convolution of images of one pixel.
pub fn product(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    if node.operator != Operator::MatMul {
        return Ok(None);
    }
    let &[_, columns] = rewrite.dims(node.inputs[1]) else { return Ok(None) };
    let Some((x, by)) = integers(rewrite, node.inputs[0]) else { return Ok(None) };
    let Some(weights) = Weights::of(rewrite, node.inputs[1], 1) else { return Ok(None) };
    let Some((depth, rows)) = rewrite.dims(x).split_last() else { return Ok(None) };
    let (depth, rows) = (*depth, rows.iter().product());
    let mut inputs = vec![rewrite.builder.reshape(x, &[rows, depth, 1, 1])?];
    inputs.extend(weights.add(rewrite, &[columns, depth, 1, 1], by));
    let window = Window { kernel: [1; 2], strides: [1; 2], dilations: [1; 2], begin: [0; 2], end: [0; 2] };
    let operator = Operator::QuantizedConvolution { window, groups: 1, zero: by.zero };
    let made = rewrite.builder.node(operator, &inputs, TensorType::Float32, &[rows, columns, 1, 1])?;
    let dims = rewrite.dims(node.output).to_vec();
    rewrite.builder.reshape(made, &dims).map(Some)
}

/// The longest sums of a convolution in groups: its kernels add up in float32, which holds such integers.
const MOST_OF_GROUP: usize = 512;

/// The most that a product of two integers of 8 bits is.
const MOST_PRODUCT: f64 = 255.0 * 128.0;

/// Weights as int8, the outputs' axis first, and what each output's are multiplied by to give them.
struct Weights {
    integers: Vec<i64>,
    scales: Vec<f32>,
}

impl Weights {
    /// Of a constant whose outputs lie along an axis: if that is exact, and sums fit into int32.
    fn of(rewrite: &Rewrite, weights: ValueId, axis: usize) -> Option<Self> {
        let value = rewrite.builder.graph.value(weights);
        let (elements, steps) = (value.constant.as_ref()?, value.steps.as_ref()?);
        let outputs = *value.dims.get(axis).filter(|outputs| **outputs > 0)?;
        let scales = match steps.scales[..] {
            [one] => vec![one; outputs],
            _ if steps.axis == axis && steps.scales.len() == outputs => steps.scales.clone(),
            _ => return None,
        };
        let of_output = elements.len() / outputs;
        let is_small = real_length(of_output) * MOST_PRODUCT <= f64::from(i32::MAX);
        if value.ty != TensorType::Float32 || !is_small {
            return None;
        }
        let inner: usize = value.dims[axis + 1..].iter().product();
        let mut integers = Vec::with_capacity(elements.len());
        for (output, scale) in scales.iter().enumerate() {
            for at in 0..of_output {
                let outer = at / inner * outputs + output;
                integers.push(whole(elements.number(outer * inner + at % inner), *scale)?);
            }
        }
        Some(Self { integers, scales })
    }

    /// The number of an output's.
    fn of_output(&self) -> usize {
        self.integers.len() / self.scales.len()
    }

    /// Adds them as constants, and what sums of their products with these integers are multiplied by.
    fn add(self, rewrite: &mut Rewrite, dims: &[usize], by: Quantization) -> [ValueId; 2] {
        let scales = self.scales.iter().map(|scale| float(f64::from(*scale) * f64::from(by.scale)));
        let scales = Elements::Floats(scales.collect());
        let builder = &mut rewrite.builder;
        let weights = builder.constant(TensorType::Int8, dims, Elements::Integers(self.integers));
        [weights, builder.constant(TensorType::Float32, &dims[..1], scales)]
    }
}

/// The int8 of which a weight is this multiple, exactly.
fn whole(weight: f64, scale: f32) -> Option<i64> {
    let scale = f64::from(scale);
    let whole = if weight == 0.0 { 0 } else { integer((weight / scale).round()) };
    let is_exact = f64::from(float(real(whole) * scale)) == weight;
    ((-128..=127).contains(&whole) && is_exact).then_some(whole)
}
