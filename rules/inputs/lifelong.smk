"""The files of all models and methods on a stream, and what a method needs."""

STREAM_EDIT = f"{STREAM}/edit"


def stream_ability_file():
    """What is measured of a model in general, as an input of the jobs that edit it; nothing if it is not."""
    ability = config["edit"]["ability"]
    measured = ability["tokens"] or ability["tasks"]
    return {"ability": f"{STREAM_EDIT}/{{edited}}/ability.json"} if measured else {}


def stream_needs(wildcards):
    """Option -> file or folder of what a method needs besides the model.

    Only MEND's editor depends on the edits, whose subjects it must not see; other files are those of the pair.
    """
    name, _ = edited_models()[wildcards.edited]
    found = {}
    for option, file in PLAN.needs(wildcards.method, name).items():
        own = option == "mend" and not config["edit"]["mend_checkpoint"]
        folder = STREAM_EDIT if own else f"{PAIR}/edit"
        found[f"--{option}"] = f"{folder}/{wildcards.edited}/{file}"
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
