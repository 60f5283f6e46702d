"""Permissions for keys, endpoints and models, and their locations."""
