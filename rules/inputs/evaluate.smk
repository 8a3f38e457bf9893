"""The questions of each benchmark, the settings on which their answers depend, and the files of all jobs."""

from factdrift.core.keys import settings_of
from factdrift.evaluation.methods.record import RETRIEVED, UNEDITED, is_unedited
from factdrift.evaluation.questions.question import records
from factdrift.evaluation.settings import Settings, check_regime, fields_of

KLOB = records()["klob"].questions
EDITS = records()["updates"].questions[0]
PROBES = config["edit"]["ripples"] or records()["ripples"].questions[0]
"""The probes of the updates: the user's, or those of the pair."""

READ = [resource("verdict/cues.tsv"), resource("words/reasoning.tsv")]
"""By what written answers are found and judged."""
WRITTEN = [resource("words/noun_phrases.tsv"), *READ]
"""By what models are asked in words, and what they write is judged."""


def answer_methods():
    """The methods whose edits are in the place of the context, where TempRIPPLE's items are asked."""
    configured = {PLAN.given(method): method for method in PLAN.names() if method != "none"}
    chosen = config["answer"]["methods"]
    if chosen == "configured":
        return list(configured.values())
    if unknown := [method for method in chosen if method not in configured]:
        raise WorkflowError(
            f"configuration: answer.methods: {unknown[0]} is not among the methods that edit; there are "
            f"{', '.join(configured)}"
        )
    return [configured[method] for method in chosen]


def method_names():
    """The states that a model can be asked in: all methods that are configured for anything."""
    of_benchmarks = [state for name in records() for state in states_of(name)]
    return dict.fromkeys([*UNEDITED, *PLAN.names(), *config["locate"]["edit_methods"], *of_benchmarks])


def states_of(benchmark):
    """The states of a benchmark that have documents before a question: of its record, and of the user's runs."""
    states = records()[benchmark].states
    return [*states, *(f"{RETRIEVED}{name}" for name in config["corpus"]["runs"])] if states else []


def benchmark_name(wildcards):
    """The benchmark that is asked; `blocks` and `recall` are `updates` with other edits and fewer questions."""
    return "updates" if wildcards.benchmark in ("blocks", "recall") else wildcards.benchmark


def benchmark_tables(wildcards):
    """Field of `evaluate` -> tables of a benchmark; an unedited model is told no edits.

    What is asked of a pair is, of a stream, asked after each of its intervals.
    """
    record = records()[benchmark_name(wildcards)]
    tables = {"questions": record.questions, "edits": [record.edits], "facts": [record.facts]}
    if wildcards.benchmark == "blocks":
        tables["questions"] = ["results/{pair}/locate/edits.parquet"]
    elif wildcards.benchmark == "recall":
        tables["questions"] = ["results/{pair}/edit/recall.parquet"]
    elif wildcards.benchmark == "ripples":
        tables["questions"] = [PROBES, EDITS]
    if "pair" not in wildcards.keys() and not record.of_stream:
        tables |= {"edits": [f"{STREAM}/edit/edits.parquet"], "facts": []}
    if is_unedited(wildcards.get("method", "")):
        tables |= {"edits": [], "facts": []}
    named = {"pair": f"{OLD}_{NEW}", "stream": STREAM, **wildcards}
    return {field: [path.format(**named) for path in paths if path] for field, paths in tables.items()}


def benchmark_limit(wildcards):
    """How many questions of each kind are asked, where they have options; 0 for all."""
    return config["answer"]["limit"] if records()[benchmark_name(wildcards)].options else 0


def by_interval(wildcards):
    """Whether edits are made interval by interval: those of a stream, but for questions with a date."""
    record = records()[benchmark_name(wildcards)]
    return "pair" not in wildcards.keys() and (record.by_interval or not record.of_stream)


def benchmark_code(wildcards):
    """A fingerprint of the code that reads a benchmark."""
    return of_module(records()[benchmark_name(wildcards)].module())


def asking_settings(wildcards):
    """The settings on which the answers to a benchmark depend."""
    fields = fields_of(benchmark_name(wildcards), not is_unedited(wildcards.method))
    return settings_of(config, Settings, "edit", fields)


def ability_measured(stream=False):
    """Whether anything is measured of edited models in general."""
    ability = config["edit"]["ability"]
    states = stream or config["edit"]["regime"] != "independent" or ability["sample"]
    return bool(states and (ability["tokens"] or ability["tasks"]))


