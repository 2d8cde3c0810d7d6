//! The service's configuration as TOML, with the project's comments.

use std::fmt::Write;

use super::analytics::ImportedZone;
use super::messages::ImportedDestination;
use super::sources::ImportedSource;

/// A string as TOML writes it.
pub(super) fn text(value: &str) -> String {
    toml::Value::from(value).to_string()
}

/// A number as TOML writes it.
pub(super) fn number(value: f64) -> String {
    toml::Value::from(value).to_string()
}

/// A list of values that are TOML already.
pub(super) fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// The contents of the configuration.
pub(super) struct Service<'a> {
    /// The file from which it was made.
    pub(super) made_from: &'a str,
    pub(super) rtsp: Option<i64>,
    /// Name and description of each pipeline.
    pub(super) pipelines: Vec<(&'static str, String)>,
    /// `{key}` and its value.
    pub(super) set: Vec<(String, String)>,
    pub(super) publish: Vec<ImportedDestination>,
    /// Each source with its pipeline and its zones.
    pub(super) sources: Vec<(ImportedSource, &'static str, Vec<ImportedZone>)>,
    /// Names of the first network's classes.
    pub(super) labels: &'a [String],
    /// Whether files are read as fast as possible.
    pub(super) unpaced: bool,
}

impl Service<'_> {
    /// The text.
    pub(super) fn toml(&self) -> String {
        let mut out = format!(
            "# Made from {} by cudainfer-serve import. Check it with: cudainfer-serve --check THIS-FILE\n",
            self.made_from
        );
        if let Some(port) = self.rtsp {
            let _ = write!(out, "\n[server]\nrtsp = {}\n", text(&format!("127.0.0.1:{port}")));
        }
        for (name, description) in &self.pipelines {
            let _ = write!(out, "\n[pipeline.{name}]\nline = '''\n{description}\n'''\n");
            if !self.set.is_empty() {
                let pairs = self.set.iter().map(|(key, value)| format!("{key} = {}", text(value)));
                let _ = writeln!(out, "set = {{ {} }}", pairs.collect::<Vec<_>>().join(", "));
            }
        }
        for publish in &self.publish {
            let _ = write!(out, "\n[[publish]]\nlocation = {}\n", text(&publish.location));
            if publish.minimal {
                out.push_str("format = \"deepstream\"\n");
            }
        }
        for (source, pipeline, zones) in &self.sources {
            self.source(source, pipeline, zones, &mut out);
        }
        out
    }

    fn source(&self, source: &ImportedSource, pipeline: &str, zones: &[ImportedZone], out: &mut String) {
        let _ = write!(
            out,
            "\n[[source]]\nname = {}\nuri = {}\npipeline = {}\n",
            text(&source.name),
            text(&source.uri),
            text(pipeline)
        );
        if source.looped {
            out.push_str("loop = true\n");
        }
        if self.rtsp.is_some() {
            out.push_str("rtsp = true\n");
        }
        if !source.properties.is_empty() {
            let pairs = source.properties.iter().map(|(key, value)| format!("{key} = {value}"));
            let _ = writeln!(out, "source = {{ {} }}", pairs.collect::<Vec<_>>().join(", "));
        }
        if let Some(seconds) = source.stall {
            let _ = writeln!(out, "restart = {{ stall = {seconds} }}");
        }
        if self.unpaced && source.uri.starts_with("file:") {
            out.push_str("live = false\n");
        }
        if !zones.is_empty() {
            out.push_str("zone-units = \"fraction\"\nzones = [\n");
            for zone in zones {
                let _ = writeln!(out, "  {},", self.zone(zone));
            }
            out.push_str("]\n");
        }
    }

    fn zone(&self, zone: &ImportedZone) -> String {
        let points = list(zone.points.iter().map(|[x, y]| list([*x, *y].into_iter().map(number))));
        let mut out =
            format!("{{ name = {}, kind = {}, points = {points}", text(&zone.name), text(zone.kind));
        if !zone.classes.is_empty() {
            let name = |class: &i64| match usize::try_from(*class).ok().and_then(|n| self.labels.get(n)) {
                Some(name) if !name.is_empty() && !name.contains([';', ':', ',', '=']) => text(name),
                _ => class.to_string(),
            };
            let _ = write!(out, ", classes = {}", list(zone.classes.iter().map(name)));
        }
        if let Some(occupancy) = zone.occupancy {
            let _ = write!(out, ", occupancy = {occupancy}");
        }
        out.push_str(" }");
        out
    }
}
