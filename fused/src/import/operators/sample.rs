//! Images at places between their pixels.

use super::super::call::{Call, Made};
use crate::graph::{Outside, Refusal, Sampling};

/// GridSample.
pub fn grid(call: &mut Call<'_>) -> Made {
    let (image, places) = (call.input(0)?, call.input(1)?);
    let nearest = match call.text("mode", "linear") {
        "linear" | "bilinear" => false,
        "nearest" => true,
        other => return Err(Refusal::unsupported(format!("its mode is '{other}'"))),
    };
    let outside = match call.text("padding_mode", "zeros") {
        "zeros" => Outside::Zeros,
        "border" => Outside::Border,
        "reflection" => Outside::Reflection,
        other => return Err(Refusal::invalid(format!("its padding_mode is '{other}'"))),
    };
    let how = Sampling { nearest, align_corners: call.flag("align_corners", false), outside };
    Ok(vec![call.builder.sample(image, places, how)?])
}
