"""What every room may use: errors that name their culprit, paths, progress, quantities."""
