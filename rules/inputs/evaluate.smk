"""The questions of each benchmark, the settings on which their answers depend, and the files of all jobs."""

from factdrift.core.keys import settings_of
from factdrift.evaluation.methods.record import UNEDITED
from factdrift.evaluation.questions.record import records
from factdrift.evaluation.settings import Settings, fields_of

KLOB = records()["klob"].questions
EDITS = records()["updates"].questions[0]


def ripple_probes():
    """The probes of the updates: the user's, or those of the pair."""
    return config["edit"]["ripples"] or records()["ripples"].questions[0]


def tables_of(record, **own):
    """The fields of `evaluate` that a benchmark has: its tables, and how it is asked."""
    tables = {
        field: getattr(record, field) for field in ("questions", "edits", "facts") if getattr(record, field)
    }
    limit = config["answer"]["limit"] if record.options else 0
    return {**tables, "limit": limit, "stream": record.by_interval, **own}


QUESTIONS = {name: tables_of(record) for name, record in records().items() if not record.of_stream}
QUESTIONS["ripples"]["questions"] = [ripple_probes(), EDITS]
QUESTIONS["blocks"] = {
    "benchmark": "updates",
    "questions": ["results/{pair}/locate/edits.parquet"],
    "blocks": True,
}
"""Benchmark -> fields of `evaluate`, of a pair of dates."""

STREAM_QUESTIONS = {name: tables_of(record) for name, record in records().items() if record.of_stream} | {
    name: tables_of(record, edits=f"{STREAM}/edit/edits.parquet", facts=[], stream=True)
    for name, record in records().items()
    if not record.of_stream
}
"""Benchmark -> fields of `evaluate`, of a stream; those of a pair are asked after each of its intervals."""

CHAT_QUESTIONS = {name: tables_of(record) for name, record in records().items() if not record.by_interval}
"""Benchmark -> what a chat model is asked, without edits."""


def answer_methods():
    """The methods whose edits are in the place of the context, where TempRIPPLE's items are asked."""
    configured = [method for method in PLAN.names() if method != "none"]
    chosen = config["answer"]["methods"]
    if chosen == "configured":
        return configured
    if unknown := [method for method in chosen if method not in configured]:
        raise WorkflowError(
            f"configuration: answer.methods: {unknown[0]} is not among the methods that edit; there are "
            f"{', '.join(configured)}"
        )
    return chosen


def method_names():
    """The states that a model can be asked in: all methods that are configured for anything."""
    return dict.fromkeys([*UNEDITED, *PLAN.names(), *answer_methods(), *config["locate"]["edit_methods"]])


def of_benchmark(field, benchmarks=QUESTIONS):
    """What a benchmark has in a field of `evaluate`; an unedited model is told no edits."""
    otherwise = {"limit": 0, "stream": False, "blocks": False}

    def of(wildcards):
        fields = benchmarks[wildcards.benchmark]
        if field == "benchmark":
            return fields.get(field, wildcards.benchmark)
        if wildcards.get("method", "none") in UNEDITED and field in ("edits", "facts"):
            return otherwise.get(field, [])
        value = fields.get(field, otherwise.get(field, []))
        paths = [value] if isinstance(value, str) else value
        named = {"pair": f"{OLD}_{NEW}", "stream": STREAM, **wildcards}
        return [path.format(**named) for path in paths] if isinstance(paths, list) else value

    return of


def asked_weights(wildcards):
    """A parameter that changes with the model's files, and with the code of its method and of the benchmark."""
    return edited_weights(wildcards) + benchmark_code(wildcards)


def benchmark_code(wildcards):
    """A fingerprint of the code that reads a benchmark."""
    fields = {**QUESTIONS, **STREAM_QUESTIONS}[wildcards.benchmark]
    return of_module(records()[fields.get("benchmark", wildcards.benchmark)].module())


def asking_settings(wildcards):
    """The settings on which the answers to a benchmark depend."""
    of = {**QUESTIONS, **STREAM_QUESTIONS}[wildcards.benchmark]
    return settings_of(
        config,
        Settings,
        "edit",
        fields_of(of.get("benchmark", wildcards.benchmark), wildcards.method not in UNEDITED),
    )


def asking(benchmarks):
    """The parameters of a job that asks a model one of these benchmarks."""
    fields = ("benchmark", "limit", "stream", "blocks")
    return {
        **MODEL_PARAMS,
        "weights": asked_weights,
        "method": method_given,
        "set": method_values(),
        "settings": asking_settings,
        "shard": "{shard}",
        **{field: of_benchmark(field, benchmarks) for field in fields},
    }


def edit_limit():
    """How many edits are made at most: all (0), but of the bundled models' facts only some."""
    limit = config["edit"]["limit"]
    if limit == "auto":
        return 128 if set(edited_names()) & set(BUNDLED) else 0
    return limit


