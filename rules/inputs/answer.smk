"""How models are asked, and the files of all models, methods and chat models."""

from factdrift.evaluation.questions.prompts import check_prompt
from factdrift.models.names import split_name

# Checked here: Snakemake drops the errors of input functions where outputs exist.
try:
    for name, prompt in config["answer"]["prompts"].items():
        check_prompt(name, prompt)
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

CHAT_PARAMS = {"benchmark": benchmark_name, "limit": benchmark_limit, "reads": benchmark_code}
"""Parameters of the jobs about what a chat model is asked."""


def named_questions(wildcards, input):
    """NAME=PATH of each of these tables."""
    return [f"{name}={path}" for name, path in zip(LM_EVAL_QUESTIONS, input.questions)]


def answer_states(name):
    """The states in which a model is asked TempRIPPLE's items, and questions with a date."""
    return [*UNEDITED, *(method for method in answer_methods() if method in PLAN.methods(name))]


def answer_files(form):
    """A file of each job that asks a model TempRIPPLE's items, that of the chat model first."""
    return read_of_chat("tempripple", form) + answered("tempripple", answer_states, form)


def answer_skipped():
    """[model, method, reason] of the methods that have no job, as JSON."""
    return json.dumps([each for each in PLAN.skipped if each.method in answer_methods()])


def measured_dates():
    """The table of the dates as of which models answer, if they are measured."""
    return [f"{STREAM}/cutoff.parquet"] if config["answer"]["model_cutoff"] == "measured" else []


def answer_cutoffs():
    """Model -> last day of its training data, as JSON."""
    if measured_dates():
        return "{}"
    bundled = {name: OLD for name in MODEL_NAMES if name in BUNDLED}
    given = {split_name(name)[0]: day for name, day in config["answer"]["model_cutoff"].items()}
    return json.dumps(bundled | given, sort_keys=True)
