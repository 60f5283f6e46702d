"""The back end for local models, based on the transformers library."""
