"""scripts/evaluate zoo: models of other libraries, read by ours, and what both find. `cases` runs in a Python that has the libraries."""
