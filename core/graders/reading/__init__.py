"""Graders that read: how a method asks a model, and how what the model wrote becomes a rating."""
