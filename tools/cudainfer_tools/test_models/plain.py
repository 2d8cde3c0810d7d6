"""Models that hand on their input: images as tensors, and several inputs and outputs."""

from __future__ import annotations

from onnx import TensorProto

from cudainfer_tools.test_models.graph import F16, F32, I8, I64, U8, Dims, Graph


def identities() -> None:
    """Models whose output `copy` is their input."""
    cases: list[tuple[str, int, Dims, str]] = [
        ("identity-f32-nchw", F32, [1, 3, 16, 24], ""),
        ("identity-f16-nchw", F16, [1, 3, 16, 24], ""),
        ("identity-f32-nhwc", F32, [1, 16, 24, 3], ""),
        ("identity-u8-nhwc", U8, [1, 16, 24, 3], ""),
        ("identity-i8", I8, [1, 3, 16, 24], "[input]\nscale = 1.0\nquant-scale = 2.0\nzero-point = -100\n"),
        ("identity-gray", F32, [1, 1, 16, 24], ""),
        ("identity-unbatched", F32, [3, 16, 24], ""),
        ("identity-unbatched-nhwc", U8, ["height", "width", 3], "[input]\nwidth = 24\nheight = 16\n"),
        ("identity-1x1", F32, [1, 3, 1, 1], ""),
        ("identity-dynamic", F32, [1, 3, "height", "width"], ""),
        (
            "identity-stretch-bgr",
            F32,
            [1, 3, 16, 24],
            '[input]\nchannels = "bgr"\nscale = 1.0\nmean = [10.0, 20.0, 30.0]\nstd = [2.0, 4.0, 8.0]\nresize = "stretch"\n',
        ),
        # What trtinfer cannot feed.
        ("rank5", F32, [1, 1, 3, 16, 24], ""),
        ("channels5", F32, [1, 5, 16, 24], ""),
        ("double", TensorProto.DOUBLE, [1, 3, 16, 24], ""),
        # Larger than any picture in caps.
        ("enormous", F32, [1, 3, 100_000, 100_000], ""),
        ("endless", F32, [1, 3, 16, 3_000_000_000], ""),
    ]
    for name, kind, dims, sidecar in cases:
        graph = Graph(kind, dims)
        graph.node("Identity", ["images"], "copy")
        graph.output("copy", kind, dims)
        graph.save(name, sidecar)


def several() -> None:
    """Models with several inputs and outputs."""
    for name, sidecar in [
        ("two-inputs", '[constants]\nsize = "frame-height-width"\n'),
        ("two-inputs-short", "[constants]\nsize = [1, 2, 3]\n"),
        ("two-inputs-bare", ""),
    ]:
        graph = Graph(F32, [1, 3, 16, 24])
        graph.input("size", I64, [1, 2])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        graph.output("mean", F32, [1, 3])
        graph.node("Identity", ["size"], "size_again")
        graph.output("size_again", I64, [1, 2])
        graph.node("Cast", ["images"], "half", to=F16)
        graph.output("half", F16, [1, 3, 16, 24])
        graph.save(name, sidecar)
    graph = Graph(F32, [1, 3, 16, 24])
    graph.input("more", F32, [1, 3, 16, 24])
    graph.node("Add", ["images", "more"], "sum")
    graph.output("sum", F32, [1, 3, 16, 24])
    graph.save("two-images")
    # The only output is of a type that no element downstream could read.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Cast", ["images"], "texts", to=TensorProto.STRING)
    graph.output("texts", TensorProto.STRING, [1, 3, 16, 24])
    graph.save("text-output")
