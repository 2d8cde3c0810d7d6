"""scripts/gallery: the names and embeddings by which the element identify recognises objects."""
