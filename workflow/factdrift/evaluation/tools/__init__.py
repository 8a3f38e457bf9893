"""What people run by hand: one edit, a search for hyper-parameters, checkpoints of others, exports."""
