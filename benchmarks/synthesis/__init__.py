"""Two dumps of any size whose changes between their dates are known exactly; see benchmarks/synthesize.py."""
