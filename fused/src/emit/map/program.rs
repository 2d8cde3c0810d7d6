//! A map's program as source.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::emit::text::{binary, literal, unary};
use crate::plan::{Expression, Program, View};

/// The expressions that outputs depend on.
pub(super) fn needed(program: &Program, outputs: &[(View, usize)]) -> BTreeSet<usize> {
    let mut needed: BTreeSet<usize> = outputs.iter().map(|(_, expression)| *expression).collect();
    for (number, expression) in program.0.iter().enumerate().rev() {
        if !needed.contains(&number) {
            continue;
        }
        match *expression {
            Expression::Source(_) | Expression::Constant(_) => {}
            Expression::Unary(_, of) => needed.extend([of]),
            Expression::Binary(_, a, b) => needed.extend([a, b]),
            Expression::Select(condition, then, other) => needed.extend([condition, then, other]),
        }
    }
    needed
}

/// The sources that expressions read, ascending.
pub(super) fn sources(program: &Program, needed: &BTreeSet<usize>) -> BTreeSet<usize> {
    let expressions = needed.iter().filter_map(|number| program.0.get(*number));
    expressions
        .filter_map(|expression| match expression {
            Expression::Source(source) => Some(*source),
            _ => None,
        })
        .collect()
}

/// The expressions of lane `l`: `e0`, `e1`, ... of `s0[l]`, `s1[l]`, ...
pub(super) fn source(program: &Program, needed: &BTreeSet<usize>) -> String {
    let mut text = String::new();
    let e = |number: usize| format!("e{number}");
    for (number, expression) in program.0.iter().enumerate().filter(|(number, _)| needed.contains(number)) {
        let made = match *expression {
            Expression::Source(source) => format!("s{source}[l]"),
            Expression::Constant(number) => literal(number),
            Expression::Unary(function, of) => unary(function, &e(of)),
            Expression::Binary(function, a, b) => binary(function, &e(a), &e(b)),
            Expression::Select(condition, then, other) => format!("e{condition} != 0.f ? e{then} : e{other}"),
        };
        let _ = writeln!(text, "        const float e{number} = {made};");
    }
    text
}
