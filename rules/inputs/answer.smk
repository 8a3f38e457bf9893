"""How models are asked, and the files of all models, methods and chat models."""

import json

from factdrift.evaluation.answer_settings import METHODS as ANSWERED, check_methods, check_prompt, not_asked
from factdrift.models.names import BUNDLED, split_name

# Checked here: Snakemake drops the errors of input functions where outputs exist.
try:
    for name, prompt in config["answer"]["prompts"].items():
        check_prompt(name, prompt)
    if config["answer"]["methods"] != "configured":
        check_methods(config["answer"]["methods"])
except ValueError as error:
    raise WorkflowError(f"configuration: {error}") from None

if not config["models"] and not config["answer"]["chat"]:
    raise WorkflowError(
        "configuration: models: []: there is no model; name one, or ask a chat model: answer: {chat: true}"
    )

LM_EVAL_QUESTIONS = {
    "tempripple": f"{PAIR}/tempripple/tr_items.parquet",
    "asof": f"{STREAM}/asof.parquet",
}
"""Tables of questions with options that become tasks of lm-evaluation-harness, by the name of the tasks."""


def answer_methods():
    """The methods whose edits are in the place of the context."""
    chosen = config["answer"]["methods"]
    if chosen == "configured":
        return [method for method in config["methods"] if method in ANSWERED]
    return chosen


def answer_files(form):
    """A file of each job that asks a model: unedited, and edited by each method; and of the chat model."""
    chat = [f"results/{{pair}}/answer/chat/predictions.{form}"] if config["answer"]["chat"] else []
    return chat + [
        f"results/{{pair}}/answer/{folder}/{job}.{form}"
        for folder, (name, _) in edited_models().items()
        for job in ("unedited", *(each for each in answer_methods() if each in PLAN.methods(name)))
    ]


def answer_skipped():
    """[model, method, reason] of the methods that have no job, as JSON."""
    found = [each for each in PLAN.skipped if each.method in answer_methods()]
    if config["answer"]["methods"] == "configured":
        found += [each for name in edited_names() for each in not_asked(name, PLAN.names())]
    return json.dumps(found)


def answer_cutoffs():
    """Model -> last day of its training data, as JSON."""
    bundled = {name: OLD for name in edited_names() if name in BUNDLED}
    given = {split_name(name)[0]: day for name, day in config["answer"]["model_cutoff"].items()}
    return json.dumps(bundled | given, sort_keys=True)
