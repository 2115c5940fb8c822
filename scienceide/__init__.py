"""ScienceIDE."""
