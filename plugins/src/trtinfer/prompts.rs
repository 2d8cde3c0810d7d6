//! What a promptable model is fed with, such as SAM's decoder: tensors that the model upstream has made of the frame, and, for each object
//! of the frame, the points that ask for it.

use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::tensor::TensorDesc;

use super::constants::constant;
use super::given::Given;
use crate::caps::{self, ModelOutputs};
use crate::inference::{Engine, Fed, FedTensors, FrameTensors, RunShape, Source, elements, of_one_frame};
use crate::meta::object::{Object, objects};
use crate::meta::tensor::{Tensor, TensorSet};
use crate::model::{Prompted, Prompts, names_reading};

/// What a point of a prompt is, in the numbers of SAM: something to find, the box's corners, and no point at all.
const FOREGROUND: f64 = 1.0;
const UPPER_LEFT: f64 = 2.0;
const LOWER_RIGHT: f64 = 3.0;
const NONE: f64 = -1.0;

/// Keypoints with a lower score ask for nothing.
const SCORE: f64 = 0.3;

/// From pixels of the frame, counted from the first one's edge, to SAM's points, which are counted from its centre.
const CENTRE: f64 = 0.5;

/// What frames with these caps bring, for a promptable model.
///
/// # Errors
/// A sentence that says what was offered and what is needed.
pub(super) fn shape(
    incoming: &gst::CapsRef,
    engine: &Engine,
    prompted: &Prompted,
    constants: Option<&Given>,
) -> Result<RunShape, String> {
    let prompts = &engine.info.prompts;
    let ModelOutputs { outputs, input, .. } = ModelOutputs::of(incoming).map_err(|_| {
        format!(
            "the model takes what another model makes of the frame as '{}', and frames arrive without it. Put fusedpreproc and a trtinfer \
             with that model, the encoder, before this element",
            prompted.features.name
        )
    })?;
    if caps::of_regions(incoming) {
        return Err("the model takes what another model makes of a whole frame, but that one has seen regions of it. Remove the property \
                    roi of fusedpreproc"
            .into());
    }
    let brought = |wanted: &TensorDesc| -> Result<(TensorDesc, bool), String> {
        let (dims, batched) = of_one_frame(wanted, engine.input.batch);
        let wanted = TensorDesc { dims, ..wanted.clone() };
        let name = prompts.output(&wanted.name);
        let found = outputs.iter().find(|output| output.name == name).ok_or_else(|| {
            let all: Vec<_> = outputs.iter().map(|output| output.name.as_str()).collect();
            format!(
                "the model takes the tensor '{name}', but the model upstream makes {}. Write which of them it is into the sidecar's \
                 [prompts]: tensors = {{ {} = \"…\" }}",
                all.join(", "),
                wanted.name
            )
        })?;
        let fits = |(has, wants): (&Option<usize>, &Option<usize>)| {
            has.is_some() && (wants.is_none() || has == wants)
        };
        let same = found.ty == wanted.ty
            && found.dims.len() == wanted.dims.len()
            && found.dims.iter().zip(&wanted.dims).all(fits);
        if !same {
            return Err(format!(
                "the model wants {wanted}, but the model upstream makes {found}. Use the encoder and the decoder of one model, in one type and with dimensions that are known"
            ));
        }
        Ok((TensorDesc { name: wanted.name, ..found.clone() }, batched))
    };
    let features = &prompted.features;
    let (image, _) = brought(&features.picture_desc(&features.name))?;
    let mut fed = Vec::new();
    for input in &prompted.further {
        let (input, batched) = brought(input)?;
        fed.push(Fed { input, source: Source::Frame, initial: 0.0, batched, is_fixed: true });
    }
    for (input, last) in [(&prompted.points, &[2][..]), (&prompted.labels, &[])] {
        let (dims, batched) = of_one_frame(input, engine.input.batch);
        let alone = dims.len() - last.len() - 1;
        let sizes = vec![1; alone].into_iter().chain([prompted.count]).chain(last.iter().copied());
        let input = TensorDesc::fixed(&input.name, input.ty, &sizes.collect::<Vec<_>>());
        fed.push(Fed { input, source: Source::Frame, initial: 0.0, batched, is_fixed: true });
    }
    if let Some(fed) = fed.iter().find(|fed| engine.batch > 1 && !fed.batched) {
        return Err(format!(
            "the model takes {} objects a run, but {} has no row for each of them. Set batch-size=1",
            engine.batch, fed.input
        ));
    }
    let is_other =
        |desc: &&TensorDesc| desc.name != features.name && fed.iter().all(|fed| fed.input.name != desc.name);
    let sizes = [input, caps::frame_size(incoming)];
    let constants = engine
        .inputs
        .iter()
        .filter(is_other)
        .map(|desc| constant(desc, engine, constants, sizes))
        .collect::<Result<_, _>>()?;
    let side = |index: usize| image.dims.get(index).copied().flatten().unwrap_or(0);
    let size = [side(3), side(2)];
    let tensors = FrameTensors::of(features, &engine.outputs, image.ty, size, constants, Vec::new(), fed);
    tensors.and_then(|tensors| RunShape::new(tensors, engine.batch)).map_err(|e| e.to_string())
}

