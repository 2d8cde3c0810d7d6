//! What becomes of pieces of well-known networks: how many kernels, and what is copied.

use cudainfer_fused::graph::{Binary, Builder, Elements, Graph, Unary, ValueId, Window};
use cudainfer_fused::lower::lower;
use cudainfer_fused::plan::{Plan, Step};
use cudainfer_kernels::tensor::TensorType;

struct Making(Builder);

impl Making {
    fn new(dims: &[usize]) -> (Self, ValueId) {
        let mut builder = Builder::default();
        let image = builder.value(TensorType::Float16, dims);
        builder.graph.inputs.push(image);
        (Self(builder), image)
    }

    /// A convolution of 3x3 with SiLU.
    fn convolution(&mut self, from: ValueId, filters: usize) -> ValueId {
        let channels = self.0.dims(from)[1];
        let numbers = vec![0.01; filters * channels * 9];
        let weights =
            self.0.constant(TensorType::Float16, &[filters, channels, 3, 3], Elements::Floats(numbers));
        let bias = self.0.constant(TensorType::Float16, &[filters], Elements::Floats(vec![0.5; filters]));
        let window =
            Window { kernel: [3; 2], strides: [1; 2], dilations: [1; 2], begin: [1; 2], end: [1; 2] };
        let made = self.0.convolution(&[from, weights, bias], window, 1).unwrap();
        self.0.unary(Unary::Silu, made).unwrap()
    }

    fn plan(mut self, outputs: &[ValueId]) -> Plan {
        self.0.graph.outputs = outputs.to_vec();
        let graph: Graph = self.0.graph;
        lower(&graph).unwrap()
    }
}

/// How many steps are convolutions, and how many are maps.
fn count(plan: &Plan) -> [usize; 2] {
    let convolutions = plan.steps.iter().filter(|step| matches!(step, Step::Convolution(_))).count();
    let maps = plan.steps.iter().filter(|step| matches!(step, Step::Map(_))).count();
    assert_eq!(convolutions + maps, plan.steps.len());
    [convolutions, maps]
}

#[test]
fn halves_and_what_follows_are_joined_without_a_copy() {
    // YOLOv8's C2f: two halves, a bottleneck after the second with a shortcut, all joined.
    let (mut making, image) = Making::new(&[1, 16, 8, 8]);
    let first = making.convolution(image, 32);
    let halves = [0, 16].map(|start| making.0.slice_axis(first, 1, start, 1, 16).unwrap());
    let inner = making.convolution(halves[1], 16);
    let inner = making.convolution(inner, 16);
    let sum = making.0.binary(Binary::Add, halves[1], inner).unwrap();
    let joined = making.0.concat(&[halves[0], halves[1], sum], 1).unwrap();
    let last = making.convolution(joined, 24);
    // The image comes, and the output goes, with its channels first: one copy each.
    assert_eq!(count(&making.plan(&[last])), [4, 2]);
}

#[test]
fn a_shortcut_and_its_function_belong_to_the_convolution_before_them() {
    let (mut making, image) = Making::new(&[1, 16, 8, 8]);
    let first = making.convolution(image, 16);
    let second = making.convolution(first, 16);
    let sum = making.0.binary(Binary::Add, second, first).unwrap();
    let last = making.0.unary(Unary::Relu, sum).unwrap();
    assert_eq!(count(&making.plan(&[last])), [2, 2]);
}

#[test]
fn what_others_read_is_not_taken_along() {
    let (mut making, image) = Making::new(&[1, 16, 8, 8]);
    let first = making.convolution(image, 16);
    let doubled = making.0.binary(Binary::Add, first, first).unwrap();
    let outputs = [first, doubled];
    let plan = making.plan(&outputs);
    assert_eq!(plan.outputs.len(), 2);
    assert_eq!(count(&plan)[0], 1);
}

#[test]
fn functions_run_together() {
    let (mut making, image) = Making::new(&[1, 3, 8, 8]);
    let low = making.0.unary(Unary::Sigmoid, image).unwrap();
    let high = making.0.unary(Unary::Exp, low).unwrap();
    let both = making.0.binary(Binary::Subtract, high, image).unwrap();
    assert_eq!(count(&making.plan(&[both])), [0, 1]);
}

#[test]
fn attention_reads_queries_and_keys_where_their_projections_wrote_them_and_turns_values() {
    let (mut making, tokens) = Making::new(&[1, 48, 64]);
    let projected = |making: &mut Making, order: &[usize]| {
        let weights =
            making.0.constant(TensorType::Float16, &[64, 64], Elements::Floats(vec![0.01; 64 * 64]));
        let product = making.0.multiply(tokens, weights).unwrap();
        let heads = making.0.reshape(product, &[1, 48, 4, 16]).unwrap();
        making.0.transpose(heads, order).unwrap()
    };
    let queries = projected(&mut making, &[0, 2, 1, 3]);
    let keys = projected(&mut making, &[0, 2, 3, 1]);
    let values = projected(&mut making, &[0, 2, 1, 3]);
    let scores = making.0.multiply(queries, keys).unwrap();
    let shares = making.0.softmax(scores, 3).unwrap();
    let mixed = making.0.multiply(shares, values).unwrap();
    let plan = making.plan(&[mixed]);
    let products = plan.steps.iter().filter(|step| matches!(step, Step::Product(_))).count();
    let softmaxes = plan.steps.iter().filter(|step| matches!(step, Step::Softmax(_))).count();
    let convolutions = plan.steps.iter().filter(|step| matches!(step, Step::Convolution(_))).count();
    // The values' depth is that of the tokens, which tensor cores want innermost: one copy.
    assert_eq!([convolutions, products, softmaxes, plan.steps.len()], [3, 2, 1, 7]);
}
