"""Everything of the workbench that is not a screen: files, project, grades, labels, leaderboards."""

__version__ = "0.2.0"
