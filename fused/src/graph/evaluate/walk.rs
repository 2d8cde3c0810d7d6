//! The elements of a strided view, one after another.

/// The places of a view's elements, row-major: `offset + sum(at[i] * strides[i])`.
#[derive(Debug)]
pub struct Walk<'a> {
    dims: &'a [usize],
    strides: &'a [isize],
    at: Vec<usize>,
    place: isize,
    left: usize,
}

impl<'a> Walk<'a> {
    /// Of a view of these dimensions and strides, whose first element lies at `offset`.
    pub fn new(dims: &'a [usize], strides: &'a [isize], offset: isize) -> Self {
        Self { dims, strides, at: vec![0; dims.len()], place: offset, left: dims.iter().product() }
    }
}

impl Iterator for Walk<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let place = usize::try_from(self.place).ok();
        for (axis, at) in self.at.iter_mut().enumerate().rev() {
            *at += 1;
            self.place += self.strides[axis];
            if *at < self.dims[axis] {
                break;
            }
            self.place -= self.strides[axis] * self.dims[axis].cast_signed();
            *at = 0;
        }
        place
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::Walk;

    #[test]
    fn a_view_is_walked_row_by_row() {
        assert_eq!(Walk::new(&[2, 3], &[1, 2], 0).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
        assert_eq!(Walk::new(&[2, 2], &[0, -1], 3).collect::<Vec<_>>(), [3, 2, 3, 2]);
        assert_eq!(Walk::new(&[], &[], 7).collect::<Vec<_>>(), [7]);
        assert_eq!(Walk::new(&[3, 0], &[1, 1], 0).count(), 0);
    }
}
