//! Preparations of both implementations: checked parameters, geometry, coefficients.

use super::color::Color;
use super::limits::MAX_RESIZED;
use super::placement::Placement;
use super::{ChannelOrder, Layout, Padding, PreprocError, PreprocParams};
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
    /// Pixel value of what is not in the frame, of each channel of the rows that the tensor is made from.
    pub padding: [f32; 3],
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
        let normalise = normalise(&params)?;
        let mut plan = Self {
            placement,
            bytes,
            color: Color::new(&source, params.channels),
            padding: [0.0; 3],
            normalise,
            source,
            params,
        };
        plan.padding = plan.padding();
        Ok(plan)
    }

    fn padding(&self) -> [f32; 3] {
        match self.params.padding {
            Padding::Pixel(value) => [f32::from(value); 3],
            Padding::Mean => {
                let mut means = [0.0; 3];
                for (channel, (factor, summand)) in self.order().iter().zip(&self.normalise) {
                    means[*channel] = -summand / factor;
                }
                means
            }
        }
    }

    /// How many channels the rows have that the tensor is made from: the frame's, and three where a grey frame's padding is not grey.
    pub fn channels(&self) -> usize {
        match self.params.padding {
            Padding::Mean => self.params.channels.channels(),
            Padding::Pixel(_) => self.color.channels(),
        }
    }

    /// The tensor's dimensions, in its layout.
    pub fn dims(&self) -> [usize; 4] {
        let p = &self.params;
        match p.layout {
            Layout::Nchw => [1, p.channels.channels(), p.height, p.width],
            Layout::Nhwc => [1, p.height, p.width, p.channels.channels()],
        }
    }

    /// The row's channel for each channel of the tensor.
    pub fn order(&self) -> &'static [usize] {
        match self.params.channels {
            ChannelOrder::Gray => &[0],
            _ if self.channels() == 1 => &[0, 0, 0],
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
