//! `cudainfer-inspect MODEL`: how a model is read, from which source that is known, and the sidecar that would say the same.
//!
//! It runs the model once on the CPU, through `trtinfer` and the element that decodes its outputs, and prints what these post on
//! the bus. The elements are those that GStreamer finds: nothing of them is linked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gst::prelude::*;

const USAGE: &str = "\
cudainfer-inspect MODEL.onnx [--element gpunms|classify|segmask|peakfind|tensormap] [--decoder NAME]

Says how a model is read, where that is written, and prints the sidecar that would say the same, ready to paste. It runs the model
once on the CPU, through trtinfer and the element that decodes its outputs: the one whose section the sidecar or the model's own
words fill, else gpunms. --decoder is that of gpunms.

Exit codes: 0 the model can be read, 1 it cannot, 2 wrong arguments.
";

/// The elements that decode outputs, each with the section of the sidecar that is for it alone.
const ELEMENTS: [(&str, Option<&str>); 5] = [
    ("gpunms", None),
    ("classify", Some("classify")),
    ("segmask", Some("segment")),
    ("peakfind", Some("peaks")),
    ("tensormap", Some("map")),
];

/// The names of the two elements that are asked.
const MODEL: &str = "model";
const OUTPUTS: &str = "outputs";

/// How the reading of a promptable model begins, and where such a model stands.
const PROMPTABLE: &str = "promptable";
const LINE: &str =
    "… ! gpunms ! fusedpreproc ! trtinfer model=ENCODER.onnx ! trtinfer model=DECODER.onnx ! segmask";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::parse(&words) {
        Ok(arguments) => arguments,
        Err(sentence) => {
            eprint!("cudainfer-inspect: {sentence}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match gst::init().map_err(|e| e.to_string()).and_then(|()| inspect(&arguments)) {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("cudainfer-inspect: {sentence}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, Default, PartialEq)]
struct Arguments {
    model: PathBuf,
    element: Option<String>,
    decoder: Option<String>,
}

impl Arguments {
    fn parse(words: &[String]) -> Result<Self, String> {
        let mut arguments = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word.as_str(), None),
            };
            let mut value =
                || value.or_else(|| words.next().map(String::as_str)).ok_or(format!("{name} needs a value"));
            match name {
                "--element" => arguments.element = Some(value()?.to_owned()),
                "--decoder" => arguments.decoder = Some(value()?.to_owned()),
                _ if name.starts_with('-') => return Err(format!("there is no option '{name}'")),
                _ if arguments.model.as_os_str().is_empty() => arguments.model = word.into(),
                _ => return Err(format!("'{word}' is one model too many")),
            }
        }
        arguments.checked()
    }

    fn checked(self) -> Result<Self, String> {
        if self.model.as_os_str().is_empty() {
            return Err("a model's file is missing".into());
        }
        let element = self.element.as_deref();
        if let Some(unknown) = element.filter(|name| ELEMENTS.iter().all(|(known, _)| known != name)) {
            let known = ELEMENTS.map(|(name, _)| name).join(", ");
            return Err(format!("'{unknown}' decodes no outputs; the elements that do are {known}"));
        }
        if let Some(other) = element.filter(|name| self.decoder.is_some() && *name != "gpunms") {
            return Err(format!("--decoder is an option of gpunms, not of {other}"));
        }
        Ok(self)
    }
}