def kept_adapters():
    """The folder with the adapters of a job, if they are kept."""
    kept = config["edit"]["keep"] == "adapters"
    folder = "results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.adapters"
    return directory(folder) if kept else []


def ability_measured(stream=False):
    """Whether anything is measured of edited models in general."""
    ability = config["edit"]["ability"]
    states = stream or config["edit"]["regime"] != "independent" or ability["sample"]
    return bool(states and (ability["tokens"] or ability["tasks"]))


def ability_file(benchmark, root):
    """What is measured of models after edits of a benchmark, and what it is before."""

    def of(wildcards):
        wanted = wildcards.benchmark == benchmark and wildcards.method != "context"
        measured = wanted and ability_measured(stream=benchmark == "stream")
        return [f"{root}/edit/{{edited}}/ability.json".format(**wildcards)] if measured else []

    return of


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


def stream_needs(wildcards):
    """Field -> file or folder of what a method needs besides the model.

    Only MEND's editor depends on the edits, whose subjects it must not see; other files are those of the pair.
    """
    return needed(wildcards, PAIR, {} if config["edit"]["mend_checkpoint"] else {"mend": STREAM})


def shards_of(benchmark, state):
    """The shards of a job, as file names have them."""
    count = config["edit"]["shards"] if benchmark in ("updates", "blocks") and state not in UNEDITED else 1
    return [f"{place}-of-{count}" for place in range(count)]


def answered(benchmark, states, form, root="results/{pair}"):
    """A file of each job that asks a configured model: its `form`, such as `answers.parquet`.

    `states`: a function of the name of a model.
    """
    return [
        f"{root}/evaluation/{folder}/{benchmark}/{state}/{shard}.{form}"
        for folder, (name, _) in edited_models().items()
        for state in states(name)
        for shard in shards_of(benchmark, state)
    ]


def unedited(name):
    return ["none"]


def editing(name):
    """The methods that can edit a model."""
    return [method for method in PLAN.methods(name) if method != "none"]


def all_methods(name):
    """`none`, and the methods that can edit a model."""
    return ["none", *editing(name)]


def all_states(name):
    """The states without edits, and the methods that can edit a model."""
    return [*UNEDITED, *editing(name)]


def scored(benchmark, states, root="results/{pair}"):
    """Field -> files, of a command that computes scores from all jobs."""
    forms = {"answers": "answers", "made": "edits", "states": "states"}
    return {field: answered(benchmark, states, f"{form}.parquet", root) for field, form in forms.items()}


def grid_files(form):
    """A file of each job of `answer.benchmarks`, in all states."""
    chosen = config["answer"]["benchmarks"]
    if unknown := set(chosen) - records().keys():
        raise WorkflowError(
            f"configuration: answer.benchmarks: {min(unknown)}: no such benchmark; there are {', '.join(records())}"
        )
    of_pair_ = [file for name in chosen if name in QUESTIONS for file in answered(name, all_states, form)]
    of_stream = [name for name in chosen if name in STREAM_QUESTIONS and name not in QUESTIONS]
    chat = [
        name for name in chosen if name in CHAT_QUESTIONS and config["answer"]["chat"] and "edits" not in form
    ]
    form_ = form.removeprefix("answers.")
    of_chat = [f"results/{{pair}}/evaluation/chat/{name}/read.{form_}" for name in chat]
    return (
        of_pair_ + [file for name in of_stream for file in answered(name, all_states, form, STREAM)] + of_chat
    )


def judged_benchmarks():
    """The benchmarks whose written answers a chat model judges, too."""
    return [name for name in config["answer"]["benchmarks"] if name in CHAT_QUESTIONS]


def grid_answers(benchmark):
    """The answers to a benchmark in all states, those of the chat model behind them."""
    root = PAIR if benchmark in QUESTIONS else STREAM
    chat = [f"{PAIR}/evaluation/chat/{benchmark}/read.parquet"] if config["answer"]["chat"] else []
    return answered(benchmark, all_states, "answers.parquet", root) + chat


def judge_answers(wildcards):
    """What the chat model says of the written answers to each benchmark."""
    if config["written"]["judge"] == "none":
        raise WorkflowError(
            "configuration: written.judge: none: name the answers to be judged, unclear or all"
        )
    return [
        f"results/{wildcards.pair}/evaluation/judge/{name}/answers.parquet" for name in judged_benchmarks()
    ]


def grid_edits():
    """The tables of edits whose objects are asked about by `answer.benchmarks`."""
    tables = {"updates": EDITS, "stream": f"{STREAM}/edit/edits.parquet"}
    return [table for name, table in tables.items() if name in config["answer"]["benchmarks"]]
