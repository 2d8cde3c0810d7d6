//! The sidecar's names for values of the kernels' enums; each module is for serde's `with`.

use cudainfer_kernels::detect::{Activation, AxisOrder, Background, BoxFormat, RowFormat, SizeUnit};
use cudainfer_kernels::peaks::Border;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

macro_rules! spelled {
    ($($module:ident: $enum:ty = [$($name:literal: $value:expr),+];)+) => {$(
        pub(super) mod $module {
            use super::*;

            const NAMES: &[(&str, $enum)] = &[$(($name, $value)),+];

            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<$enum>, D::Error> {
                one_of(deserializer, NAMES)
            }

            pub fn serialize<S: Serializer>(value: &Option<$enum>, serializer: S) -> Result<S::Ok, S::Error> {
                write_one_of(value, NAMES, serializer)
            }
        }
    )+};
}

spelled! {
    box_format: BoxFormat = [
        "center-size": BoxFormat::CenterSize,
        "corners": BoxFormat::Corners,
        "corners-yx": BoxFormat::CornersYx,
        "top-left-size": BoxFormat::TopLeftSize
    ];
    activation: Activation =
        ["none": Activation::None, "sigmoid": Activation::Sigmoid, "softmax": Activation::Softmax];
    background: Background =
        ["none": Background::None, "first": Background::First, "last": Background::Last];
    row_format: RowFormat = [
        "box-score-class": RowFormat::BoxScoreClass,
        "class-score-box": RowFormat::ClassScoreBox,
        "batch-box-class-score": RowFormat::BatchBoxClassScore
    ];
    size_unit: SizeUnit =
        ["cells": SizeUnit::Cells, "pixels": SizeUnit::Pixels, "log-cells": SizeUnit::LogCells];
    axis_order: AxisOrder = ["xy": AxisOrder::Xy, "yx": AxisOrder::Yx];
    border: Border = ["zero": Border::Zero, "reflect": Border::Reflect];
}

fn one_of<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    table: &[(&str, T)],
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    table.iter().find(|(name, _)| *name == text).map(|(_, value)| Some(*value)).ok_or_else(|| {
        let names: Vec<_> = table.iter().map(|(name, _)| *name).collect();
        de::Error::custom(format!("'{text}' is none of {}", names.join(", ")))
    })
}

fn write_one_of<S: Serializer, T: Copy + PartialEq>(
    value: &Option<T>,
    table: &[(&str, T)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let name = value.and_then(|value| table.iter().find(|(_, known)| *known == value));
    name.map(|(name, _)| *name).serialize(serializer)
}
