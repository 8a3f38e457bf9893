from factdrift.evaluation.methods.interface import Edited


def mine(loaded, edits, hyper, artefacts):
    return Edited(contexts=["True: "] * len(edits))
