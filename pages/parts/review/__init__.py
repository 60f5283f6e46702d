"""Parts for reading a passage, for disagreements and for changes."""
