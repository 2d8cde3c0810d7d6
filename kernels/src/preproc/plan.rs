//! Preparations of both implementations: checked parameters, geometry, coefficients.

use super::color::Color;
use super::limits::MAX_RESIZED;
use super::placement::Placement;
use super::{ChannelOrder, Layout, PreprocError, PreprocParams};
use crate::frame::FrameFormat;
use crate::tensor::TensorType;

/// A conversion whose parameters have been checked.
#[derive(Debug)]
pub(super) struct PreprocPlan {
    pub source: FrameFormat,
    pub params: PreprocParams,
    pub placement: Placement,
    /// The tensor's size.
    pub bytes: usize,
    pub color: Color,
    /// Factor and summand of each channel of the tensor, normalisation and quantisation together.
    pub normalise: Vec<(f32, f32)>,
}

impl PreprocPlan {
    /// # Errors
    /// Those of [`super::Preproc::new`].
    pub fn new(source: FrameFormat, params: PreprocParams) -> Result<Self, PreprocError> {
        params.check(&source)?;
        let PreprocParams { width, height, ty, .. } = params;
        let bytes = [width, height, params.channels.channels()]
            .into_iter()
            .try_fold(ty.size(), usize::checked_mul)
            .filter(|bytes| isize::try_from(*bytes).is_ok())
            .ok_or(PreprocError::Overflow { width, height, ty })?;
        let placement = Placement::new(&source, &params);
        let longest = placement.x.resized.max(placement.y.resized);
        if longest > MAX_RESIZED {
            return Err(PreprocError::Enlarged(longest));
        }
        Ok(Self {
            placement,
            bytes,
            color: Color::new(&source, params.channels),
            normalise: normalise(&params)?,
            source,
            params,
        })
    }

    /// The tensor's dimensions, in its layout.
    pub fn dims(&self) -> [usize; 4] {
        let p = &self.params;
        match p.layout {
            Layout::Nchw => [1, p.channels.channels(), p.height, p.width],
            Layout::Nhwc => [1, p.height, p.width, p.channels.channels()],
        }
    }

    /// The frame's channel for each channel of the tensor.
    pub fn order(&self) -> &'static [usize] {
        match self.params.channels {
            ChannelOrder::Gray => &[0],
            _ if self.color.channels() == 1 => &[0, 0, 0],
            ChannelOrder::Rgb => &[0, 1, 2],
            ChannelOrder::Bgr => &[2, 1, 0],
        }
    }
}

fn normalise(params: &PreprocParams) -> Result<Vec<(f32, f32)>, PreprocError> {
    let step = match params.ty {
        TensorType::UInt8 | TensorType::Int8 | TensorType::Int32 => f64::from(params.quant_scale),
        _ => 1.0,
    };
    (0..params.channels.channels())
        .map(|c| {
            let divisor = f64::from(params.std[c]) * step;
            let factor = (f64::from(params.scale) / divisor) as f32;
            let summand = (-f64::from(params.mean[c]) / divisor) as f32;
            if summand.is_finite() && (factor * 255.0 + summand).is_finite() {
                Ok((factor, summand))
            } else {
                Err(PreprocError::Combination(c))
            }
        })
        .collect()
}
