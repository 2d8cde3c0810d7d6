//! The inputs of a promptable model, such as SAM's decoder: what another model has made of the frame, and what is asked for in it.

use std::path::Path;

use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::{ConstantValue, Fill, ImageInput, ModelError, ModelInfo, SizeOf};

/// How the inputs are called in models that are exported by the projects that made them: the points of SAM, SAM 2 and MobileSAM, and of
/// EfficientSAM, each with what the points are.
const POINTS: [(&str, &str); 2] =
    [("point_coords", "point_labels"), ("batched_point_coords", "batched_point_labels")];

/// Inputs of these models with a value that is the same for each prompt: there is no mask of before.
const CONSTANTS: [&str; 3] = ["mask_input", "has_mask_input", "orig_im_size"];

/// The inputs of a promptable model.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompted {
    /// Takes a tensor of the model upstream, as other models take a picture.
    pub features: ImageInput,
    /// Those that take further tensors of the model upstream.
    pub further: Vec<TensorDesc>,
    /// Takes x and y of each point, in pixels of the input of the model upstream: `[N,P,2]` or `[N,1,P,2]`.
    pub points: TensorDesc,
    /// Takes what each point is: `[N,P]` or `[N,1,P]`.
    pub labels: TensorDesc,
    /// The points of a prompt. Those beyond the ones that an object has are none: their label is -1.
    pub count: usize,
}

impl Prompted {
    /// The inputs of a promptable model; `None` where the model is none.
    ///
    /// # Errors
    /// [`ModelError::Unfit`]: the sidecar's `[prompts]` names an input that there is not, or an input has other dimensions.
    pub fn of(inputs: &[TensorDesc], info: &ModelInfo, model: &Path) -> Result<Option<Self>, ModelError> {
        let list = || inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let wrong = |why: String| {
            ModelError::Unfit(model.to_owned(), format!("its inputs are {}, but {why}", list()))
        };
        let find = |name: &str| inputs.iter().find(|desc| desc.name == name);
        let prompts = &info.prompts;
        let usual = POINTS.iter().find(|(points, labels)| find(points).is_some() && find(labels).is_some());
        let input = |key: &str, stated: &Option<String>, usual: Option<&str>| match (stated, usual) {
            (Some(name), _) => find(name).map(Some).ok_or_else(|| {
                wrong(format!(
                    "prompts.{key} of the sidecar names '{name}', which is none of them. Correct the name"
                ))
            }),
            (None, usual) => Ok(usual.and_then(find)),
        };
        let points = input("points", &prompts.points, usual.map(|(points, _)| *points))?;
        let labels = input("labels", &prompts.labels, usual.map(|(_, labels)| *labels))?;
        let (points, labels) = match (points, labels) {
            (Some(points), Some(labels)) => (points, labels),
            (None, None) if *prompts == super::Prompts::default() => return Ok(None),
            _ => {
                return Err(wrong(
                    "it is not known which of them take the points of a prompt and what these are. Name both in the sidecar's [prompts], as \
                     points and labels"
                        .into(),
                ));
            }
        };
        let one = |dim: Option<usize>| dim.is_none_or(|dim| dim == 1);
        let count = match (&points.dims[..], &labels.dims[..]) {
            ([_, count, None | Some(2)], [_, of]) if of == count => Some(*count),
            ([_, prompts, count, None | Some(2)], [_, _, of]) if of == count && one(*prompts) => Some(*count),
            _ => None,
        };
        let Some(count) = count else {
            return Err(wrong(format!(
                "{points} and {labels} do not take points [N,P,2] or [N,1,P,2] and what they are, [N,P] or [N,1,P]. Correct points and labels \
                 in the sidecar's [prompts]"
            )));
        };
        if let Some(count) = count.filter(|count| *count < prompts.count()) {
            return Err(wrong(format!(
                "a prompt of this model has {count} points, and here it is made of {}: a box is two. Export the model with any number of points, or \
                 name fewer of them in the sidecar's [prompts]",
                prompts.count()
            )));
        }
        // Numbers and the like are constants.
        let is_other = |desc: &&TensorDesc| {
            let name = desc.name.as_str();
            let is_constant = info.constants.contains_key(name) || CONSTANTS.contains(&name);
            *desc != points && *desc != labels && !is_constant && features(desc).is_some()
        };
        let others: Vec<&TensorDesc> = inputs.iter().filter(is_other).collect();
        if let Some(unknown) =
            prompts.tensors.keys().find(|name| others.iter().all(|desc| desc.name != **name))
        {
            return Err(wrong(format!(
                "prompts.tensors of the sidecar names '{unknown}', which is none of those that take a tensor of the model upstream. Correct the name"
            )));
        }
        let features = others.iter().find_map(|desc| features(desc)).ok_or_else(|| {
            wrong("none takes what another model has made of the frame, [N,C,H,W] of float32 or float16. Export the model with such an input".into())
        })?;
        let further: Vec<_> = others.into_iter().filter(|desc| desc.name != features.name).cloned().collect();
        // Without a box, SAM wants a point that is none after the others; its descendants' graphs add it by themselves.
        let is_sam = points.dims.len() == 3 && further.is_empty();
        let padding = usize::from(is_sam && !prompts.has_box());
        let count = count.unwrap_or(prompts.count() + padding);
        Ok(Some(Self { features, further, points: points.clone(), labels: labels.clone(), count }))
    }

    /// Whether each prompt brings its own tensor for the input of this name, or the frame does.
    pub fn is_fed(&self, name: &str) -> bool {
        let mut fed = self.further.iter().chain([&self.points, &self.labels]);
        fed.any(|input| input.name == name)
    }

