//! The elements of a pipeline's description: parsed, with the properties that a source sets.

use cudainfer_launch::{elements, properties};
use cudainfer_model::file_of;
use cudainfer_model::mistakes::nearest;
use gst::prelude::*;

use super::StreamSpec;
use super::parse::parse;
use crate::config::{Scalar, SourceConfig, ZoneUnits, zones_text};

/// Properties that elements of one instance need not have in common.
const NOT_OF_THE_INSTANCE: [&str; 5] = ["instance", "model", "priority", "leaky", "max-in-flight"];

/// A parsed description.
#[derive(Clone, Debug)]
pub struct Description {
    /// With the pads `sink` and `src`.
    pub bin: gst::Bin,
    /// The names of the instances of its trtinfers.
    pub instances: Vec<String>,
}

impl Description {
    /// Parses a stream's description and sets what the source says.
    ///
    /// # Errors
    /// The source's key that is wrong, and a sentence.
    pub fn new(spec: &StreamSpec) -> Result<Self, (&'static str, String)> {
        let source = &spec.source;
        let bin =
            parse(&spec.description).map_err(|e| ("line", format!("pipeline '{}': {e}", source.pipeline)))?;
        for (pad, what) in [("sink", "begins with what takes video"), ("src", "ends with what gives video")] {
            let open = bin.static_pad(pad);
            if !open.as_ref().is_some_and(has_video) {
                let found = if open.is_none() { "has no open" } else { "has no video at its" };
                let sentence = format!(
                    "pipeline '{}': the line {found} {pad} pad; it stands between a source and a sink, so it {what}",
                    source.pipeline
                );
                return Err(("line", sentence));
            }
        }
        for (key, value) in &source.overrides {
            let (name, property) = key.split_once('.').unwrap_or((key, ""));
            for element in found(&bin, name).map_err(|sentence| ("override", sentence))? {
                properties::set(&element, property, value).map_err(|sentence| ("override", sentence))?;
            }
        }
        set_zones(&bin, source)?;
        let networks = elements::of_factory(&bin, "trtinfer");
        let instances = networks.iter().map(|element| share(element, spec)).collect();
        Ok(Self { bin, instances })
    }

    /// The trtinfers.
    pub fn networks(&self) -> Vec<gst::Element> {
        elements::of_factory(&self.bin, "trtinfer")
    }

    /// The elements that count in zones.
    pub fn counters(&self) -> Vec<gst::Element> {
        elements::of_factory(&self.bin, "zonecount")
    }

    /// The models of the trtinfers.
    pub(super) fn models(&self) -> Vec<String> {
        self.networks().iter().filter_map(|network| network.property("model")).collect()
    }

    /// The elements of this name, or else of this factory.
    pub(super) fn found(&self, name: &str) -> Result<Vec<gst::Element>, String> {
        found(&self.bin, name)
    }

    /// Whether each model is a file.
    pub(super) fn check_models(&self) -> Result<(), String> {
        for element in self.networks() {
            let name = element.name();
            match element.property::<Option<String>>("model") {
                None => return Err(format!("{name} has no model: set its property model in the line")),
                Some(model) if !file_of(std::path::Path::new(&model)).is_file() => {
                    let folder = std::env::current_dir().unwrap_or_default();
                    return Err(format!(
                        "there is no model '{model}' for {name}; paths are relative to the configuration's folder, '{}'",
                        folder.display()
                    ));
                }
                Some(_) => (),
            }
        }
        Ok(())
    }

    /// Whether each zonecount has zones and takes them, by its own checks, and whether their points can be in its units.
    pub(super) fn check_zones(&self, source: &SourceConfig) -> Result<(), String> {
        for counter in self.counters() {
            let alone = elements::make("zonecount", "zonecount")?;
            for name in ["zones", "zones-file", "units", "anchor"] {
                alone.set_property_from_value(name, &counter.property_value(name));
            }
            if let Some(sentence) = elements::refusal(&alone, gst::State::Paused) {
                return Err(sentence);
            }
            let fraction = alone.property_value("units").serialize().is_ok_and(|units| units == "fraction");
            let units = if fraction { ZoneUnits::Fraction } else { ZoneUnits::Pixels };
            source.zones.iter().try_for_each(|zone| zone.check(units))?;
            source.ground.iter().try_for_each(|ground| ground.check(units))?;
        }
        Ok(())
    }

    /// The properties in which this description, which runs, differs from another one of the same elements; `None` where the
    /// elements differ.
    pub fn differences(&self, other: &Self) -> Option<Vec<Difference>> {
        let (own, others) = (elements::all(&self.bin), elements::all(&other.bin));
        if own.len() != others.len() {
            return None;
        }
        let mut differences = Vec::new();
        for (own, other) in own.into_iter().zip(others) {
            if own.factory() != other.factory() || own.name() != other.name() {
                return None;
            }
            let old = properties::all(&own);
            for ((pspec, old), (_, new)) in old.into_iter().zip(properties::all(&other)) {
                if old != new {
                    let while_playing = pspec.flags().contains(gst::PARAM_FLAG_MUTABLE_PLAYING);
                    let value = other.property_value(pspec.name());
                    let property = pspec.name().to_owned();
                    differences.push(Difference {
                        element: own.name().to_string(),
                        property,
                        value,
                        while_playing,
                    });
                }
            }
        }
        Some(differences)
    }

