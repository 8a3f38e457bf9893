"""Mean and standard deviation of vectors that come in batches. Imports torch."""

import torch
from torch import Tensor, nn

EPSILON = 1e-7
"""Added to standard deviations."""


class Statistics(nn.Module):
    """Mean and standard deviation of each component over all tokens seen."""

    count: Tensor
    mean: Tensor
    squares: Tensor

    def __init__(self, width: int, epsilon: float = EPSILON, released: bool = False):
        """`released`: as in UltraEdit's code, a batch counts n times its unbiased variance, of n tokens."""
        super().__init__()
        self.epsilon, self.released = epsilon, released
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("squares", torch.zeros(width))
        """The sum of squared distances from the mean."""

    @torch.no_grad()
    def see(self, values: Tensor) -> None:
        """Adds `values` [tokens, width]; batches can be cut in any way (Chan et al., 1979)."""
        count = len(values)
        if not count:
            return
        mean = values.mean(0)
        share = count / (self.count + count).to(values.dtype)
        apart = mean - self.mean
        own = ((values - mean) ** 2).sum(0)
        if self.released:
            own = own * count / (count - 1) if count > 1 else own * torch.nan
        self.squares += own + apart**2 * (self.count * share)
        self.mean += apart * share
        self.count += count

    def forward(self, values: Tensor) -> Tensor:
        """A single token becomes 0, since it is the mean."""
        spread = (self.squares / (self.count - 1).clamp(min=1)).sqrt()
        return (values - self.mean) / (spread + self.epsilon)
