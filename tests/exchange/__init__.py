"""Import and export of project data."""