    /// The value of an input of this name that is the same for each prompt; `None` where it has none. SAM's masks of the frame's size are not
    /// read, so that they are made small; EfficientSAM counts points in pixels of this size.
    pub fn constant(&self, name: &str) -> Option<ConstantValue> {
        let counts_points = self.points.dims.len() == 4;
        match name {
            "mask_input" | "has_mask_input" => Some(ConstantValue::Fill(Fill { fill: 0.0, shape: None })),
            "orig_im_size" if counts_points => Some(ConstantValue::Size(SizeOf::InputHeightWidth)),
            "orig_im_size" => Some(ConstantValue::Numbers(vec![256.0, 256.0])),
            _ => None,
        }
    }
}

/// An input that can take a tensor of another model in place of a picture.
fn features(desc: &TensorDesc) -> Option<ImageInput> {
    let [batch, Some(channels), height, width] = desc.dims[..] else { return None };
    let is_float = matches!(desc.ty, TensorType::Float32 | TensorType::Float16);
    is_float.then(|| ImageInput {
        name: desc.name.clone(),
        ty: desc.ty,
        layout: Layout::Nchw,
        batched: true,
        batch,
        channels,
        width,
        height,
        joined: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sidecar;

    const SAM: [&str; 6] = [
        "image_embeddings:float32:1x256x64x64",
        "point_coords:float32:1x?x2",
        "point_labels:float32:1x?",
        "mask_input:float32:1x1x256x256",
        "has_mask_input:float32:1",
        "orig_im_size:float32:2",
    ];

    fn found(inputs: &[&str], sidecar: &str) -> Result<Option<Prompted>, String> {
        let inputs: Vec<TensorDesc> = inputs.iter().map(|text| text.parse().unwrap()).collect();
        let info = ModelInfo::of(toml::from_str::<Sidecar>(sidecar).unwrap());
        Prompted::of(&inputs, &info, Path::new("m.onnx")).map_err(|e| e.to_string())
    }

    #[test]
    fn decoders_are_known_by_the_names_of_their_inputs() {
        let sam = found(&SAM, "").unwrap().unwrap();
        assert_eq!((sam.features.name.as_str(), sam.features.channels), ("image_embeddings", 256));
        assert_eq!((sam.features.batch, sam.features.width, sam.count), (Some(1), Some(64), 2));
        assert!(sam.further.is_empty());
        // Keypoints alone, and one that is none.
        let points = found(&SAM, "[prompts]\nbox = false\nkeypoints = [\"nose\"]").unwrap().unwrap();
        assert_eq!(points.count, 2);

        let sam2 = found(
            &[
                "image_embed:float32:1x256x64x64",
                "high_res_feats_0:float32:1x32x256x256",
                "high_res_feats_1:float32:1x64x128x128",
                "point_coords:float32:?x?x2",
                "point_labels:float32:?x?",
                "mask_input:float32:?x1x256x256",
                "has_mask_input:float32:1",
            ],
            "",
        );
        let sam2 = sam2.unwrap().unwrap();
        assert_eq!(sam2.features.name, "image_embed");
        let further: Vec<_> = sam2.further.iter().map(|desc| desc.name.as_str()).collect();
        assert_eq!(further, ["high_res_feats_0", "high_res_feats_1"]);

        let efficient = found(
            &[
                "image_embeddings:float32:?x256x64x64",
                "batched_point_coords:float32:?x?x?x2",
                "batched_point_labels:float32:?x?x?",
                "orig_im_size:int64:2",
            ],
            "[prompts]\nkeypoints = [\"nose\"]",
        );
        let efficient = efficient.unwrap().unwrap();
        assert_eq!((efficient.features.batch, efficient.count), (None, 3));
        assert_eq!(found(&["images:float32:1x3x8x8"], ""), Ok(None));
    }

    #[test]
    fn other_names_are_stated_and_a_fixed_number_of_points_is_kept() {
        let inputs = ["e:float32:1x8x4x4", "p:float32:1x5x2", "l:int64:1x5", "threshold:float32:1"];
        let sidecar = "[prompts]\npoints = \"p\"\nlabels = \"l\"\n[constants]\nthreshold = [0.5]";
        let prompted = found(&inputs, sidecar).unwrap().unwrap();
        assert_eq!((prompted.features.name.as_str(), prompted.count, prompted.further.len()), ("e", 5, 0));
    }

    #[test]
    fn what_does_not_fit_is_refused_in_a_sentence() {
        let points = ["e:float32:1x8x4x4", "p:float32:1x2x2", "l:float32:1x2"];
        for (inputs, sidecar, parts) in [
            (&SAM[..], "[prompts]\npoints = \"points\"", &["names 'points'", "Correct the name"][..]),
            (&points, "[prompts]\nkeypoints = [\"nose\"]", &["not known which", "as points and labels"]),
            (&points, "[prompts]\npoints = \"l\"\nlabels = \"p\"", &["do not take points"]),
            (
                &points,
                "[prompts]\npoints = \"p\"\nlabels = \"l\"\nkeypoints = [\"nose\"]",
                &["has 2 points", "of 3", "any number of points"],
            ),
            (&SAM[1..], "", &["none takes what another model has made"]),
            (
                &SAM,
                "[prompts]\ntensors = { image_embedings = \"e\" }",
                &["prompts.tensors", "'image_embedings'", "Correct the name"],
            ),
            (
                &["e:float32:1x8x4x4", "point_coords:float32:1x4x?x2", "point_labels:float32:1x4x?"],
                "",
                &["do not take points"],
            ),
            (
                &["e:float32:1x8x4x4", "point_coords:float32:1x2x2", "point_labels:float32:1x3"],
                "",
                &["do not take points"],
            ),
        ] {
            let error = found(inputs, sidecar).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{sidecar}: {error}");
        }
    }
}
