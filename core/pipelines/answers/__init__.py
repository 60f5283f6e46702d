"""Answers that models generate from retrieved passages: generated, checked, and studied if two measures disagree."""
