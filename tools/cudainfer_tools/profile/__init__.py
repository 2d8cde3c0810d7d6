"""scripts/profile: what bounds a pipeline, from the tracer's files.

`launch` runs a pipeline under the tracer, `trace` reads what it wrote, `measures` makes figures of that, `bound` says what
bounds the pipeline, `plots` and `page` draw report.html, and `compare` sets two profiles side by side.
"""
