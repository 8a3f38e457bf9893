"""The files of all models and methods on a stream, and what a method needs."""

STREAM_EDIT = f"{STREAM}/edit"


def stream_ability_measured():
    """Whether anything is measured of models that have a stream's edits, in general."""
    ability = config["edit"]["ability"]
    return bool(ability["tokens"] or ability["tasks"])


def stream_needs(wildcards):
    """Field -> file or folder of what a method needs besides the model.

    Only MEND's editor depends on the edits, whose subjects it must not see; other files are those of the pair.
    """
    name, _ = edited_models()[wildcards.edited]
    found = {}
    for field, file in PLAN.needs(wildcards.method, name).items():
        own = field == "mend" and not config["edit"]["mend_checkpoint"]
        folder = STREAM_EDIT if own else f"{PAIR}/edit"
        found[field] = f"{folder}/{wildcards.edited}/{file}"
    return found


def of_stream_models(file):
    """A file of each edited model."""
    return [f"{STREAM_EDIT}/{folder}/{file}" for folder in edited_models()]


def of_stream_runs(form):
    """A file of each method on each edited model."""
    return [
        f"{STREAM_EDIT}/{folder}/{method}.{form}"
        for folder, (name, _) in edited_models().items()
        for method in PLAN.methods(name)
        if method != "none"
    ]