    /// The element of this name.
    pub fn element(&self, name: &str) -> Option<gst::Element> {
        elements::all(&self.bin).into_iter().find(|element| element.name() == name)
    }
}

/// A property that has another value in another description.
#[derive(Debug)]
pub struct Difference {
    /// The element's name.
    pub element: String,
    /// The property's.
    pub property: String,
    /// The other value.
    pub value: gst::glib::Value,
    /// Whether it may be set while frames flow.
    pub while_playing: bool,
}

/// Whether raw video can pass a pad of a bin, by the caps of the pad template of the element inside.
fn has_video(pad: &gst::Pad) -> bool {
    let target = pad.downcast_ref::<gst::GhostPad>().and_then(gst::GhostPad::target);
    let video = gst::Structure::new_empty("video/x-raw");
    let video =
        gst::Caps::builder_full().structure_with_features(video, gst::CapsFeatures::new_any()).build();
    target.as_ref().unwrap_or(pad).pad_template_caps().can_intersect(&video)
}

/// The elements of this name, or else of this factory.
fn found(bin: &gst::Bin, name: &str) -> Result<Vec<gst::Element>, String> {
    let all = elements::all(bin);
    let named: Vec<_> = all.iter().filter(|element| element.name() == name).cloned().collect();
    let found = if named.is_empty() { elements::of_factory(bin, name) } else { named };
    if !found.is_empty() {
        return Ok(found);
    }
    let names: Vec<String> = all.iter().map(|element| element.name().to_string()).collect();
    Err(match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("the pipeline has no element '{name}': '{near}' is probably meant"),
        None => format!("the pipeline has no element '{name}', it has {}", names.join(", ")),
    })
}

fn set_zones(bin: &gst::Bin, source: &SourceConfig) -> Result<(), (&'static str, String)> {
    let counters = elements::of_factory(bin, "zonecount");
    let has_none = |counter: &&gst::Element| {
        let is_empty = |name| counter.property::<Option<String>>(name).is_none_or(|text| text.is_empty());
        is_empty("zones") && is_empty("zones-file")
    };
    // They may be drawn on the page.
    counters.iter().filter(has_none).for_each(|counter| counter.set_property("zones", "none"));
    let keys = [
        ("zones-file", source.zones_file.is_some()),
        ("zones", !source.zones.is_empty()),
        ("ground", source.ground.is_some()),
        ("zone-units", source.zone_units.is_some()),
    ];
    let Some((key, _)) = keys.into_iter().find(|(_, is_set)| *is_set) else { return Ok(()) };
    if counters.is_empty() {
        return Err((
            key,
            format!("the line of pipeline '{}' has no zonecount for the zones", source.pipeline),
        ));
    }
    let zones = zones_text(&source.zones, source.ground.as_ref()).map_err(|sentence| (key, sentence))?;
    for counter in counters {
        let at = |sentence| (key, sentence);
        if let Some(file) = &source.zones_file {
            counter.set_property("zones", None::<String>);
            properties::set(&counter, "zones-file", &Scalar::Text(file.display().to_string())).map_err(at)?;
        } else if !zones.is_empty() {
            counter.set_property("zones-file", None::<String>);
            properties::set(&counter, "zones", &Scalar::Text(zones.clone())).map_err(at)?;
        }
        if let Some(units) = source.zone_units {
            properties::set(&counter, "units", &Scalar::Text(units.nick().into())).map_err(at)?;
        }
    }
    Ok(())
}

/// Gives a trtinfer the instance that it shares with the other streams of its pipeline, unless the description names one.
///
/// Elements of one instance must have most properties in common: where a source changes one of these, its value becomes a part
/// of the instance's name.
fn share(element: &gst::Element, spec: &StreamSpec) -> String {
    if let Some(instance) = element.property::<Option<String>>("instance") {
        return instance;
    }
    let name = element.name();
    let default = spec.defaults.properties(&name);
    let model = element.property::<Option<String>>("model").unwrap_or_default();
    let mut instance = format!("{}/{name}", spec.source.pipeline);
    if default.is_none_or(|default| default.get("model") != Some(&model)) {
        instance += &format!("@model={model}");
    } else if let Some(changed) = spec.models.get(name.as_str()).filter(|changed| changed.line == model) {
        element.set_property("model", &changed.now);
    }
    for (property, value) in properties::texts(element) {
        let of_instance = !NOT_OF_THE_INSTANCE.contains(&property.as_str());
        let same = default.is_some_and(|default| default.get(&property) == Some(&value));
        if of_instance && !same && default.is_some() {
            instance += &format!("@{property}={value}");
        }
    }
    element.set_property("instance", &instance);
    instance
}
