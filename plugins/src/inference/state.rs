//! The states of a recurrent model: outputs that are inputs of the same stream's next run.

use std::path::Path;

use cudainfer_kernels::tensor::TensorDesc;

use super::fed::{Fed, Source};
use super::frame_dims::{of_one_frame, with_shape};
use crate::model::{ImageInput, ModelError, ModelInfo, sidecar_path};

/// The states that the sidecar names, checked against the model's inputs and outputs.
///
/// # Errors
/// [`ModelError::Sidecar`]: a name that is no output or no input, an input that has another use, or dimensions or types that differ.
pub(super) fn states(
    info: &ModelInfo,
    image: &ImageInput,
    inputs: &[TensorDesc],
    outputs: &[TensorDesc],
    model: &Path,
) -> Result<Vec<Fed>, ModelError> {
    let named = |(output, state): (&String, &crate::model::State)| {
        let initial = state.initial.or(info.state.initial).unwrap_or(0.0);
        let list =
            |all: &[TensorDesc]| all.iter().map(|desc| desc.name.as_str()).collect::<Vec<_>>().join(", ");
        let find = |all: &[TensorDesc], name: &str| all.iter().find(|desc| desc.name == *name).cloned();
        let [from, to] = match (find(outputs, output), find(inputs, &state.input)) {
            (Some(from), Some(to)) => [from, to],
            _ if find(inputs, output).is_some() && find(outputs, &state.input).is_some() => {
                return Err(format!(
                    "state.{output} names the input first. Write {} = \"{output}\": the output, and the input that it becomes",
                    state.input
                ));
            }
            (None, _) => {
                return Err(format!(
                    "[state] names the output '{output}', but the model's outputs are {}. Correct the name",
                    list(outputs)
                ));
            }
            (Some(_), None) => {
                return Err(format!(
                    "state.{output} names the input '{}', but the model's inputs are {}. Correct the name",
                    state.input,
                    list(inputs)
                ));
            }
        };
        if to.name == image.name {
            return Err(format!(
                "state.{output} names the input '{}', which takes the picture. Name another input, or the one of the picture in [input] \
                 name",
                to.name
            ));
        }
        if info.constants.contains_key(&to.name) {
            return Err(format!(
                "the input '{}' has a value in [constants] and is a state in [state]. Remove one of them",
                to.name
            ));
        }
        if !may_be_same(&from, &to) {
            return Err(format!(
                "the output {from} cannot become the input {to}: a state has the same type and dimensions as its input. Name the \
                 output and the input that belong together in [state]"
            ));
        }
        let (dims, batched) = of_one_frame(&to, image.batch);
        let wanted = TensorDesc { dims, ..to.clone() };
        let Some(dims) = with_shape(&wanted.dims, state.shape.as_deref()) else {
            let shape = state.shape.iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
            return Err(format!(
                "state.{output}.shape is {}, but for a frame alone the input is {wanted}. Write its dimensions, with any number where \
                 the model has '?'",
                shape.join("x")
            ));
        };
        let is_fixed = state.shape.is_some() || wanted.dims.iter().all(Option::is_some);
        let input = TensorDesc::fixed(&to.name, to.ty, &dims);
        let source = Source::Run { output: output.clone(), is_result: state.result.unwrap_or(false) };
        Ok(Fed { input, source, initial, batched, is_fixed })
    };
    let in_sidecar = |why| ModelError::Sidecar(sidecar_path(model), why);
    let mut states =
        info.state.outputs.iter().map(named).collect::<Result<Vec<_>, _>>().map_err(in_sidecar)?;
    if let Some(rows) = image.batch.filter(|batch| *batch > 1)
        && let Some(state) = states.iter().find(|state| !state.has_rows())
    {
        return Err(ModelError::Unfit(
            model.to_owned(),
            format!(
                "it takes {rows} frames a run, but its state {} has no row for each of them, so those of several streams would share \
                 it. Export it with a batch of 1, or with the batch as the first dimension of its states",
                state.input
            ),
        ));
    }
    // A picture that is fed back is the only result.
    let is_recurrent = !states.is_empty();
    if is_recurrent
        && outputs.iter().all(|output| states.iter().any(|state| state.output() == Some(&output.name)))
    {
        for state in &mut states {
            if let Source::Run { output, is_result } = &mut state.source
                && info.state.outputs.get(output).is_none_or(|stated| stated.result.is_none())
            {
                *is_result = true;
            }
        }
        if !states.iter().any(is_result) {
            return Err(in_sidecar(
                "all outputs of the model are states that are no results, so frames would carry nothing. Set result = true for one of \
                 them"
                    .into(),
            ));
        }
    }
    Ok(states)
}

/// Whether frames carry the output, too.
fn is_result(state: &Fed) -> bool {
    matches!(state.source, Source::Run { is_result: true, .. })
}

/// Whether two tensors have the same type and, as far as they are known, the same dimensions.
pub(super) fn may_be_same(one: &TensorDesc, other: &TensorDesc) -> bool {
    let same = |(a, b): (&Option<usize>, &Option<usize>)| a.is_none() || b.is_none() || a == b;
    one.ty == other.ty && one.dims.len() == other.dims.len() && one.dims.iter().zip(&other.dims).all(same)
}

