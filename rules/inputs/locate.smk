"""The locators, the sentences that they are run on, and the files of all models and locators."""

from factdrift.evaluation.locators.plan import Plan as LocatePlan

# Every locator and hyper-parameter is checked here: Snakemake drops the errors of input functions where outputs exist.
try:
    LOCATE_PLAN = LocatePlan(config)
except InputError as error:
    raise WorkflowError(str(error)) from None


def some_locators(wildcards):
    """No file, as `some_models`; raises WorkflowError also where no locator is run, so that no block has a score."""
    if not LOCATE_PLAN.run:
        raise WorkflowError(
            "configuration: locators: folders of scores are not compared with edits; name a locator that is run"
        )
    return some_models(wildcards)


def locator(wildcards):
    """The locator of a job."""
    return LOCATE_PLAN.run[wildcards.locator]


def locator_code(wildcards):
    """A fingerprint of the code of a built-in locator."""
    return "".join(map(of_module, locator(wildcards).modules()))


def located(file, **wildcards):
    """A file in the folder of each locator and model; `wildcards` of the file's name have several values."""
    folders = {"edited": MODELS, "locator": LOCATE_PLAN.run}
    return expand(f"results/{{{{pair}}}}/locate/{{edited}}/{{locator}}/{file}", **folders, **wildcards)


def layer_answers():
    """The answers to `blocks` of each method on each model, and to `updates` of the unedited models."""
    edited = scored("blocks", lambda name: config["locate"]["edit_methods"])
    return {field: files + edited[field] for field, files in scored("updates", unedited).items()}
