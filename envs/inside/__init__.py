"""Programs of ours that run inside sandboxes; they use the standard library alone."""
