//! Products of matrices.

use super::super::shape::broadcast_strides;
use super::{Operand, Walk};

/// `[..., M, K]` times `[..., K, N]`.
pub fn multiply(a: Operand<'_>, b: Operand<'_>, dims: &[usize]) -> Vec<f64> {
    let (left, right) = (a.elements.numbers(), b.elements.numbers());
    let ([batch_a @ .., rows, inner], [batch_b @ .., _, columns]) = (a.dims, b.dims) else {
        return Vec::new();
    };
    let batch = &dims[..dims.len() - 2];
    let strides = [batch_a, batch_b].map(|own| broadcast_strides(own, batch));
    let mut made = Vec::with_capacity(dims.iter().product());
    for (i, j) in Walk::new(batch, &strides[0], 0).zip(Walk::new(batch, &strides[1], 0)) {
        let (left, right) = (&left[i * rows * inner..], &right[j * inner * columns..]);
        for row in 0..*rows {
            let mut sums = vec![0.0; *columns];
            for (k, factor) in left[row * inner..][..*inner].iter().enumerate() {
                for (sum, value) in sums.iter_mut().zip(&right[k * columns..]) {
                    *sum += factor * value;
                }
            }
            made.extend(sums);
        }
    }
    made
}
