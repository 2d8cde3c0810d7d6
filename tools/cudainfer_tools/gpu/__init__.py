"""What needs a GPU: its programs, its tests (scripts/test --gpu), and the videos that a GPU decodes."""
