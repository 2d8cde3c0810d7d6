//! Dimensions.

use super::Refusal;
use super::number::signed;

/// The most elements of a tensor: more is a mistake, or an attack, before it is a network.
pub const MOST_ELEMENTS: usize = 1 << 31;

/// The number of elements of a tensor.
///
/// # Errors
/// There are more than [`MOST_ELEMENTS`].
pub fn elements(dims: &[usize]) -> Result<usize, Refusal> {
    let product = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
    product
        .filter(|product| *product <= MOST_ELEMENTS)
        .ok_or_else(|| Refusal::invalid(format!("a tensor of {} is too large", text(dims))))
}

/// Dimensions for messages: `1x3x640x640`.
pub fn text(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
    if dims.is_empty() { "no dimensions".into() } else { dims.join("x") }
}

/// The dimensions of what is made of tensors of these dimensions element by element, as NumPy does.
///
/// # Errors
/// Two dimensions differ, and neither is 1.
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Refusal> {
    let rank = a.len().max(b.len());
    let at = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
    let joined = (0..rank).map(|axis| match (at(a, axis), at(b, axis)) {
        (1, dim) | (dim, 1) => Some(dim),
        (one, other) => (one == other).then_some(one),
    });
    joined
        .collect::<Option<_>>()
        .ok_or_else(|| Refusal::invalid(format!("{} and {} do not fit together", text(a), text(b))))
}

/// The strides by which a dense tensor of dimensions `from` is read as one of `to`, which it is broadcast to.
pub fn broadcast_strides(from: &[usize], to: &[usize]) -> Vec<isize> {
    let dense = crate::plan::dense_strides(from);
    let missing = to.len().saturating_sub(from.len());
    let own = from.iter().zip(dense).map(|(dim, stride)| if *dim == 1 { 0 } else { stride });
    std::iter::repeat_n(0, missing).chain(own).collect()
}

/// ONNX's axis, counted from the end where it is negative.
///
/// # Errors
/// A tensor of that rank does not have it.
pub fn axis(axis: i64, rank: usize) -> Result<usize, Refusal> {
    let counted = if axis < 0 { axis.saturating_add(signed(rank)) } else { axis };
    let known = usize::try_from(counted).ok().filter(|axis| *axis < rank);
    known.ok_or_else(|| Refusal::invalid(format!("a tensor of {rank} dimensions has no axis {axis}")))
}

/// ONNX's axes, ascending.
///
/// # Errors
/// A tensor of that rank does not have one of them, or one is there twice.
pub fn axes(axes: &[i64], rank: usize) -> Result<Vec<usize>, Refusal> {
    let mut found = axes.iter().map(|one| axis(*one, rank)).collect::<Result<Vec<_>, _>>()?;
    found.sort_unstable();
    if found.windows(2).any(|two| two[0] == two[1]) {
        return Err(Refusal::invalid(format!("an axis is there twice in {axes:?}")));
    }
    Ok(found)
}

/// A dimension of ONNX.
///
/// # Errors
/// It is negative.
pub fn dimension(value: i64) -> Result<usize, Refusal> {
    usize::try_from(value).map_err(|_| Refusal::invalid(format!("a dimension is {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_broadcast_as_numpy_does() {
        let fits = |a: &[usize], b: &[usize], wanted: &[usize]| {
            assert_eq!(broadcast(a, b).unwrap(), wanted);
            assert_eq!(broadcast(b, a).unwrap(), wanted);
        };
        fits(&[2, 1, 4], &[3, 1], &[2, 3, 4]);
        fits(&[], &[5], &[5]);
        fits(&[1], &[0], &[0]);
        assert!(broadcast(&[2], &[3]).is_err());
        assert_eq!(broadcast_strides(&[3, 1], &[2, 3, 4]), [0, 1, 0]);
        assert_eq!(broadcast_strides(&[2, 3], &[2, 3]), [3, 1]);
    }

    #[test]
    fn axes_count_from_the_end_where_negative_and_are_there_once() {
        assert_eq!(axes(&[-1, 0], 3).unwrap(), [0, 2]);
        assert!(axes(&[0, -3], 3).is_err());
        assert!(axis(3, 3).is_err() && axis(-4, 3).is_err() && axis(i64::MIN, 3).is_err());
    }

    #[test]
    fn tensors_have_an_end() {
        assert_eq!(elements(&[]).unwrap(), 1);
        assert!(elements(&[usize::MAX, 2]).is_err());
        assert!(elements(&[1 << 32]).is_err());
    }
}
