"""Models of other libraries, and what these libraries themselves find with them. Run in a Python that has them, by
`scripts/evaluate zoo`:

    python tools zoo.cases --keep|--anew OUT FRAMES.npy [CASE...]

Each case leaves a folder OUT/CASE with the model as the library exports it, the frames as raw RGB and case.json."""
