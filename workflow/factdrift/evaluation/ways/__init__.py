"""How a model is asked: for likelihoods, for a letter, in writing."""
