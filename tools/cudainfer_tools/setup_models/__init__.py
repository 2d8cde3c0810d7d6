"""The models and videos that the packaged pipelines take if no others are named."""
