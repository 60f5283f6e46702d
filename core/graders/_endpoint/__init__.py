"""The back end for any OpenAI-compatible endpoint."""
