//! The anchors of raw heads: the sizes that their boxes are multiples of (Redmon and Farhadi, "YOLO9000", 2017, section 2).

use super::DetectError;

/// How a raw head's numbers become a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnchorFormula {
    /// Centre: `cell + s * sigmoid(t) - (s - 1) / 2`, s being [`AnchorSizes::scale_xy`]. Size: `anchor * exp(t)`. YOLOv3 and v4
    /// (Redmon and Farhadi, "YOLOv3", 2018, section 2.1; `scale_x_y` of Darknet's `yolo_layer.c`).
    Yolov3,
    /// Centre: `cell + 2 * sigmoid(t) - 0.5`. Size: `anchor * (2 * sigmoid(t))^2`. YOLOv5 and v7 (`Detect` in Ultralytics'
    /// `models/yolo.py`).
    Yolov5,
    /// Centre: `cell + s * v - (s - 1) / 2`. Size: `anchor * (2 * v)^2`, `v` being in 0..1 already, as are objectness and class
    /// scores. Scaled-YOLOv4 of Darknet (`new_coords` of `yolo_layer.c`, whose layer before has the logistic function).
    NewCoords,
}

crate::words! { AnchorFormula:
    Yolov3 = "yolov3", "Sizes by the exponential (YOLOv3, v4)";
    Yolov5 = "yolov5", "Sizes by the squared logistic function (YOLOv5, v7)";
    NewCoords = "new-coords", "As yolov5, of numbers in 0..1 (Darknet's new_coords)";
}

/// The anchors of every cell of each stride, and what is made of them.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorSizes {
    /// Width and height of one anchor after the other, in tensor pixels: a list for each stride, all of the same length.
    pub sizes: Vec<Vec<f32>>,
    /// What a box is made by.
    pub formula: AnchorFormula,
    /// Of [`AnchorFormula::Yolov3`] and [`AnchorFormula::NewCoords`]: how far centres reach beyond their cell, for each stride; empty for 1, within the cell.
    pub scale_xy: Vec<f32>,
}

impl AnchorSizes {
    /// Refuses lists whose length is not that of the strides, and lengths that are none.
    pub(super) fn validate(&self, strides: usize) -> Result<(), DetectError> {
        let bad = |wanted: String| Err(DetectError::Hint { hint: "anchors", wanted });
        let lists = self.sizes.len();
        if lists != strides {
            return bad(format!(
                "must have as many lists as there are strides: sizes has {lists}, strides has {strides}"
            ));
        }
        if self.sizes.iter().any(|list| list.is_empty() || !list.len().is_multiple_of(2)) {
            return bad(
                "must have a width and a height for each anchor in sizes, at least one a stride".into()
            );
        }
        if self.sizes.iter().any(|list| list.len() != 2 * self.per_cell()) {
            return bad("must have as many anchors for each stride in sizes".into());
        }
        if self.sizes.iter().flatten().any(|v| !v.is_finite() || *v <= 0.0) {
            return bad("must have numbers above 0 in sizes".into());
        }
        let scales = self.scale_xy.len();
        if scales > 0 && self.formula == AnchorFormula::Yolov5 {
            return bad("must not have scale-xy with formula yolov5, whose centres have a scale of 2".into());
        }
        if scales > 0 && scales != strides {
            return bad(format!(
                "must have as many numbers in scale-xy as there are strides: scale-xy has {scales}, strides has {strides}"
            ));
        }
        if self.scale_xy.iter().any(|v| !(1.0..=4.0).contains(v)) {
            return bad("must have numbers from 1 to 4 in scale-xy".into());
        }
        Ok(())
    }

    /// Anchors of a cell.
    pub(super) fn per_cell(&self) -> usize {
        self.sizes.first().map_or(0, |list| list.len() / 2)
    }

    /// Width, height and scale of the centre of every anchor of a cell, stride by stride; the fourth number is not used.
    pub(super) fn table(&self) -> Vec<[f32; 4]> {
        let scales = self.scale_xy.iter().copied().chain(std::iter::repeat(1.0));
        let lists = self.sizes.iter().zip(scales);
        lists
            .flat_map(|(list, scale)| list.as_chunks().0.iter().map(move |[w, h]| [*w, *h, scale, 0.0]))
            .collect()
    }
}