/// Whether runs can have frames of several streams.
pub(super) fn may_share_runs(states: &[Fed]) -> bool {
    states.iter().all(Fed::has_rows)
}

/// How the names of a state's input and output differ, in models that are exported: at their ends, or at their beginnings.
const PAIRS: [(&str, &str); 9] = [
    ("i", "o"),
    ("in", "out"),
    ("input", "output"),
    ("prev", "next"),
    ("previous", "next"),
    ("old", "new"),
    ("past", "present"),
    ("", "n"),
    ("", "N"),
];

/// A warning about inputs that look like states of outputs, and are not named so; none where there is no such input.
pub(super) fn unnamed(
    info: &ModelInfo,
    image: &ImageInput,
    inputs: &[TensorDesc],
    outputs: &[TensorDesc],
) -> Option<String> {
    let alike = |input: &&TensorDesc, output: &&TensorDesc| {
        let rest = |before: &str, after: &str| {
            let ends = input.name.strip_suffix(before).zip(output.name.strip_suffix(after));
            let begins = input.name.strip_prefix(before).zip(output.name.strip_prefix(after));
            let same = |(a, b): (&str, &str)| a == b && !a.is_empty();
            // What is added to a name is added at its end.
            ends.is_some_and(same) || !before.is_empty() && begins.is_some_and(same)
        };
        may_be_same(input, output) && PAIRS.iter().any(|(before, after)| rest(before, after))
    };
    let named = |input: &TensorDesc| {
        info.frames.inputs.contains_key(&input.name)
            || info.state.outputs.values().any(|state| state.input == input.name)
    };
    let lines = inputs.iter().filter(|input| input.name != image.name && !named(input)).filter_map(|input| {
        let output = outputs.iter().find(|output| alike(&input, output))?;
        Some((input.name.as_str(), format!("{} = \"{}\"", output.name, input.name)))
    });
    let (names, lines): (Vec<_>, Vec<_>) = lines.unzip();
    (!names.is_empty()).then(|| {
        format!(
            "the model looks like a recurrent one: {} look{} like what the run before has made, but the sidecar does not name {} in \
             [state], so nothing is remembered. If they belong together, write into it: [state], and below it {}",
            names.join(", "),
            if names.len() == 1 { "s" } else { "" },
            if names.len() == 1 { "it" } else { "them" },
            lines.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::tensor::TensorType;

    use super::*;
    use crate::inference::elements;
    use crate::model::Sidecar;

    fn descs(texts: &[&str]) -> Vec<TensorDesc> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The states of a model with these inputs and outputs, the first input of which takes the picture.
    fn found(inputs: &[&str], outputs: &[&str], sidecar: &str) -> Result<Vec<Fed>, String> {
        let info = info(sidecar);
        let (inputs, outputs) = (descs(inputs), descs(outputs));
        let image = ImageInput::of(&inputs, &info, Path::new("m.onnx")).map_err(|e| e.to_string())?;
        states(&info, &image, &inputs, &outputs, Path::new("m.onnx")).map_err(|e| e.to_string())
    }

    fn info(sidecar: &str) -> ModelInfo {
        ModelInfo::of(toml::from_str::<Sidecar>(sidecar).unwrap())
    }

    const IMAGE: &str = "images:float32:?x3x16x24";

    #[test]
    fn a_state_has_the_inputs_dimensions_or_those_stated_and_else_ones() {
        let all = found(
            &[IMAGE, "r1i:float32:?x4", "r2i:float32:1x2", "r3i:float32:?x?x?x?", "r4i:float32:?x?"],
            &[
                "out:float32:?x1",
                "r1o:float32:?x4",
                "r2o:float32:1x2",
                "r3o:float32:?x?x?x?",
                "r4o:float32:?x?",
            ],
            "[state]\ninitial = 2\nr1o = \"r1i\"\nr2o = \"r2i\"\nr3o = { input = \"r3i\", initial = 1 }\n\
             r4o = { input = \"r4i\", shape = [1, 8] }",
        )
        .unwrap();
        let of = |s: &Fed| (s.input.to_string(), s.initial, s.batched, s.is_fixed);
        assert_eq!(
            all.iter().map(of).collect::<Vec<_>>(),
            [
                ("r1i:float32:1x4".to_owned(), 2.0, true, true),
                ("r2i:float32:1x2".to_owned(), 2.0, false, true),
                ("r3i:float32:1x1x1x1".to_owned(), 1.0, true, false),
                ("r4i:float32:1x8".to_owned(), 2.0, true, true),
            ]
        );
        assert!(!all.iter().any(is_result));
        assert!(may_share_runs(&all[..1]) && !may_share_runs(&all[..2]) && !may_share_runs(&all[2..3]));
        assert_eq!((all[0].dims(3), all[1].dims(3)), (vec![3, 4], vec![1, 2]));
        assert_eq!(all[1].at_first().unwrap(), elements([2.0, 2.0], TensorType::Float32));
    }

    #[test]
    fn an_output_that_is_all_that_there_is_is_a_result_as_well() {
        let of = |outputs: &[&str], sidecar: &str| found(&[IMAGE, "i:float32:?x1"], outputs, sidecar);
        assert!(is_result(&of(&["o:float32:?x1"], "[state]\no = \"i\"").unwrap()[0]));
        let refused = of(&["o:float32:?x1"], "[state]\no = { input = \"i\", result = false }").unwrap_err();
        assert!(refused.contains("result = true"), "{refused}");
        let more = ["o:float32:?x1", "p:float32:?x1"];
        assert!(!is_result(&of(&more, "[state]\no = \"i\"").unwrap()[0]));
        assert!(is_result(&of(&more, "[state]\no = { input = \"i\", result = true }").unwrap()[0]));
    }

    #[test]
    fn what_does_not_belong_together_is_refused_in_a_sentence() {
        for (inputs, outputs, sidecar, parts) in [
            (
                &[IMAGE, "i:float32:1"][..],
                &["o:float16:1"][..],
                "o = \"i\"",
                &["o:float16:1", "i:float32:1"][..],
            ),
            (
                &[IMAGE, "i:float32:1x2"],
                &["o:float32:1x3"],
                "o = \"i\"",
                &["same type and dimensions", "[state]"],
            ),
            (&[IMAGE, "i:float32:1"], &["o:float32:1"], "p = \"i\"", &["output 'p'", "outputs are o"]),
            (&[IMAGE, "i:float32:1"], &["o:float32:1"], "o = \"j\"", &["input 'j'", "inputs are images, i"]),
            (&[IMAGE, "i:float32:1"], &["o:float32:1"], "i = \"o\"", &["Write o = \"i\""]),
            (
                &[IMAGE, "i:float32:1x?"],
                &["o:float32:1x?"],
                "o = { input = \"i\", shape = [2, 3] }",
                &["state.o.shape is 2x3", "i:float32:1x?"],
            ),
            (
                &["images:float32:4x3x16x24", "i:float32:1x2"],
                &["o:float32:1x2"],
                "o = \"i\"",
                &["4 frames a run", "i:float32:1x2", "no row for each"],
            ),
            (
                &[IMAGE, "i:float32:?x3x16x24"],
                &["o:float32:?x3x16x24"],
                "o = \"i\"\n[input]\nname = \"i\"",
                &["takes the picture"],
            ),
            (
                &[IMAGE, "i:float32:1"],
                &["o:float32:1"],
                "o = \"i\"\n[constants]\ni = [1.0]",
                &["value in [constants]", "Remove one"],
            ),
        ] {
            let error = found(inputs, outputs, &format!("[state]\n{sidecar}")).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{sidecar}: {error}");
        }
    }

    #[test]
    fn a_fixed_batch_may_have_a_row_of_the_state_for_each_frame() {
        let batch = ["images:float32:4x3x16x24", "i:float32:4x2"];
        let all = found(&batch, &["o:float32:4x2", "p:float32:4x1"], "[state]\no = \"i\"").unwrap();
        assert_eq!((all[0].batched, all[0].input.to_string().as_str()), (true, "i:float32:1x2"));
    }

    #[test]
    fn names_that_differ_as_those_of_states_do_are_told_once_with_the_lines_to_write() {
        let warned = |inputs: &[&str], outputs: &[&str], sidecar: &str| {
            let info = info(sidecar);
            let inputs = descs(inputs);
            let image = ImageInput::of(&inputs, &info, Path::new("m.onnx")).unwrap();
            unnamed(&info, &image, &inputs, &descs(outputs))
        };
        for (input, output) in [
            ("r1i", "r1o"),
            ("h_in", "h_out"),
            ("state_prev", "state_next"),
            ("prev_state", "next_state"),
            ("state", "stateN"),
            ("past.key", "present.key"),
        ] {
            let (inputs, outputs) =
                ([IMAGE, &format!("{input}:float32:1x2")], [&*format!("{output}:float32:1x2")]);
            let text = warned(&inputs, &outputs, "").unwrap();
            assert!(text.contains(&format!("{output} = \"{input}\"")), "{text}");
            assert_eq!(warned(&inputs, &outputs, &format!("[state]\n\"{output}\" = \"{input}\"")), None);
        }
        let several = warned(
            &[IMAGE, "r1i:float32:1", "r2i:float32:1"],
            &["fgr:float32:1", "r1o:float32:1", "r2o:float32:1"],
            "",
        );
        assert!(several.unwrap().ends_with("r1o = \"r1i\", r2o = \"r2i\""));
        // Another type, other dimensions, the picture itself, and names that have nothing else in common.
        assert_eq!(warned(&[IMAGE, "r1i:float32:1x2"], &["r1o:float16:1x2", "r1o:float32:1x3"], ""), None);
        assert_eq!(warned(&["image_in:float32:?x3x8x8"], &["image_out:float32:?x3x8x8"], ""), None);
        assert_eq!(
            warned(&[IMAGE, "in:float32:1", "a:float32:1"], &["out:float32:1", "b:float32:1"], ""),
            None
        );
    }
}
