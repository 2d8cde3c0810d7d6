//! A tensor somewhere in a buffer.

use cudainfer_kernels::tensor::TensorType;

use super::BufferId;

/// A tensor in a buffer: element `at` lies `offset + sum(at[i] * strides[i])` elements after the buffer's first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Where.
    pub buffer: BufferId,
    /// The type of its elements.
    pub ty: TensorType,
    /// In elements of that type.
    pub offset: usize,
    /// Its dimensions, outermost first.
    pub dims: Vec<usize>,
    /// In elements, by dimension.
    pub strides: Vec<isize>,
}

impl View {
    /// Dense and row-major, from the buffer's first element on.
    pub fn dense(buffer: BufferId, ty: TensorType, dims: &[usize]) -> Self {
        Self { buffer, ty, offset: 0, dims: dims.to_vec(), strides: dense_strides(dims) }
    }

    /// Its number of elements.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether both are the same tensor in the same place: strides of single elements do not matter.
    pub fn is_same(&self, other: &Self) -> bool {
        let along = |view: &Self| {
            view.dims.iter().zip(&view.strides).filter(|(n, _)| **n > 1).map(|(_, s)| *s).collect::<Vec<_>>()
        };
        (self.buffer, self.ty, self.offset, &self.dims) == (other.buffer, other.ty, other.offset, &other.dims)
            && along(self) == along(other)
    }

    /// Its part of these dimensions: element `i` along each axis is `starts[axis] + i * steps[axis]` of `self`.
    pub fn slice(&self, starts: &[usize], steps: &[isize], dims: &[usize]) -> Self {
        let first = self.strides.iter().zip(starts).map(|(stride, start)| stride * start.cast_signed()).sum();
        Self {
            offset: self.offset.wrapping_add_signed(first),
            dims: dims.to_vec(),
            strides: self.strides.iter().zip(steps).map(|(stride, step)| stride * step).collect(),
            ..self.clone()
        }
    }

    /// Its part from `start` on along an axis, `length` long.
    pub fn part(&self, axis: usize, start: usize, length: usize) -> Self {
        let (mut starts, mut dims) = (vec![0; self.dims.len()], self.dims.clone());
        (starts[axis], dims[axis]) = (start, length);
        self.slice(&starts, &vec![1; dims.len()], &dims)
    }

    /// Dimension `i` is dimension `order[i]` of `self`.
    pub fn transpose(&self, order: &[usize]) -> Self {
        Self {
            dims: order.iter().map(|axis| self.dims[*axis]).collect(),
            strides: order.iter().map(|axis| self.strides[*axis]).collect(),
            ..self.clone()
        }
    }

    /// Broadcast to these dimensions, as NumPy does: along new axes and along those of one element, the stride is 0.
    pub fn broadcast(&self, dims: &[usize]) -> Self {
        let new = dims.len() - self.dims.len().min(dims.len());
        let along = |axis: usize| match axis.checked_sub(new) {
            Some(own) if self.dims[own] == dims[axis] => self.strides[own],
            _ => 0,
        };
        Self { dims: dims.to_vec(), strides: (0..dims.len()).map(along).collect(), ..self.clone() }
    }

    /// The same elements, in row-major order, in other dimensions; `None` where no strides can say that.
    pub fn reshape(&self, dims: &[usize]) -> Option<Self> {
        if dims.iter().product::<usize>() != self.elements() || self.elements() == 0 {
            return None;
        }
        // Axes of one element lie anywhere.
        let old: Vec<(usize, isize)> =
            self.dims.iter().copied().zip(self.strides.iter().copied()).filter(|(n, _)| *n > 1).collect();
        let mut strides = vec![0; dims.len()];
        let (mut begin, mut axis) = (0, 0);
        while begin < old.len() {
            // The shortest run of old axes that has as many elements as a run of new ones.
            let (mut end, mut last) = (begin + 1, axis + 1);
            let (mut have, mut want) = (old[begin].0, *dims.get(axis)?);
            while have != want {
                if have < want {
                    have *= old.get(end)?.0;
                    end += 1;
                } else {
                    want *= dims.get(last)?;
                    last += 1;
                }
            }
            let run = &old[begin..end];
            if run.windows(2).any(|pair| pair[0].1 != pair[1].1 * pair[1].0.cast_signed()) {
                return None;
            }
            let mut stride = run.last()?.1;
            for new in (axis..last).rev() {
                strides[new] = stride;
                stride *= dims[new].cast_signed();
            }
            (begin, axis) = (end, last);
        }
        Some(Self { dims: dims.to_vec(), strides, ..self.clone() })
    }
}

/// The strides of a dense, row-major tensor.
pub fn dense_strides(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis].cast_signed();
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[2, 6, 4, 5]` with channels last, eight apart.
    fn image() -> View {
        View { strides: vec![160, 1, 40, 8], ..View::dense(BufferId(0), TensorType::Float16, &[2, 6, 4, 5]) }
    }

    #[test]
    fn rows_and_columns_join_and_channels_split_in_place() {
        let joined = image().reshape(&[2, 6, 20]).unwrap();
        assert_eq!(joined.strides, [160, 1, 8]);
        assert_eq!(joined.reshape(&[2, 2, 3, 20]).unwrap().strides, [160, 3, 1, 8]);
        assert_eq!(joined.reshape(&[2, 6, 4, 5]).unwrap(), image(), "and back");
        assert_eq!(image().reshape(&[2, 120]), None, "channels do not join with rows");
        assert_eq!(image().transpose(&[0, 2, 3, 1]).reshape(&[2, 20, 6]).unwrap().strides, [160, 8, 1]);
        assert_eq!(image().reshape(&[240]), None, "there is a gap after each pixel");
    }

    #[test]
    fn axes_of_one_element_come_and_go() {
        let scalar = View::dense(BufferId(0), TensorType::Float32, &[]);
        assert_eq!(scalar.reshape(&[1, 1]).unwrap().dims, [1, 1]);
        let image = image();
        assert!(image.reshape(&[2, 1, 6, 4, 5]).unwrap().reshape(&[2, 6, 4, 5]).unwrap().is_same(&image));
        assert_eq!(image.reshape(&[2, 6, 4, 5, 1]).unwrap().strides[..4], [160, 1, 40, 8]);
    }

    #[test]
    fn parts_and_broadcasts_lie_where_they_should() {
        let part = image().part(1, 2, 3);
        assert_eq!((part.offset, &part.dims[..]), (2, &[2, 3, 4, 5][..]));
        let every_second = image().slice(&[0, 0, 3, 0], &[1, 1, -2, 1], &[2, 6, 2, 5]);
        assert_eq!((every_second.offset, every_second.strides[2]), (120, -80));
        let row = View::dense(BufferId(1), TensorType::Float32, &[6, 1]);
        assert_eq!(row.broadcast(&[2, 6, 5]).strides, [0, 1, 0]);
    }
}
