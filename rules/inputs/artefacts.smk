"""Models, methods and what a method needs before its first edit."""

import json
from functools import partial

from factdrift.core.paths import METHODS
from factdrift.core.fingerprint import of_module
from factdrift.evaluation.methods.hyperparameters import hyper_at
from factdrift.evaluation.methods.plan import Plan, needs
from factdrift.evaluation.methods.record import record_of
from factdrift.models.sizes import read_sizes
from factdrift.models.names import BUNDLED, model_files, models_by_folder, weights_stamp

# Every hyper-parameter is checked here: Snakemake drops the errors of input functions where outputs exist.
try:
    MODELS = models_by_folder(config["models"])  # refused before any of them is looked for
    PLAN = Plan(config)
except InputError as error:
    raise WorkflowError(str(error)) from None


def edited_models():
    """Folder -> name and revision of each model that is edited, in the order of the configuration."""
    return MODELS


def some_models(wildcards):
    """No file; raises WorkflowError where a table of models would have none."""
    if not config["models"]:
        raise WorkflowError("configuration: models: []: a chat model is asked without edits; name a model")
    return []


def edited_names():
    """The models as their rows name them."""
    return [name for name, _ in edited_models().values()]


def edited_model(wildcards):
    """The files of a model, where they are not fetched from a hub: a bundled one's folder, or the user's."""
    name, _ = edited_models()[wildcards.edited]
    if name in BUNDLED:
        return f"results/models/{name}"
    return [str(path) for path in model_files(name)]


def edited_weights(wildcards):
    """A parameter that changes with the files of a user's model, also when older ones take their place.

    The models that a method loads besides count, too, and the code of one of factdrift's methods.
    """
    name, _ = edited_models()[wildcards.edited]
    method = wildcards.get("method")
    models = (name, *(PLAN.loads(method) if method else []))
    stamps = [weights_stamp(model) for model in models if model not in BUNDLED]
    return "".join([*stamps, *map(of_module, record_of(method).modules() if method else [])])


def bundled_folders():
    """The folders of the bundled models among those that are edited."""
    return [f"results/models/{name}" for name in edited_names() if name in BUNDLED]


MODEL_PARAMS = {
    "model": lambda wildcards: edited_models()[wildcards.edited][0],
    "revision": lambda wildcards: edited_models()[wildcards.edited][1],
    "weights": edited_weights,
}
"""Parameters of the jobs that run a model."""


def edit_source():
    """The dataset whose updates are edits: the user's own, or that of the pair which holds the scenarios."""
    own = config["edit"]["dataset"]
    only = config["edit"]["scenarios"] == ["replacement"]
    return own or f"results/{{pair}}/{'wfd_repl' if only else 'wikifactdiff'}.parquet"


def edit_entities(wildcards):
    """The items of both dumps, whose aliases are accepted in writing; none beside a dataset of the user's own."""
    if config["edit"]["dataset"]:
        return []
    return [path for which in ("old", "new") for path in entities(which)(wildcards)]


def gpus():
    """The GPUs that a job takes of `--resources gpu=N`."""
    return 0 if config["edit"]["device"] == "cpu" else config["edit"]["gpus"]


def of_a_model():
    """The resources of a job that runs a model."""
    return {**growing(config["edit"]["mem_mb"], config["edit"]["runtime"]), "gpu": gpus()}


def method_file(wildcards):
    """The hyper-parameters of a method, and its code if it is the user's own."""
    return PLAN.files(wildcards.method)


def method_given(wildcards):
    """A method as the user named it."""
    return PLAN.given(wildcards.method)


def method_values(method=None):
    """The user's own hyper-parameters of a method, or of that in the wildcards, as JSON."""
    return lambda wildcards: json.dumps(config.get(method or wildcards.method, {}), sort_keys=True)


def needed(wildcards, root, elsewhere=()):
    """Field -> file or folder of what a method needs besides the model; `elsewhere`: field -> another root."""
    name, _ = edited_models()[wildcards.edited]
    files = PLAN.needs(wildcards.method, name)
    own = dict(elsewhere)
    return {field: f"{own.get(field, root)}/edit/{wildcards.edited}/{file}" for field, file in files.items()}


def method_needs(wildcards):
    """The same of the pair; at every block of a model, the second moments of all."""
    root = f"results/{wildcards.pair}"
    if wildcards.benchmark != "blocks":
        return needed(wildcards, root)
    name, revision = edited_models()[wildcards.edited]
    values = config.get(wildcards.method, {})
    files = needs(hyper_at(wildcards.method, name, values, 0, partial(read_sizes, name, revision)))
    own = {"moments": f"{root}/locate/{wildcards.edited}/moments"}
    return {field: own.get(field, f"{root}/edit/{wildcards.edited}/{file}") for field, file in files.items()}


def artefacts(needs):
    """Field -> input function of each file that a method may need besides the model.

    `needs`: a function of the wildcards, field -> file or folder; what it leaves out is no input.
    """
    of = lambda name: lambda wildcards: needs(wildcards).get(name, [])
    return {name: of(name) for name in ("prefixes", "moments", "mend")}


def moments_layers(wildcards):
    """The blocks of a model whose second moments the configured methods need."""
    name, _ = edited_models()[wildcards.edited]
    return PLAN.layers(name)


def moments_corpus(wildcards):
    """The corpus over which the second moments of a model are counted: `[facts]`, `[sampled]`, or files."""
    corpus = config["moments"]["corpus"]
    if corpus != "auto":
        return corpus
    name, _ = edited_models()[wildcards.edited]
    return ["facts"] if name in BUNDLED else ["sampled"]


def moments_of(field):
    """What the command that counts moments has in one of its fields `facts`, `texts` and `sampled`."""

    def of(wildcards):
        corpus = moments_corpus(wildcards)
        if corpus == ["facts"]:
            given = {"facts": f"results/{wildcards.pair}/models/sentences.parquet"}
        else:
            given = {"sampled": True} if corpus == ["sampled"] else {"texts": corpus}
        return given.get(field, [])

    return of
