//! The models, loaded once and kept from the first video to the last.

use cudainfer_launch::elements;
use cudainfer_launch::error::{is_gpu_fault, text};
use gst::prelude::*;

use crate::exit::Exit;
use crate::pipeline::{Built, DECODERS};

/// Elements that have loaded their models, in the instances that the videos' pipelines share. Dropping this releases them.
#[derive(Debug)]
pub struct Loaded {
    built: Built,
}

impl Loaded {
    /// Checks the elements' properties, and loads the models.
    ///
    /// # Errors
    /// How the program must end, and a sentence.
    pub fn new(built: Built) -> Result<Self, (Exit, String)> {
        let loaded = Self { built };
        for element in loaded.built.own() {
            let model = elements::is(&element, "trtinfer");
            let refused = if model {
                refused_to_load(&element)
            } else {
                elements::refusal(&element, gst::State::Ready)
            };
            if let Some(sentence) = refused {
                // Where one GPU does not work, another may.
                let gpu = is_gpu_fault(&sentence) || sentence.contains("CUDA_ERROR_");
                return Err((if gpu { Exit::GpuFault } else { Exit::Configuration }, sentence));
            }
        }
        Ok(loaded)
    }

    /// Whether the pipeline finds out itself what a file holds, and so needs to know its type.
    pub fn finds_types(&self) -> bool {
        let finds = |element: &gst::Element| {
            DECODERS.iter().chain(&["parsebin", "typefind"]).any(|name| elements::is(element, name))
        };
        elements::all(self.built.pipeline.upcast_ref()).iter().any(finds)
    }

    /// What runs the models, and how, for the log.
    pub fn providers(&self) -> Vec<String> {
        let networks = self.built.own().into_iter().filter(|element| elements::is(element, "trtinfer"));
        networks
            .map(|network| {
                let provider = network.property_value("active-provider").serialize().unwrap_or_default();
                let model = network.property::<Option<String>>("model").unwrap_or_default();
                format!("{model}: {provider}, batches of {}", network.property::<u32>("batch-size"))
            })
            .collect()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        for element in self.built.own() {
            let _ = element.set_state(gst::State::Null);
        }
    }
}

/// Takes a trtinfer to READY, where it stays. The error if it does not go there.
fn refused_to_load(element: &gst::Element) -> Option<String> {
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let refused = element.set_state(gst::State::Ready).is_err();
    let message = bus.pop_filtered(&[gst::MessageType::Error]);
    let sentence = message.as_ref().and_then(|message| match message.view() {
        gst::MessageView::Error(error) => Some(text(error)),
        _ => None,
    });
    bus.set_flushing(true);
    refused.then(|| sentence.unwrap_or_else(|| format!("{} does not start", element.name())))
}
