"""Parts for what people look at: one passage, disagreements, changes."""
