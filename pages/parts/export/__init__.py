"""Parts of Export: publications, and every other file of the project."""
