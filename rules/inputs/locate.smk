"""The locators, the sentences that they are run on, and the files of all models and locators."""

import json

from factdrift.evaluation.locators.plan import Plan as LocatePlan

# Every locator and hyper-parameter is checked here: Snakemake drops the errors of input functions where outputs exist.
try:
    LOCATE_PLAN = LocatePlan(config)
except InputError as error:
    raise WorkflowError(str(error)) from None


def locate_limit(key):
    """How many examples or edits at most: all (0), but with a bundled model only some."""
    limit = config["locate"][key]
    if limit == "auto":
        return {"limit": BUNDLED_EXAMPLES, "edits": 32}[key] if set(edited_names()) & set(BUNDLED) else 0
    return limit


def locator(wildcards):
    """The locator of a job."""
    return LOCATE_PLAN.run[wildcards.locator]


def locator_weights(wildcards):
    """A parameter that changes with the files of a user's model, and with the code of a built-in locator."""
    return "".join([edited_weights(wildcards), *map(of_module, locator(wildcards).modules())])


def located(file, **wildcards):
    """A file in the folder of each locator and model; `wildcards` of the file's name have several values."""
    folders = {"edited": edited_models(), "locator": LOCATE_PLAN.run}
    return expand(f"results/{{{{pair}}}}/locate/{{edited}}/{{locator}}/{file}", **folders, **wildcards)


def locate_shards():
    """The shards of a locator's jobs, as file names have them."""
    count = config["locate"]["shards"]
    return [f"{place}-of-{count}" for place in range(count)]


def layer_answers():
    """The answers to `blocks` of each method on each model, and to `updates` of the unedited models."""
    unedited_, edited = scored("updates", unedited), scored(
        "blocks", lambda name: config["locate"]["edit_methods"]
    )
    return {field: unedited_[field] + edited[field] for field in edited}
