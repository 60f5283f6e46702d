"""Graders that read: methods that ask a model, and the parsing of its replies into ratings."""