/// Takes the tensors of the model upstream off a frame, and makes a set of each object that something asks for; and how many nothing
/// asks for. `None` where the frame does not bring what the model wants.
pub(super) fn sets(
    frame: &mut gst::BufferRef,
    shape: &RunShape,
    prompts: &Prompts,
    prompted: &Prompted,
) -> Option<(Vec<TensorSet>, u64)> {
    let [set] = <[TensorSet; 1]>::try_from(TensorSet::take(frame)?).ok()?;
    let brought = |wanted: &TensorDesc| {
        let name = prompts.output(&wanted.name);
        let tensor = set.tensors.iter().find(|tensor| tensor.desc.name == name)?;
        let is_wanted = (tensor.desc.ty, &tensor.desc.dims) == (wanted.ty, &wanted.dims);
        is_wanted.then(|| Tensor { desc: wanted.clone(), data: tensor.data.clone() })
    };
    let image = brought(&shape.image)?;
    let further = |name: &str| prompted.further.iter().any(|input| input.name == name);
    let to_tensor = set.to_frame.inverse()?;
    let (mut sets, mut unprompted) = (Vec::new(), 0);
    for object in objects(frame) {
        let Some(points) = prompt(&object, prompts, prompted.count, &to_tensor) else {
            unprompted += 1;
            continue;
        };
        let fed = shape.fed.iter().map(|fed| {
            let desc = &fed.input;
            if further(&desc.name) {
                return brought(desc);
            }
            let numbers: Vec<f64> = if desc.name == prompted.points.name {
                points.iter().flat_map(|(at, _)| *at).collect()
            } else {
                points.iter().map(|(_, what)| *what).collect()
            };
            Some(Tensor { desc: desc.clone(), data: gst::Buffer::from_slice(elements(numbers, desc.ty)) })
        });
        let tensors = std::iter::once(Some(image.clone())).chain(fed).collect::<Option<_>>()?;
        sets.push(TensorSet { tensors, object: Some(object.id), batch: None, ..set });
    }
    Some((sets, unprompted))
}

/// What a set of [`sets`] feeds besides its picture.
pub(super) fn fed(set: &TensorSet, shape: &RunShape) -> Option<FedTensors> {
    let own = |fed: &Fed| set.tensors.iter().find(|tensor| tensor.desc == fed.input).cloned();
    if shape.is_prompted() { shape.fed.iter().map(own).collect() } else { None }
}

/// For the user: how the model's inputs are filled.
pub(super) fn reading(engine: &Engine) -> String {
    let Some(prompted) = &engine.prompted else { return engine.info.input_reading(&engine.input) };
    let prompts = &engine.info.prompts;
    let points = prompts.keypoints.join(", ");
    let asks = match (prompts.has_box(), prompts.keypoints.is_empty()) {
        (true, true) => "its box".to_owned(),
        (true, false) => format!("its box and its points {points}"),
        (false, _) => format!("its points {points}"),
    };
    let features = prompted.features.picture_desc(&prompted.features.name);
    let taken: Vec<_> = std::iter::once(&features)
        .chain(&prompted.further)
        .map(|input| TensorDesc { name: prompts.output(&input.name).to_owned(), ..input.clone() }.to_string())
        .collect();
    format!(
        "promptable: a run for each object, which is asked for by {asks} in '{}' and '{}', on {} of the model upstream; {}",
        prompted.points.name,
        prompted.labels.name,
        taken.join(" and "),
        names_reading(&engine.info)
    )
}

