"""Prompts as data: the YAML files of the built-in ones, and how a prompt is read and filled in."""
