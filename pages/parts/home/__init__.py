"""Parts of Home: the state of a project as a picture, the doors to its work, the tour of the demo, imports."""
