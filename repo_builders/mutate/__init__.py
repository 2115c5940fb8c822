"""Semantic mutations of scientific code: where a plausible mistake could stand, as exact edits."""

from scienceide.repo_builders.mutate.find import Candidate, candidates, language_of

__all__ = ["Candidate", "candidates", "language_of"]
