"""RSim and RSD, the measures of a locating method on KLoB (Ju et al. 2023, section 3)."""
