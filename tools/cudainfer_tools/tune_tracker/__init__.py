"""Finds a tracker's parameters for a labelled clip. Started by scripts/autotune tracker."""

# Builds the program that runs our tracker with many settings.
EXAMPLE = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "cudainfer-kernels", "--example", "mot"]
