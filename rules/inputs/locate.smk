"""The locators, the sentences that they are run on, and the files of all models and locators."""

import json

from factdrift.evaluation.locators.plan import Plan as LocatePlan, function_of

# Every locator and hyper-parameter is checked here: Snakemake drops the errors of input functions where outputs exist.
try:
    LOCATE_PLAN = LocatePlan(config)
except InputError as error:
    raise WorkflowError(str(error)) from None


def locators_run():
    """The locators that are run on models, as paths name them."""
    return [entry.name for entry in LOCATE_PLAN.run()]


def locate_limit(key):
    """How many examples or edits at most: all (0), but with a bundled model only some."""
    limit = config["locate"][key]
    if limit == "auto":
        return {"limit": BUNDLED_EXAMPLES, "edits": 32}[key] if set(edited_names()) & set(BUNDLED) else 0
    return limit


def locator_code(wildcards):
    """What a locator's job depends on besides the model: its file of hyper-parameters, or the user's code."""
    return [str(path) for path in LOCATE_PLAN.named(wildcards.locator).files()]


def locator_weights(wildcards):
    """A parameter that changes with the files of a user's model, and with the code of a built-in locator."""
    entry = LOCATE_PLAN.named(wildcards.locator)
    code = []
    if entry.kind == "built-in":
        code = [
            of_module(f"factdrift.evaluation.locators.methods.{function_of(entry.name).rpartition('.')[0]}")
        ]
    return "".join([edited_weights(wildcards), *code])


def locator_values(wildcards):
    """The user's own hyper-parameters of a locator, as JSON; those of ROME say which layer it edits."""
    values = LOCATE_PLAN.values(wildcards.locator)
    if wildcards.locator == "rome_layer" and "layer" in config["rome"]:
        values = {"layer": config["rome"]["layer"], **values}
    return json.dumps(values, sort_keys=True)


def of_locators(file):
    """A file of each locator on each model."""
    return [
        f"results/{{pair}}/locate/{folder}/{name}/{file}"
        for folder in edited_models()
        for name in locators_run()
    ]


def of_shards(form):
    """A file of each shard of one locator and model."""
    count = config["locate"]["shards"]
    return [
        f"results/{{pair}}/locate/{{edited}}/{{locator}}/klob.{place}-of-{count}.{form}"
        for place in range(count)
    ]


def layer_answers():
    """The answers to `blocks` of each method on each model, and to `updates` of the unedited models."""
    unedited_, edited = scored("updates", unedited), scored(
        "blocks", lambda name: config["locate"]["edit_methods"]
    )
    return {field: unedited_[field] + edited[field] for field in edited}


def of_edit_facts():
    """Each locator's scores of the edited facts, of each model."""
    count = config["locate"]["shards"]
    return [
        f"results/{{pair}}/locate/{folder}/{name}/edits.{place}-of-{count}.{form}"
        for folder in edited_models()
        for name in locators_run()
        for form in ("parquet", "json")
        for place in range(count)
    ]
