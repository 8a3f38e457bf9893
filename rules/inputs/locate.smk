"""The locators, the sentences that they are run on, and the files of all models and locators."""

import json
from functools import partial

from factdrift.evaluation.blocks import hyper_at
from factdrift.evaluation.locators.plan import Plan as LocatePlan
from factdrift.evaluation.methods.plan import needs
from factdrift.models.sizes import read_sizes

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
    return expand("results/{{pair}}/locate/{edited}/{locator}/" + file, **folders, **wildcards)


def shards_of(part):
    """The shards of the jobs of `locate` or of `edit`."""
    count = config[part]["shards"]
    return [f"{place}-of-{count}" for place in range(count)]


def layer_needs(wildcards):
    """Field -> file or folder of what a method needs at any block besides the model."""
    folder = f"results/{wildcards.pair}/edit/{wildcards.edited}"
    name, revision = edited_models()[wildcards.edited]
    sizes = partial(read_sizes, name, revision)
    needed = needs(hyper_at(wildcards.method, name, config.get(wildcards.method, {}), 0, sizes))
    own = {"moments": f"results/{wildcards.pair}/locate/{wildcards.edited}/moments"}
    return {field: own.get(field, f"{folder}/{file}") for field, file in needed.items()}
