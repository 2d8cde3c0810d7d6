"""The unit tests of cudainfer_tools, of python/ and of what scripts/release packs."""
