//! The element identify: whom it recognises, what it shares and collects, and how galleries change while frames flow.

mod collecting;
mod pictures;
mod recognising;
mod sharing;

use std::collections::BTreeMap;
use std::path::Path;

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, filled, push, until};
use gst::prelude::*;
use gstcudainfer::meta::object::{
    DetectionParam, EmbeddingParam, IdentityParam, Object, TrackingParam, objects,
};
use gstcudainfer::model::Array;

pub const FRAMES: &str = "video/x-raw,format=RGB,width=64,height=64,framerate=10/1";

/// A unit vector in the plane, at this angle in degrees.
pub fn at(degrees: f64) -> Vec<f32> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    vec![cos as f32, sin as f32]
}

/// A face with this embedding, if it has one, and this identity, if it is tracked.
pub fn face(id: i32, track: Option<u64>, embedding: Option<&[f32]>) -> Object {
    let rect = Rect { x: 5.0, y: 30.0, w: 10.0, h: 20.0 };
    let tracking =
        track.map(|id| TrackingParam { id, state: "tracked".into(), rect, ..TrackingParam::default() });
    Object {
        id,
        label: "face".into(),
        detection: Some(DetectionParam { rect, confidence: 0.9, label_id: 0 }),
        tracking,
        embeddings: embedding
            .into_iter()
            .map(|values| EmbeddingParam::new("faces", "vector", true, values))
            .collect(),
        ..Object::default()
    }
}

/// A tracked face whose embedding is at this angle in degrees.
pub fn seen(track: u64, degrees: f64) -> Object {
    face(i32::try_from(track).unwrap(), Some(track), Some(&at(degrees)))
}

/// Writes a gallery of names with embeddings at these angles in degrees.
pub fn write(path: &Path, model: &str, names: &[(&str, &[f64])]) {
    let of = |(name, all): &(&str, &[f64])| {
        let values: Vec<f32> = all.iter().flat_map(|degrees| at(*degrees)).collect();
        ((*name).to_owned(), Array::of_floats(vec![all.len(), 2], &values))
    };
    let mut arrays: Vec<_> = names.iter().map(of).collect();
    arrays.push(("__model__".into(), Array::of_text(model)));
    let named = arrays.iter().map(|(name, array)| (name.as_str(), array));
    std::fs::write(path, Array::archive(named).unwrap()).unwrap();
}

/// A pipeline that frames with objects are put into, one after the other.
pub struct Scene {
    pub pipeline: TestPipeline,
    seen: std::sync::Arc<std::sync::Mutex<Vec<gst::Buffer>>>,
    frames: u64,
}

impl Scene {
    /// With these properties of identify, and these elements after it.
    pub fn new(properties: &str, after: &str) -> Self {
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps=\"{FRAMES}\" ! identify name=who {properties} {after} \
             ! fakesink name=out async=false sync=false"
        ));
        let seen = pipeline.collect("out");
        pipeline.play();
        Self { pipeline, seen, frames: 0 }
    }

    /// Puts a frame with these objects in, without waiting for it.
    pub fn put(&mut self, objects: &[Object]) {
        let mut buffer = filled(64 * 64 * 3, 0, 10 * self.frames);
        for object in objects {
            object.put(buffer.get_mut().unwrap(), &Rect::default());
        }
        push(&self.pipeline.element("in"), buffer);
        self.frames += 1;
    }

    /// Puts a frame in, and returns whom its objects were recognised as, by their ids.
    pub fn see(&mut self, objects: &[Object]) -> BTreeMap<i32, IdentityParam> {
        self.put(objects);
        let frames = usize::try_from(self.frames).unwrap();
        until("the frame", || self.seen.lock().unwrap().len() == frames);
        identities(self.seen.lock().unwrap().last().unwrap())
    }

    /// The name of the only object.
    pub fn name(&mut self, object: Object) -> Option<String> {
        self.see(&[object]).into_values().next().map(|identity| identity.name)
    }

    pub fn end(self) -> cudainfer_tests::Report {
        end(&self.pipeline.element("in"));
        let report = self.pipeline.wait();
        self.pipeline.stop();
        report
    }

    pub fn stat(&self, name: &str) -> u64 {
        self.pipeline.element("who").property::<gst::Structure>("stats").get(name).unwrap()
    }

    /// The warnings so far.
    pub fn warnings(&self) -> Vec<String> {
        let bus = self.pipeline.bus().unwrap();
        let mut warnings = Vec::new();
        while let Some(message) = bus.pop_filtered(&[gst::MessageType::Warning]) {
            if let gst::MessageView::Warning(warning) = message.view() {
                warnings.push(warning.error().to_string());
            }
        }
        warnings
    }
}

/// Whom a frame's objects were recognised as.
pub fn identities(buffer: &gst::BufferRef) -> BTreeMap<i32, IdentityParam> {
    objects(buffer).into_iter().filter_map(|object| Some((object.id, object.identity?))).collect()
}
