"""The back end for models on this computer, by the transformers library."""
