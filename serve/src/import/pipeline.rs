//! The pipelines: the networks in their order, the tracker, zones and drawing.

use std::path::PathBuf;

use super::analytics::ImportedZones;
use super::document::Document;
use super::element::Element;
use super::infer::{ImportedNetwork, Task};
use super::report::{
    Report,
    Verdict::{Differs, NotTranslated},
};
use super::section::Section;

/// The name of the pipeline of streams with or without zones: zonecount does not run without zones.
pub(super) fn name(with_zones: bool) -> &'static str {
    if with_zones { "deepstream-zones" } else { "deepstream" }
}

/// The elements of all pipelines.
pub(super) struct Pipelines {
    before: Vec<Element>,
    after: Vec<Element>,
    /// The models, by their keys in the descriptions.
    pub(super) set: Vec<(String, String)>,
    /// The models' sidecars; sidecars of models that are not known lie beside the configuration.
    pub(super) sidecars: Vec<(PathBuf, String)>,
}

impl Pipelines {
    pub(super) fn new(
        networks: &[ImportedNetwork],
        tracker: Option<Element>,
        overlay: Option<Element>,
        document: &Document,
        report: &Report,
    ) -> Self {
        let mut pipelines = Self {
            before: vec![Element::new("cudainferupload")],
            after: overlay.into_iter().collect(),
            set: Vec::new(),
            sidecars: Vec::new(),
        };
        let (primary, secondary): (Vec<_>, Vec<_>) = networks.iter().partition(|n| n.operates_on.is_none());
        for (number, network) in primary.iter().enumerate() {
            if number > 0 {
                report.file(
                    &document.path,
                    NotTranslated,
                    "a second network works on whole frames: its objects are added to those of the first",
                );
            }
            pipelines.network(network, seldom(Element::new("fusedpreproc"), network));
        }
        if primary.is_empty() {
            report.file(
                &document.path,
                NotTranslated,
                "no network works on whole frames: streams are decoded, and nothing is found",
            );
        }
        pipelines.before.extend(tracker);
        for network in &secondary {
            let Some((upstream, classes)) = &network.operates_on else { continue };
            pipelines.network(network, region(networks, network, *upstream, classes, document, report));
        }
        pipelines
    }

    fn network(&mut self, network: &ImportedNetwork, preproc: Element) {
        let key = match self.set.len() {
            0 => "model".to_owned(),
            n => format!("model-{}", n + 1),
        };
        let path = network.model.clone().unwrap_or_else(|| format!("{key}.onnx").into());
        self.sidecars.push((path.with_extension("toml"), network.sidecar.clone()));
        self.before.push(preproc);
        self.before.push(network.engine.clone().replaced("model", format!("{{{key}}}")));
        self.before.extend(network.decoder.iter().cloned());
        self.set.push((key, path.to_string_lossy().into_owned()));
    }

    /// The descriptions of the pipelines that streams use: with zones, without, or both. Both share their networks.
    pub(super) fn used(&self, sources: usize, zones: &ImportedZones) -> Vec<(&'static str, String)> {
        let with = (0..sources).filter(|n| zones.get(n).is_some_and(|z| !z.is_empty())).count();
        let (some, all) = (with > 0, with == sources && sources > 0);
        let kinds = [(false, !all), (true, some)];
        kinds
            .into_iter()
            .filter(|(_, used)| *used)
            .map(|(zones, _)| (name(zones), self.description(zones, some && !all)))
            .collect()
    }

    fn description(&self, zones: bool, shared: bool) -> String {
        let mut models = 0;
        let mut words: Vec<String> = Vec::new();
        for element in &self.before {
            let mut text = element.to_string();
            if shared && text.starts_with("trtinfer ") {
                models += 1;
                text.push_str(&format!(" instance=deepstream/{models}"));
            }
            words.push(text);
        }
        if zones {
            words.push(Element::new("zonecount").to_string());
        }
        words.extend(self.after.iter().map(ToString::to_string));
        words.join("\n  ! ")
    }
}

/// fusedpreproc before a secondary network: the objects of one network, by the names of their classes.
fn region(
    networks: &[ImportedNetwork],
    network: &ImportedNetwork,
    upstream: i64,
    classes: &[i64],
    document: &Document,
    report: &Report,
) -> Element {
    let of = networks.iter().find(|n| n.id == upstream);
    let detectors = networks.iter().filter(|n| matches!(n.task, Task::Detection | Task::Instances)).count();
    let name = |class: &i64| {
        let label = of.and_then(|n| n.labels.get(usize::try_from(*class).ok()?));
        label.cloned().unwrap_or_else(|| class.to_string())
    };
    let names: Vec<String> = match (classes, of) {
        // All classes of that network: they are named only if frames also have objects of another network.
        ([], Some(of)) if detectors > 1 => of.labels.clone(),
        (ids, _) => ids.iter().map(name).collect(),
    };
    if of.is_none() {
        let group = Section::find(document, "secondary-gie0", report);
        let sentence = format!(
            "operate-on-gie-id={upstream} names no network of this configuration: it works on all objects"
        );
        match group {
            Some(group) => group.about(Differs, sentence),
            None => report.file(&document.path, Differs, sentence),
        }
    }
    let element = Element::new("fusedpreproc").with("roi", "objects");
    let element = element.with_some("classes", (!names.is_empty()).then(|| names.join(",")));
    let element = element.with_some("min-size", Some(network.min_size).filter(|n| *n > 0));
    // nvinfer cuts whole pixels out and resizes them like a frame.
    seldom(element.with("roi-crop", "pixels"), network)
}

/// fusedpreproc with the network's interval, if it has one.
fn seldom(element: Element, network: &ImportedNetwork) -> Element {
    element.with_some("interval", Some(network.interval).filter(|n| *n > 0))
}
