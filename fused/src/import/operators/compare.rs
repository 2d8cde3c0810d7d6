//! Questions: outputs are booleans.

use super::super::call::{Call, Made};
use super::Reader;
use super::elementwise::{binary, unary};
use crate::graph::{Binary, Unary};

/// The function that reads an operator, if it is one of these.
pub fn reader(operator: &str) -> Option<Reader> {
    Some(match operator {
        "Greater" => |call| binary(call, Binary::Greater),
        "GreaterOrEqual" => |call| binary(call, Binary::GreaterOrEqual),
        "Less" => |call| binary(call, Binary::Less),
        "LessOrEqual" => |call| binary(call, Binary::LessOrEqual),
        "Equal" => |call| binary(call, Binary::Equal),
        "And" => |call| binary(call, Binary::And),
        "Or" => |call| binary(call, Binary::Or),
        "Not" => |call| unary(call, Unary::Not),
        "Xor" => differ,
        "IsNaN" => is_nan,
        _ => return None,
    })
}

/// Of booleans: one of them alone is true.
fn differ(call: &mut Call<'_>) -> Made {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let same = call.builder.binary(Binary::Equal, a, b)?;
    Ok(vec![call.builder.unary(Unary::Not, same)?])
}

/// NaN alone is not equal to itself.
fn is_nan(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let same = call.builder.binary(Binary::Equal, x, x)?;
    Ok(vec![call.builder.unary(Unary::Not, same)?])
}
