"""cudainfer-batch under a real scheduler. Started by tools/try-cluster."""
