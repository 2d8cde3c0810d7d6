"""cudainfer-batch under a real scheduler, or what stands for one. Started by tools/try-cluster and tools/try-indexed-job."""
