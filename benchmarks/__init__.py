"""Each number in README and docs comes from here: `python -m benchmarks` prints them all."""
