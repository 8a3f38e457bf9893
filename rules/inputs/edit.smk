"""The edits, how they are probed, and the files of all models and methods."""

# No parameter of the jobs that edit, since those that have succeeded need not run again for it.
STRICT = "--strict" if config["strict"] else ""


def edit_limit():
    """How many edits are made at most: all (0), but of the bundled models' facts only some."""
    limit = config["edit"]["limit"]
    if limit == "auto":
        return 128 if set(edited_names()) & set(BUNDLED) else 0
    return limit


def kept_adapters():
    """The folder with the adapters of a job, if they are kept."""
    keep = config["edit"]["keep"] == "adapters"
    return {"adapters": directory("results/{pair}/edit/{edited}/{method}/{shard}.adapters")} if keep else {}


def of_models(file):
    """A file of each edited model."""
    return [f"results/{{pair}}/edit/{folder}/{file}" for folder in edited_models()]


def of_runs(form):
    """A file of each job of each method on each edited model."""
    count = config["edit"]["shards"]
    return [
        f"results/{{pair}}/edit/{folder}/{method}/{place}-of-{count}.{form}"
        for folder, (name, _) in edited_models().items()
        for method in PLAN.methods(name)
        if method != "none"
        for place in range(count)
    ]
