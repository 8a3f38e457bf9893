import torch


def warm(loaded, sentences, targets, context):
    return torch.ones(len(sentences), loaded.spec.layers)
