"""scripts/run and scripts/demo: pipelines that are started and shown."""
