//! Products of matrices.

use cudainfer_fused::graph::Operator;

use crate::case::{Case, float, floats, int, text};

#[test]
fn matrices_and_vectors_are_multiplied() {
    for (a, b) in [
        (&[3, 4][..], &[4, 5][..]),
        (&[2, 3, 4], &[4, 5]),
        (&[2, 3, 4], &[2, 4, 5]),
        (&[2, 1, 3, 4], &[3, 4, 2]),
        (&[4], &[4, 5]),
        (&[2, 3, 4], &[4]),
        (&[4], &[4]),
        (&[4], &[2, 4, 3]),
    ] {
        Case::of("MatMul", 13, Vec::new()).input(floats(a)).input(floats(b)).within(1e-5).check_plan();
    }
}

#[test]
fn a_gemm_is_a_product_and_a_sum() {
    for (a, b, attributes) in [
        ([3, 4], [4, 5], vec![]),
        ([4, 3], [4, 5], vec![int("transA", 1)]),
        ([3, 4], [5, 4], vec![int("transB", 1), float("alpha", 0.5), float("beta", 2.0)]),
    ] {
        let case = Case::of("Gemm", 13, attributes).input(floats(&a)).weight(floats(&b)).within(1e-5);
        case.check();
        for bias in [&[5][..], &[3, 1], &[1], &[3, 5], &[]] {
            let graph = case.clone().weight(floats(bias)).check();
            // The factors are in the constants.
            let last = graph.nodes.iter().rev().take(2).map(|node| &node.operator);
            assert!(
                last.eq([&Operator::Binary(cudainfer_fused::graph::Binary::Add), &Operator::MatMul]),
                "{:?}",
                graph.nodes
            );
        }
        case.input(floats(&[5])).check();
    }
}

#[test]
fn matrices_that_do_not_fit_are_refused() {
    for (operator, a, b) in
        [("MatMul", &[2, 3][..], &[2, 3][..]), ("Gemm", &[2, 3], &[4, 3]), ("MatMul", &[], &[2])]
    {
        let case = Case::of(operator, 13, Vec::new()).input(floats(a)).input(floats(b));
        assert!(case.refusal().to_string().contains(operator), "{}", case.refusal());
    }
}

#[test]
fn sums_of_products_over_named_axes() {
    let two = |equation: &str, a: &[usize], b: &[usize]| {
        let case = Case::of("Einsum", 13, vec![text("equation", equation)]).input(floats(a));
        case.input(floats(b)).within(1e-5)
    };
    two("i,j->ij", &[3], &[4]).check_plan();
    two("bqc,bchw->bqhw", &[2, 3, 4], &[2, 4, 5, 2]).check_plan();
    two("bqhc, bkhc -> bhqk", &[2, 3, 2, 4], &[2, 5, 2, 4]).check_plan();
    two("ij,jk->ki", &[3, 4], &[4, 5]).check_plan();
    two("ij,kl->k", &[3, 4], &[2, 5]).check_plan();
    two("ab,ab->", &[3, 4], &[3, 4]).check_plan();
    Case::of("Einsum", 13, vec![text("equation", "abc->ca")])
        .input(floats(&[2, 3, 4]))
        .within(1e-5)
        .check_plan();
    for equation in ["ii,ij->ij", "...i,ij->...j", "ij,jk"] {
        let refused = two(equation, &[3, 3], &[3, 3]).refusal();
        assert!(refused.to_string().contains("equation"), "{refused}");
    }
}
