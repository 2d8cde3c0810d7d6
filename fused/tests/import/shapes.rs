//! Any dimensions, not those that somebody thought of.

use proptest::prelude::*;

use crate::case::{Case, floats, integers, text};

/// Dimensions of a tensor of one to four axes.
fn dims() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1usize..6, 1..5)
}

/// Dimensions, and numbers of a range for each axis.
fn with_numbers<T: std::fmt::Debug + Clone + 'static>(
    numbers: impl Fn(usize) -> BoxedStrategy<T>,
) -> impl Strategy<Value = (Vec<usize>, Vec<T>)> {
    dims().prop_flat_map(move |dims| {
        let each: Vec<_> = dims.iter().map(|dim| numbers(*dim)).collect();
        (Just(dims), each)
    })
}

fn signed(values: &[usize]) -> Vec<i64> {
    values.iter().map(|value| i64::try_from(*value).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slices_are_those_of_onnx_runtime(
        (dims, parts) in with_numbers(|_| (-8i64..8, -8i64..8, prop_oneof![-3i64..0, 1i64..4]).boxed())
    ) {
        let of = |at: fn(&(i64, i64, i64)) -> i64| integers(&parts.iter().map(at).collect::<Vec<_>>());
        let axes: Vec<usize> = (0..dims.len()).collect();
        let case = Case::of("Slice", 13, Vec::new()).input(floats(&dims)).weight(of(|part| part.0));
        let case = case.weight(of(|part| part.1)).weight(integers(&signed(&axes))).weight(of(|part| part.2));
        // What has no elements is refused, and nothing else.
        let wanted = crate::runtime::run(&case.file(false), &case.inputs).unwrap();
        if wanted[0].dims.contains(&0) {
            prop_assert!(case.refusal().to_string().contains("no elements"));
        } else {
            case.check();
        }
    }

    #[test]
    fn reshapes_are_those_of_onnx_runtime(dims in dims(), open in 0usize..4, keep in 0usize..4, swap in any::<bool>()) {
        let mut wanted = signed(&dims);
        // Two neighbours become one, one becomes what remains, one is kept.
        if wanted.len() > 2 && swap {
            let first = wanted.remove(0);
            wanted[0] *= first;
        } else if keep < wanted.len() {
            wanted[keep] = 0;
        }
        if open < wanted.len() {
            wanted[open] = -1;
        }
        Case::of("Reshape", 13, Vec::new()).input(floats(&dims)).weight(integers(&wanted)).check();
    }

    #[test]
    fn expansions_are_those_of_onnx_runtime(
        (to, kept) in with_numbers(|_| any::<bool>().boxed()),
        missing in 0usize..4,
        ones in any::<bool>(),
    ) {
        let mut from: Vec<usize> = to.iter().zip(&kept).map(|(dim, kept)| if *kept { *dim } else { 1 }).collect();
        from.drain(..missing.min(from.len()));
        // The wanted dimensions may have a 1 where the tensor has more.
        let mut wanted = signed(&to);
        if ones && let (Some(last), Some(true)) = (wanted.last_mut(), kept.last()) {
            *last = if from.is_empty() { *last } else { 1 };
        }
        Case::of("Expand", 13, Vec::new()).input(floats(&from)).weight(integers(&wanted)).check();
    }

    #[test]
    fn borders_are_those_of_onnx_runtime(
        (dims, pads) in with_numbers(|dim| {
            let most = i64::try_from(dim).unwrap() - 1;
            (0..=most, 0..=most).boxed()
        }),
        mode in prop_oneof![Just("constant"), Just("reflect"), Just("edge")],
    ) {
        let pads: Vec<i64> = pads.iter().map(|pad| pad.0).chain(pads.iter().map(|pad| pad.1)).collect();
        Case::of("Pad", 13, vec![text("mode", mode)]).input(floats(&dims)).weight(integers(&pads)).check();
    }

    #[test]
    fn borders_that_cut_off_are_those_of_onnx_runtime(
        (dims, pads) in with_numbers(|dim| {
            let most = i64::try_from(dim).unwrap() - 1;
            // Both together leave something.
            (-most..4).prop_flat_map(move |first| (Just(first), (-most - first.min(0))..4)).boxed()
        }),
    ) {
        let pads: Vec<i64> = pads.iter().map(|pad| pad.0).chain(pads.iter().map(|pad| pad.1)).collect();
        Case::of("Pad", 13, Vec::new()).input(floats(&dims)).weight(integers(&pads)).check();
    }
}
