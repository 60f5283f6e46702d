"""Differences between two states: labels that flip, with causes, and systems that move."""
