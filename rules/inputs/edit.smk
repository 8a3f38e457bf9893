"""The edits, how they are probed, and the files of all models and methods."""


def edit_limit():
    """How many edits are made at most: all (0), but of the bundled models' facts only some."""
    limit = config["edit"]["limit"]
    if limit == "auto":
        return 128 if set(edited_names()) & set(BUNDLED) else 0
    return limit


def kept_adapters():
    """The folder with the adapters of a job, if they are kept."""
    kept = config["edit"]["keep"] == "adapters"
    return directory("results/{pair}/edit/{edited}/{method}/{shard}.adapters") if kept else []


def ability_measured():
    """Whether anything is measured of edited models in general."""
    ability = config["edit"]["ability"]
    states = config["edit"]["regime"] != "independent" or ability["sample"]
    return bool(states and (ability["tokens"] or ability["tasks"]))


def ability_files():
    """The user's files with held-out text and tasks."""
    ability = config["edit"]["ability"]
    given = [ability["text"]] if isinstance(ability["text"], str) else ability["text"]
    texts = [] if given == ["auto"] or not ability["tokens"] else given
    for path in texts:
        if path in config["moments"]["corpus"]:
            raise WorkflowError(
                f"edit.ability.text: {path} is also in moments.corpus, and ROME and MEMIT keep their change small on "
                "that text; name another one"
            )
    return [*texts, *(task for task in ability["tasks"] if task.endswith(".yaml"))]


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