def abilities(root="results/{pair}", stream=False):
    """What is measured of each model without edits, if anything is."""
    return [f"{root}/edit/{folder}/ability.json" for folder in MODELS if ability_measured(stream)]


def ability_file(wildcards):
    """What is measured of a model after the edits of a pair or of a stream, and what it is before."""
    pair = wildcards.get("pair")
    root, benchmark = (f"results/{pair}", "updates") if pair else (STREAM, "stream")
    wanted = wildcards.benchmark == benchmark and wildcards.method != "context"
    measured = wanted and ability_measured(stream=not pair)
    return [f"{root}/edit/{wildcards.edited}/ability.json"] if measured else []


def ability_files():
    """The user's files with held-out text and tasks."""
    ability = config["edit"]["ability"]
    given = [ability["text"]] if isinstance(ability["text"], str) else ability["text"]
    texts = [] if given == ["auto"] or not ability["tokens"] else given
    corpus = config["moments"]["corpus"]
    for path in texts:
        if corpus != "auto" and path in corpus:
            raise WorkflowError(
                f"edit.ability.text: {path} is also in moments.corpus, and ROME and MEMIT keep their change small on "
                "that text; name another one"
            )
    return [*texts, *(task for task in ability["tasks"] if task.endswith(".yaml"))]


def shards_of(benchmark, state):
    """The shards of a job, as file names have them."""
    sharded = benchmark in ("updates", "blocks") and not is_unedited(state)
    return numbered(config["edit"]["shards"] if sharded else 1)


def answered(benchmark, states, form, root="results/{pair}"):
    """A file of each job that asks a configured model: its `form`, such as `answers.parquet`.

    `states`: a function of the name of a model.
    """
    return [
        f"{root}/evaluation/{folder}/{benchmark}/{state}/{shard}.{form}"
        for folder, (name, _) in MODELS.items()
        for state in states(name)
        for shard in shards_of(benchmark, state)
    ]


def read_of_chat(benchmark, form="answers.parquet", root="results/{pair}"):
    """The same of the chat model, if it is asked; what is asked by interval needs edits, and it is not edited."""
    asked = config["answer"]["chat"] and not records()[benchmark].by_interval
    return [f"{root}/evaluation/chat/{benchmark}/read.{form.removeprefix('answers.')}"] if asked else []


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


def of_all_states(benchmark, form="answers.parquet"):
    """A file of each job that asks a configured model a benchmark, in all states."""
    root = STREAM if records()[benchmark].of_stream else "results/{pair}"
    return answered(benchmark, lambda name: [*all_states(name), *states_of(benchmark)], form, root)


def grid_files(form):
    """A file of each job of `answer.benchmarks`: those of a pair, of a stream, of the chat model."""
    chosen = config["answer"]["benchmarks"]
    if unknown := set(chosen) - records().keys():
        raise WorkflowError(
            f"configuration: answer.benchmarks: {min(unknown)}: no such benchmark; there are {', '.join(records())}"
        )
    pair_first = sorted(chosen, key=lambda name: records()[name].of_stream)
    files = [file for name in pair_first for file in of_all_states(name, form)]
    return files + [file for name in chosen if "edits" not in form for file in read_of_chat(name, form)]


def judged_benchmarks():
    """The benchmarks whose written answers a chat model judges, too."""
    return [name for name in config["answer"]["benchmarks"] if not records()[name].by_interval]


def grid_answers(benchmark):
    """The answers to a benchmark in all states, those of the chat model behind them."""
    return of_all_states(benchmark) + read_of_chat(benchmark)


def judge_answers(wildcards):
    """What the chat model says of the written answers to each benchmark."""
    if config["written"]["judge"] == "none":
        raise WorkflowError(
            "configuration: written.judge: none: name the answers to be judged, unclear or all"
        )
    if not judged_benchmarks():
        raise WorkflowError(
            "configuration: answer.benchmarks: what is asked by interval is not judged; name another benchmark, too"
        )
    return [
        f"results/{wildcards.pair}/evaluation/judge/{name}/answers.parquet" for name in judged_benchmarks()
    ]


def grid_edits():
    """The tables of edits whose objects are asked about by `answer.benchmarks`."""
    tables = {"updates": EDITS, "stream": f"{STREAM}/edit/edits.parquet"}
    return [table for name, table in tables.items() if name in config["answer"]["benchmarks"]]
