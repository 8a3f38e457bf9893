import torch

from factdrift.evaluation.methods.interface import Edited
from factdrift.models.moments import write_tensors


def edit(loaded, edits, hyper, artefacts):
    return Edited(contexts=[f"{artefacts.editor} facts. "] * len(edits))


def train(loaded, split, hyper, output, seed):
    facts = torch.tensor([len(split.train)])
    write_tensors(output, {"facts": facts}, {"model": loaded.digest})


def read(tensors, about, loaded):
    return int(tensors["facts"])


def size(loaded, hyper):
    return 8
