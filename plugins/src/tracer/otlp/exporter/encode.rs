//! Spans as OTLP's messages: <https://opentelemetry.io/docs/specs/otlp/>, OTLP/HTTP with binary protobuf.

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as proto;
use prost::Message;

use super::super::span::{Span, Value};

/// The flag of W3C's trace context which says that the trace is recorded.
const SAMPLED: u32 = 1;

/// The name of the service for OpenTelemetry, if the variable does not name it.
const SERVICE: &str = "cudainfer";

fn attribute(key: &str, value: Value) -> KeyValue {
    let value = match value {
        Value::Text(text) => any_value::Value::StringValue(text),
        Value::Integer(number) => any_value::Value::IntValue(number),
        Value::Float(number) => any_value::Value::DoubleValue(number),
        Value::Flag(flag) => any_value::Value::BoolValue(flag),
    };
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn span(span: Span) -> proto::Span {
    let links = span.links.iter().map(|link| proto::span::Link {
        trace_id: link.trace.to_be_bytes().to_vec(),
        span_id: link.span.to_be_bytes().to_vec(),
        flags: SAMPLED,
        ..proto::span::Link::default()
    });
    proto::Span {
        trace_id: span.id.trace.to_be_bytes().to_vec(),
        span_id: span.id.span.to_be_bytes().to_vec(),
        parent_span_id: span.parent.map_or_else(Vec::new, |parent| parent.to_be_bytes().to_vec()),
        flags: SAMPLED,
        kind: proto::span::SpanKind::Internal.into(),
        start_time_unix_nano: span.began,
        end_time_unix_nano: span.ended,
        links: links.collect(),
        attributes: span.attributes.into_iter().map(|(key, value)| attribute(key, value)).collect(),
        name: span.name,
        ..proto::Span::default()
    }
}

/// A request with these spans.
pub(super) fn request(spans: Vec<Span>) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let service = std::env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let resource = Resource {
        attributes: vec![
            attribute("service.name", Value::Text(service.unwrap_or_else(|| SERVICE.to_owned()))),
            attribute("process.pid", Value::Integer(std::process::id().into())),
        ],
        ..Resource::default()
    };
    let scope = InstrumentationScope { name: SERVICE.to_owned(), version, ..InstrumentationScope::default() };
    let spans = proto::ScopeSpans {
        scope: Some(scope),
        spans: spans.into_iter().map(span).collect(),
        ..proto::ScopeSpans::default()
    };
    let all = proto::ResourceSpans {
        resource: Some(resource),
        scope_spans: vec![spans],
        ..proto::ResourceSpans::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![all] }.encode_to_vec()
}

/// How many spans the collector reports as refused, and why.
///
/// # Errors
/// The bytes are no answer to a request.
pub(super) fn refused(answer: &[u8]) -> Result<(u64, String), prost::DecodeError> {
    let partial = ExportTraceServiceResponse::decode(answer)?.partial_success.unwrap_or_default();
    Ok((u64::try_from(partial.rejected_spans).unwrap_or(0), partial.error_message))
}
