"""Prompts as data: the built-in YAML files, and reading and filling of prompts."""
