"""Parts of Home: a picture of the project's state, doors to its tasks, the tour of the demo,
imports.
"""
