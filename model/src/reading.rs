//! How a model is read, in a sentence for users: the property `reading`, and an INFO message.

use cudainfer_kernels::preproc::{ChannelOrder, Resize};
use cudainfer_kernels::tensor::TensorType;
use cudainfer_kernels::words::Words as _;

use super::sidecar::Input;
use super::{Group, ImageInput, ModelInfo, Origin};

/// Most notes that one sentence has.
const MOST_NOTES: usize = 8;

impl ModelInfo {
    /// How the image input is filled where no property of fusedpreproc says otherwise, as in "640x640 rgb float32, scale 1/255,
    /// letterbox from the file's metadata (Ultralytics); 80 names from the file's metadata (Ultralytics)".
    pub fn input_reading(&self, image: &ImageInput) -> String {
        let Input { channels, scale, mean, std, resize, .. } = &self.input;
        let wished = |side: Option<u32>| side.and_then(|side| usize::try_from(side).ok());
        let size = [image.width.or(wished(self.input.width)), image.height.or(wished(self.input.height))];
        let size = match size {
            [Some(width), Some(height)] => format!("{width}x{height}"),
            _ => "any size".to_owned(),
        };
        let order =
            channels.unwrap_or(if image.channels == 1 { ChannelOrder::Gray } else { ChannelOrder::Rgb });
        let integer = matches!(image.ty, TensorType::UInt8 | TensorType::Int8);
        let scale = scale.unwrap_or(if integer { 1.0 } else { 1.0 / 255.0 });
        let scale = if (scale * 255.0 - 1.0).abs() < 1e-5 { "1/255".to_owned() } else { scale.to_string() };
        let list = |name: &str, values: &Option<Vec<f32>>| {
            let values = values.iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
            if values.is_empty() { String::new() } else { format!(", {name} {}", values.join(" ")) }
        };
        let resize = resize.unwrap_or(Resize::Letterbox).word();
        let mut text = format!(
            "{size} {} {}, scale {scale}{}{}, {resize}{}; {}",
            order.word(),
            image.ty,
            list("mean", mean),
            list("std", std),
            origins(self, &Group::INPUT),
            names(self)
        );
        if let Some((origin, layout)) = self.unsupported() {
            text += &format!("; outputs: {layout} by {origin}, which no decoder reads");
        }
        for phrase in self.overridden() {
            text += &format!("; {phrase}");
        }
        if !self.notes().is_empty() {
            let notes: Vec<_> = self.notes().iter().take(MOST_NOTES).map(String::as_str).collect();
            text += &format!("; not exact: {}", notes.join(", "));
        }
        text
    }
}

/// The origin of these groups: " from the sidecar and the file's metadata (Ultralytics)", or ", assumed".
pub fn origins(info: &ModelInfo, groups: &[Group]) -> String {
    let mut found: Vec<&Origin> = Vec::new();
    for origin in groups.iter().filter_map(|group| info.origin(*group)) {
        if !found.contains(&origin) {
            found.push(origin);
        }
    }
    if found.is_empty() {
        return ", assumed".into();
    }
    format!(" from {}", found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "))
}

/// "80 names from the sidecar", or "no names".
pub fn names(info: &ModelInfo) -> String {
    let count = info.output.labels.len();
    match (count, info.origin(Group::Labels)) {
        (0, _) | (_, None) => "no names".into(),
        (1, Some(origin)) => format!("1 name from {origin}"),
        (count, Some(origin)) => format!("{count} names from {origin}"),
    }
}