/// The points that ask for an object, in pixels of the tensor that the model upstream has seen, and what each is; `None` where nothing
/// does.
fn prompt(
    object: &Object,
    prompts: &Prompts,
    count: usize,
    to_tensor: &Affine,
) -> Option<Vec<([f64; 2], f64)>> {
    let place = |x: f64, y: f64| {
        let Affine { scale, skew, offset } = to_tensor;
        [scale[0] * x + skew[0] * y + offset[0], skew[1] * x + scale[1] * y + offset[1]]
    };
    let mut points = Vec::with_capacity(count);
    let outline = object.detected_outline();
    if prompts.has_box() {
        let outline =
            outline.filter(|rect| [rect.x, rect.y, rect.w, rect.h].iter().all(|v| v.is_finite()))?;
        let [left, top, right, bottom] =
            [outline.x, outline.y, outline.right(), outline.bottom()].map(f64::from);
        points.push((place(left, top), UPPER_LEFT));
        points.push((place(right, bottom), LOWER_RIGHT));
    }
    for name in &prompts.keypoints {
        let found = object.keypoints.as_ref().and_then(|keypoints| {
            let index = keypoints.names.iter().position(|known| known == name)?;
            let of = |list: &[f64]| list.get(index).copied();
            let (x, y) = (of(&keypoints.x)?, of(&keypoints.y)?);
            let seen = of(&keypoints.score).is_some_and(|score| score >= SCORE);
            (seen && x.is_finite() && y.is_finite()).then(|| (place(x - CENTRE, y - CENTRE), FOREGROUND))
        });
        points.extend(found);
    }
    if points.is_empty() {
        return None;
    }
    points.resize(count, ([0.0; 2], NONE));
    Some(points)
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::{DetectionParam, KeypointsParam};

    fn object(score: f64) -> Object {
        let rect = Rect { x: 10.0, y: 20.0, w: 30.0, h: 40.0 };
        Object {
            detection: Some(DetectionParam { rect, confidence: 0.9, label_id: 0 }),
            keypoints: Some(KeypointsParam {
                names: vec!["nose".into(), "tail".into()],
                x: vec![20.5, 30.5],
                y: vec![40.5, 50.5],
                score: vec![0.9, score],
                ..KeypointsParam::default()
            }),
            ..Object::default()
        }
    }

    /// A tensor of half the frame's size, 8 pixels from its left.
    fn to_tensor() -> Affine {
        let to_frame = Affine { scale: [2.0, 2.0], skew: [0.0, 0.0], offset: [-16.0, 0.0] };
        to_frame.inverse().unwrap()
    }

    fn asked(object: &Object, prompts: &str, count: usize) -> Option<Vec<([f64; 2], f64)>> {
        let sidecar: crate::model::Sidecar = toml::from_str(&format!("[prompts]\n{prompts}")).unwrap();
        prompt(object, &sidecar.prompts, count, &to_tensor())
    }

    #[test]
    fn a_box_is_its_corners_and_points_are_counted_from_pixels_centres() {
        let corners = [([13.0, 10.0], UPPER_LEFT), ([28.0, 30.0], LOWER_RIGHT)];
        assert_eq!(asked(&object(0.9), "", 2).unwrap(), corners);
        let all = asked(&object(0.9), "keypoints = [\"tail\", \"nose\"]", 4).unwrap();
        assert_eq!(all[..2], corners);
        assert_eq!(all[2..], [([23.0, 25.0], FOREGROUND), ([18.0, 20.0], FOREGROUND)]);
    }

    #[test]
    fn what_is_not_seen_is_no_point_and_an_object_without_any_is_not_asked_for() {
        let points = "box = false\nkeypoints = [\"tail\", \"nose\", \"ear\"]";
        let seen = asked(&object(0.1), points, 3).unwrap();
        assert_eq!(seen, [([18.0, 20.0], FOREGROUND), ([0.0; 2], NONE), ([0.0; 2], NONE)]);
        assert_eq!(asked(&Object::default(), points, 3), None);
        assert_eq!(asked(&Object::default(), "", 2), None);
        assert_eq!(asked(&object(0.1), "box = false\nkeypoints = [\"tail\"]", 1), None);
    }
}
