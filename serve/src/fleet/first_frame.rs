//! A source is tried before it becomes a stream.

use std::collections::BTreeMap;

use super::{Fleet, Refusal};
use crate::config::{Pipeline, Scalar, SourceConfig, Uri};
use crate::stream::{StreamSpec, first_frame};

/// The name of the stream and of its pipeline, which nothing else sees.
const NAME: &str = "test-picture";

impl Fleet {
    /// The first frame of a source, with what clients may set of it.
    ///
    /// # Errors
    /// A client may not set these keys, or the source gives no frame.
    pub fn first_frame(
        &self,
        uri: Uri,
        properties: BTreeMap<String, Scalar>,
    ) -> Result<gst::Sample, Refusal> {
        self.refuse_while_draining()?;
        let mut config = (*self.config()).clone();
        config.publish.clear();
        // Its keys are a client's: no source of the file may be taken for it.
        config.sources.clear();
        let pipeline = Pipeline { line: "identity".into(), ..Pipeline::default() };
        config.pipelines.insert(NAME.into(), pipeline);
        let source = SourceConfig {
            name: NAME.into(),
            pipeline: NAME.into(),
            uri,
            properties,
            ..SourceConfig::default()
        };
        source.check().map_err(|(_, sentence)| Refusal::Invalid(sentence))?;
        let spec = StreamSpec::new(&config, source, &BTreeMap::new());
        let spec = spec.map_err(|(_, sentence)| Refusal::Invalid(sentence))?;
        first_frame(&spec).map_err(Refusal::Conflict)
    }
}