/// Runs the model, prints what is known of it, and returns whether it can be read.
fn inspect(arguments: &Arguments) -> Result<ExitCode, String> {
    let alone = Findings::of(&arguments.model, "")?;
    let Some(model) = alone.readings.get(MODEL) else {
        return Err(alone.error.unwrap_or_else(|| "trtinfer reported nothing about the model".into()));
    };
    // It runs on what its encoder has made of a frame, and not alone.
    if model.text.starts_with(PROMPTABLE) {
        println!("input    {}", model.text);
        println!("outputs  an object's masks (segmask), as in: {LINE}");
        print_sidecar(&arguments.model, &model.sidecar);
        return Ok(ExitCode::SUCCESS);
    }
    let element = match (&arguments.element, &arguments.decoder) {
        (Some(element), _) => element,
        (None, Some(_)) => "gpunms",
        (None, None) => decoding_element(&model.sidecar),
    };
    let decoder = arguments.decoder.as_ref().map(|name| format!("decoder=\"{name}\"")).unwrap_or_default();
    let decoding = format!("! {element} name={OUTPUTS} device=cpu {decoder}");
    // Pictures are vectors as well, if that is all that is asked for.
    let picture =
        (element == "tensormap").then(|| Findings::of(&arguments.model, &format!("{decoding} output=rgb")));
    let picture = picture.transpose()?.filter(|found| found.error.is_none());
    let found = picture.map_or_else(|| Findings::of(&arguments.model, &decoding), Ok)?;
    found.print(&arguments.model, element);
    Ok(if found.error.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The element for a model with this sidecar.
fn decoding_element(sidecar: &str) -> &'static str {
    let written: toml::Table = sidecar.parse().unwrap_or_default();
    let has_section = |section: &Option<&str>| section.is_some_and(|name| written.contains_key(name));
    // A detector's masks have a section as well.
    let is_detector = written.get("output").is_some_and(|output| output.get("decoder").is_some());
    let (of_section, _) = ELEMENTS.iter().find(|(_, section)| has_section(section)).unwrap_or(&ELEMENTS[0]);
    if is_detector { "gpunms" } else { of_section }
}

/// What an element reports of the model: a sentence, and the sidecar that would say the same.
#[derive(Debug, Default)]
struct Reading {
    text: String,
    sidecar: String,
}

/// What a pipeline reported.
#[derive(Debug, Default)]
struct Findings {
    /// By the element's name.
    readings: HashMap<String, Reading>,
    warnings: Vec<String>,
    error: Option<String>,
}

impl Findings {
    /// Runs the model on one frame, with the description of an element after it.
    fn of(model: &Path, decoding: &str) -> Result<Self, String> {
        let pipeline = gst::parse::launch(&format!(
            "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=640,height=480 ! fusedpreproc device=cpu \
             ! trtinfer name={MODEL} provider=cpu device=cpu {decoding} ! fakesink"
        ))
        .map_err(|e| e.message().to_owned())?
        .downcast::<gst::Pipeline>()
        .map_err(|_| "the description has no pipeline")?;
        // A path is no part of the description, where quotes and backslashes have a meaning.
        let element = pipeline.by_name(MODEL).ok_or("the pipeline has no trtinfer")?;
        element.set_property("model", model.to_str().ok_or("the model's path is not UTF-8")?);
        let bus = pipeline.bus().ok_or("the pipeline has no bus")?;
        let mut found = Self::default();
        // An element that cannot start has posted its error.
        let _ = pipeline.set_state(gst::State::Playing);
        for message in bus.iter_timed(None) {
            if !found.take(&message) {
                break;
            }
        }
        let _ = pipeline.set_state(gst::State::Null);
        Ok(found)
    }

    /// Notes what a message reports, and returns whether others may follow.
    fn take(&mut self, message: &gst::Message) -> bool {
        match message.view() {
            gst::MessageView::Info(info) => {
                let name = message.src().map(|source| source.name().to_string()).unwrap_or_default();
                if let Some(details) = info.details().filter(|details| details.name() == "cudainfer-reading")
                {
                    let field = |name| details.get::<String>(name).unwrap_or_default();
                    self.readings.insert(name, Reading { text: field("reading"), sidecar: field("sidecar") });
                }
            }
            // A warning of this domain is about this machine, not about the model.
            gst::MessageView::Warning(warning) if !warning.error().matches(gst::LibraryError::Init) => {
                let sentence = warning.error().message().to_owned();
                if !self.warnings.contains(&sentence) {
                    self.warnings.push(sentence);
                }
            }
            gst::MessageView::Error(error) => {
                self.error = Some(error.error().message().to_owned());
                return false;
            }
            gst::MessageView::Eos(_) => return false,
            _ => {}
        }
        true
    }

    fn print(&self, model: &Path, element: &str) {
        match self.readings.get(MODEL) {
            Some(reading) => println!("input    {}", reading.text),
            None => println!("input    unknown"),
        }
        let outputs = self.readings.get(OUTPUTS);
        match outputs {
            Some(reading) => println!("outputs  {} ({element})", reading.text),
            None => println!("outputs  {element} cannot read them"),
        }
        for sentence in &self.warnings {
            println!("warning  {sentence}");
        }
        if let Some(sentence) = &self.error {
            println!("error    {sentence}");
            println!("         (another element is named with --element, another decoder with --decoder)");
        }
        print_sidecar(model, outputs.or(self.readings.get(MODEL)).map_or("", |reading| &reading.sidecar));
    }
}

fn print_sidecar(model: &Path, sidecar: &str) {
    if sidecar.is_empty() {
        println!("\nNothing that a sidecar could say is known.");
        return;
    }
    let path = model.with_extension("toml");
    let note = if path.exists() { "replaces" } else { "is not there yet" };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    println!("\n# {name}, which {note}: says the same");
    print!("{sidecar}");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse(text: &str) -> Result<Arguments, String> {
        Arguments::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_come_in_any_order_and_what_makes_no_sense_is_named() {
        let wanted = Arguments {
            model: "a.onnx".into(),
            element: Some("gpunms".into()),
            decoder: Some("yolov8".into()),
        };
        for text in ["a.onnx --element gpunms --decoder yolov8", "--decoder=yolov8 --element=gpunms a.onnx"] {
            assert_eq!(parse(text).unwrap(), wanted);
        }
        for (text, part) in [
            ("", "a model's file is missing"),
            ("a.onnx b.onnx", "'b.onnx' is one model too many"),
            ("a.onnx --decoder", "--decoder needs a value"),
            ("a.onnx --fast", "no option '--fast'"),
            ("a.onnx --element tracker", "gpunms, classify, segmask, peakfind, tensormap"),
            ("a.onnx --element classify --decoder yolov8", "an option of gpunms, not of classify"),
        ] {
            assert!(parse(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn the_element_is_the_one_whose_section_is_filled() {
        for (sidecar, element) in [
            ("", "gpunms"),
            ("[classify]\nactivation = \"none\"\n", "classify"),
            ("[segment]\nbackground = 0\n", "segmask"),
            ("[map]\nrange-max = 10.0\n", "tensormap"),
            ("[output]\ndecoder = \"yolo-seg\"\n\n[segment]\nthreshold = 0.5\n", "gpunms"),
            ("[output]\nlabels = [\"[classify]\"]\n", "gpunms"),
            ("[peaks]\nthreshold = 0.2\n", "peakfind"),
        ] {
            assert_eq!(decoding_element(sidecar), element, "{sidecar}");
        }
    }
}
