//! What becomes of pieces of quantised networks: how many kernels, and what lies in memory.

use cudainfer_fused::graph::{
    Binary, Builder, Elements, Quantization, Steps, Unary, ValueId, Window, simplify,
};
use cudainfer_fused::lower::lower;
use cudainfer_fused::plan::{Epilogue, Plan, Step};
use cudainfer_kernels::tensor::TensorType::{self, Float32};

struct Making(Builder);

impl Making {
    fn new(dims: &[usize]) -> (Self, ValueId) {
        let mut builder = Builder::default();
        let image = builder.value(Float32, dims);
        builder.graph.inputs.push(image);
        (Self(builder), image)
    }

    /// The numbers of the integers by this scale.
    fn through(&mut self, from: ValueId, scale: f32) -> ValueId {
        let by = Quantization { scale, zero: 0, is_signed: true };
        let whole = self.0.unary(Unary::Quantize(by), from).unwrap();
        self.0.unary(Unary::Dequantize(by), whole).unwrap()
    }

    /// A convolution of 3x3 of integers with SiLU, as quantisers write it.
    fn convolution(&mut self, from: ValueId, filters: usize, scale: f32) -> ValueId {
        self.convolution_of(3, from, filters, scale)
    }

    /// The same of this many taps in each direction, an odd number.
    fn convolution_of(&mut self, taps: usize, from: ValueId, filters: usize, scale: f32) -> ValueId {
        let dims = [filters, self.0.dims(from)[1], taps, taps];
        let numbers = vec![0.5; dims.iter().product()];
        let weights = self.0.constant(Float32, &dims, Elements::Floats(numbers));
        self.0.graph.values[weights.0].steps = Some(Steps { axis: 0, scales: vec![0.5; filters] });
        let bias = self.0.constant(Float32, &[filters], Elements::Floats(vec![0.5; filters]));
        let border = [taps.cast_signed() / 2; 2];
        let window =
            Window { kernel: [taps; 2], strides: [1; 2], dilations: [1; 2], begin: border, end: border };
        let sums = self.0.convolution(&[from, weights, bias], window, 1).unwrap();
        let numbers = self.through(sums, 2.0 * scale);
        let open = self.0.unary(Unary::Sigmoid, numbers).unwrap();
        let gate = self.through(open, 0.01);
        let product = self.0.binary(Binary::Multiply, numbers, gate).unwrap();
        self.through(product, scale)
    }

    fn plan(mut self, output: ValueId) -> Plan {
        self.0.graph.outputs = vec![output];
        simplify(&mut self.0.graph).unwrap();
        lower(&self.0.graph).unwrap()
    }
}

/// The epilogues of a plan's convolutions, each in words, and the types that these read and write.
fn convolutions(plan: &Plan) -> Vec<(TensorType, String, TensorType)> {
    let of = |step: &Step| match step {
        Step::Convolution(step) => {
            let words = step.epilogue.iter().map(|part| match part {
                Epilogue::Unary(Unary::Quantize(_)) => "quantize",
                Epilogue::Unary(Unary::Dequantize(_)) => "dequantize",
                Epilogue::Unary(_) => "function",
                Epilogue::Add(_) | Epilogue::AddQuantized(..) => "add",
                Epilogue::Multiply(_) => "multiply",
                Epilogue::Store(_) => "store",
                Epilogue::Table(_) => "table",
            });
            Some((step.input.ty, words.collect::<Vec<_>>().join(" "), step.output.ty))
        }
        _ => None,
    };
    plan.steps.iter().filter_map(of).collect()
}

#[test]
fn halves_shortcuts_and_parts_with_other_steps_need_no_kernels_of_their_own() {
    // YOLOv8's C2f: two halves, a bottleneck after the second with a shortcut, all joined by other steps.
    let (mut making, image) = Making::new(&[1, 3, 8, 8]);
    let image = making.through(image, 0.01);
    let first = making.convolution(image, 32, 0.02);
    let halves = [0, 16].map(|start| making.0.slice_axis(first, 1, start, 1, 16).unwrap());
    let inner = making.convolution(halves[1], 16, 0.03);
    let inner = making.convolution(inner, 16, 0.04);
    let sum = making.0.binary(Binary::Add, halves[1], inner).unwrap();
    let sum = making.through(sum, 0.05);
    let joined = making.0.concat(&[halves[0], halves[1], sum], 1).unwrap();
    let joined = making.through(joined, 0.06);
    let last = making.convolution(joined, 24, 0.07);
    let plan = making.plan(last);
    let int8 = |words: &str| (TensorType::Int8, words.to_owned(), TensorType::Int8);
    let silu = "multiply add quantize table";
    assert_eq!(
        convolutions(&plan),
        [
            int8(&format!("{silu} store table")),
            int8(silu),
            int8(&format!("{silu} dequantize add quantize table")),
            (TensorType::Int8, format!("{silu} dequantize"), Float32),
        ]
    );
    // Before them are the image's integers. The last one writes its channels first, as the result has them.
    assert_eq!(plan.steps.len(), 5, "{:?}", plan.steps);
}

#[test]
fn three_channels_are_read_where_they_lie_or_by_many_taps_as_sixteen_by_weights_of_0() {
    let input_of = |taps: usize| {
        let (mut making, image) = Making::new(&[1, 3, 8, 8]);
        let image = making.through(image, 0.01);
        let last = making.convolution_of(taps, image, 8, 0.02);
        let plan = making.plan(last);
        let Some(Step::Convolution(step)) = plan.steps.get(1) else { panic!("{:?}", plan.steps) };
        (step.input.dims.clone(), step.input.strides.clone(), step.weights.dims.clone())
    };
    assert_eq!(input_of(3), (vec![1, 3, 8, 8], vec![192, 64, 8, 1], vec![8, 3, 3, 3]));
    assert_eq!(input_of(5), (vec![1, 16, 8, 8], vec![1024, 1, 128, 16], vec![8, 16, 5, 5]));
}
