"""Models: conversion to ONNX, scripts/inspect, scripts/prebuild, scripts/quantize and scripts/autotune."""
