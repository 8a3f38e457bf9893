"""Models, methods and what a method needs before its first edit."""

from functools import partial

from factdrift.core.paths import METHODS
from factdrift.core.fingerprint import of_module
from factdrift.evaluation.methods.hyperparameters import Plan, hyper_at, needs
from factdrift.evaluation.methods.record import record_of, trained_editors
from factdrift.models.names import models_by_folder, read_sizes

# Every hyper-parameter is checked here: Snakemake drops the errors of input functions where outputs exist.
try:
    # Folder -> name and revision of each model that is edited. Refused before any of them is looked for.
    MODELS = models_by_folder(config["models"])
    MODEL_NAMES = [name for name, _ in MODELS.values()]
    PLAN = Plan(config)
except InputError as error:
    raise WorkflowError(str(error)) from None

SKIPPED = json.dumps(PLAN.skipped)
"""[model, method, reason] of the methods that have no job, as JSON."""


def some_models(wildcards):
    """No file; raises WorkflowError where a table of models would have none."""
    if not config["models"]:
        raise WorkflowError("configuration: models: []: a chat model is asked without edits; name a model")
    return []


def edited_model(wildcards):
    """The files of a model, where they are not fetched from a hub: a bundled one's folder, or the user's."""
    name, _ = MODELS[wildcards.edited]
    if name in BUNDLED:
        return f"results/models/{name}"
    return [str(path) for path in model_files(name)]


def method_code(wildcards):
    """A fingerprint of the code of one of factdrift's methods."""
    return "".join(map(of_module, record_of(wildcards.method).modules()))


def bundled_folders():
    """The folders of the bundled models among those that are edited."""
    return [f"results/models/{name}" for name in MODEL_NAMES if name in BUNDLED]


MODEL_PARAMS = {
    "model": lambda wildcards: MODELS[wildcards.edited][0],
    "revision": lambda wildcards: MODELS[wildcards.edited][1],
}
"""Parameters of the jobs that run a model."""


def limit_of(value, of_bundled):
    """A limit that the configuration sets; `auto` is `of_bundled` where a bundled model is run, else all (0)."""
    if value == "auto":
        return of_bundled if bundled_folders() else 0
    return value


def edit_source():
    """The dataset whose updates are edits: the user's own, or that of the pair which holds the scenarios."""
    own = config["edit"]["dataset"]
    only = config["edit"]["scenarios"] == ["replacement"]
    return own or f"results/{{pair}}/{'wfd_repl' if only else 'wikifactdiff'}.parquet"


def edit_entities(wildcards):
    """The items of both dumps, whose aliases are accepted in writing; none beside a dataset of the user's own."""
    if config["edit"]["dataset"]:
        return []
    return [path for which in ("old", "new") for path in side_buckets("entities", which)(wildcards)]


def recall_answers():
    """What the first model writes after the update clozes, where edits are chosen by it (`edit.known`)."""
    if not config["edit"]["known"]:
        return []
    if not MODELS:
        raise WorkflowError(
            "configuration: edit.known: edits are chosen by what a model knows; name one (models)"
        )
    return [f"results/{{pair}}/evaluation/{next(iter(MODELS))}/recall/none/0-of-1.answers.parquet"]


def gpus():
    """The GPUs that a job takes of `--resources gpu=N`."""
    return 0 if config["edit"]["device"] == "cpu" else config["edit"]["gpus"]


def of_a_model():
    """The resources of a job that runs a model."""
    return {**growing(config["edit"]["mem_mb"], config["edit"]["runtime"]), "gpu": gpus()}


def method_values(method=None):
    """The user's own hyper-parameters of a method, or of that in the wildcards, as JSON."""
    return lambda wildcards: json.dumps(config.get(method or wildcards.method, {}), sort_keys=True)


def method_needs(wildcards):
    """Field -> file or folder of what a method needs besides the model.

    At every block of a model it takes the second moments of all. In a stream only a trained editor depends on the
    edits, whose subjects it must not see; other files are those of the pair.
    """
    if not is_unedited(wildcards.method) and not by_interval(wildcards):
        check_regime(config["edit"]["regime"])
    in_pair = "pair" in wildcards.keys()
    root = f"results/{wildcards.pair}" if in_pair else PAIR
    name, revision = MODELS[wildcards.edited]
    folders = {}
    if wildcards.benchmark == "blocks":
        values = config.get(wildcards.method, {})
        files = needs(hyper_at(wildcards.method, name, values, 0, partial(read_sizes, name, revision)))
        folders["moments"] = f"{root}/locate"
    else:
        files = PLAN.needs(wildcards.method, name)
    if not in_pair and wildcards.method not in config["edit"]["checkpoints"]:
        folders["editor"] = f"{STREAM}/edit"
    return {
        field: f"{folders.get(field, f'{root}/edit')}/{wildcards.edited}/{file}"
        for field, file in files.items()
    }


def editor_sources(wildcards):
    """Field -> file: the published checkpoint of a method's editor, or the facts on which it is trained."""
    if checkpoint := config["edit"]["checkpoints"].get(wildcards.method):
        return {"checkpoint": checkpoint}
    in_pair = "pair" in wildcards.keys()
    pair = wildcards.pair if in_pair else f"{OLD}_{NEW}"
    return {
        "dataset": edit_source().format(pair=pair),
        "templates": f"results/{pair}/templates.parquet",
        "edits": f"results/{pair}/edit/edits.parquet" if in_pair else f"{STREAM}/edit/edits.parquet",
    }


def moments_corpus(wildcards):
    """Field of the command that counts second moments -> the texts of a model over which they are counted."""
    corpus = config["moments"]["corpus"]
    if corpus == "auto":
        corpus = ["facts"] if MODELS[wildcards.edited][0] in BUNDLED else ["sampled"]
    if corpus == ["facts"]:
        return {"facts": f"results/{wildcards.pair}/models/sentences.parquet"}
    return {"sampled": True} if corpus == ["sampled"] else {"texts": corpus}
