"""The tiny models that the tests run."""
