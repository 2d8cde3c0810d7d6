//! Blocks of pixels as channels, and channels as blocks.

use super::super::call::{Call, Made};
use crate::graph::{Refusal, shape};

/// DepthToSpace.
pub fn depth_to_space(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let ([batch, channels, rows, columns], block) = image(call)?;
    let left = channels / (block * block);
    if left * block * block != channels {
        return Err(Refusal::invalid(format!("{channels} channels are no blocks of {block}x{block}")));
    }
    let (split, order) = match call.text("mode", "DCR") {
        "DCR" => ([batch, block, block, left, rows, columns], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([batch, left, block, block, rows, columns], [0, 1, 4, 2, 5, 3]),
        other => return Err(Refusal::invalid(format!("its mode is '{other}'"))),
    };
    let split = call.builder.reshape(x, &split)?;
    let moved = call.builder.transpose(split, &order)?;
    Ok(vec![call.builder.reshape(moved, &[batch, left, rows * block, columns * block])?])
}

/// SpaceToDepth.
pub fn space_to_depth(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let ([batch, channels, rows, columns], block) = image(call)?;
    let (down, across) = (rows / block, columns / block);
    if down * block != rows || across * block != columns {
        return Err(Refusal::invalid(format!("{rows}x{columns} pixels are no blocks of {block}x{block}")));
    }
    let split = call.builder.reshape(x, &[batch, channels, down, block, across, block])?;
    let moved = call.builder.transpose(split, &[0, 3, 5, 1, 2, 4])?;
    let joined = shape::elements(&[channels, block, block])?;
    Ok(vec![call.builder.reshape(moved, &[batch, joined, down, across])?])
}

/// The input's dimensions, and the length of a block.
fn image(call: &Call<'_>) -> Result<([usize; 4], usize), Refusal> {
    let dims = call.dims(0)?;
    let four = <[usize; 4]>::try_from(dims.as_slice());
    let four = four.map_err(|_| Refusal::unsupported(format!("its input is {}", shape::text(&dims))))?;
    let block = shape::dimension(call.int("blocksize", 0))?;
    if !(1..1 << 15).contains(&block) {
        return Err(Refusal::invalid(format!("its block is of {block}")));
    }
    Ok((four, block))
}
