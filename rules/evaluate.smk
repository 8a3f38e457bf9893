"""One model asked the questions of one benchmark in one state (docs/evaluation.md).

Inputs: tables of questions and of the edits that they are about; the models; what methods need (artefacts.smk). A
state, the wildcard {method}, is `none`, `context` or a method; the benchmark `blocks` has the updates with edits at
every block of the model, `recall` their own clozes only.
"""


include: "inputs/evaluate.smk"


wildcard_constraints:
    edited="|".join(map(re.escape, MODELS)),
    method="|".join(map(re.escape, method_names())),
    benchmark="|".join([*records(), "blocks", "recall"]),


rule evaluate:
    """Asks a model in one state; a killed job continues where it stopped."""
    input:
        # What the method needs besides the model, by its record: results/OLD_NEW/edit/MODEL/...
        **by_field(["prefixes", "moments", "editor"], method_needs),
        # The tables of config/benchmarks/NAME.yaml; of an edited model also the edits that the questions are about.
        **by_field(["questions", "edits", "facts"], benchmark_tables),
        # results/models/MODEL, or the user's folder; none of a model that is fetched from a hub.
        model=edited_model,
        # config/methods/METHOD.yaml, or the user's own function.
        values=lambda wildcards: PLAN.files(wildcards.method),
        # results/OLD_NEW/edit/MODEL/ability.json, where perplexity or tasks are measured beside the questions.
        ability=ability_file,
        # Tables of resources/ by which questions are worded and written answers judged.
        words=WRITTEN,
    output:
        out_answers="results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.answers.parquet",
        out_edits="results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.edits.parquet",
        out_states="results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.states.parquet",
        out_run="results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.json",
        out_adapters=(
            directory("results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.adapters")
            if config["edit"]["keep"] == "adapters"
            else []
        ),
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
        strict=config["strict"],
    params:
        **MODEL_PARAMS,  # model and revision, as the configuration names them
        reads=lambda wildcards: method_code(wildcards) + benchmark_code(wildcards),
        method=lambda wildcards: PLAN.given(wildcards.method),
        set=method_values(),  # the user's hyper-parameters
        benchmark=benchmark_name,
        settings=asking_settings,  # the keys of `edit`, `answer` and `written` on which the answers depend
        limit=benchmark_limit,  # answer.limit, where questions have options
        stream=by_interval,
        blocks=lambda wildcards: wildcards.benchmark == "blocks",
        parts=subpath(output.out_run, strip_suffix=".json"),
    shell:
        job("evaluate")


use rule evaluate as evaluate_stream with:
    # The same after each interval of a stream, which keeps no adapters.
    output:
        out_answers=f"{STREAM}/evaluation/{{edited}}/{{benchmark}}/{{method}}/{{shard}}.answers.parquet",
        out_edits=f"{STREAM}/evaluation/{{edited}}/{{benchmark}}/{{method}}/{{shard}}.edits.parquet",
        out_states=f"{STREAM}/evaluation/{{edited}}/{{benchmark}}/{{method}}/{{shard}}.states.parquet",
        out_run=f"{STREAM}/evaluation/{{edited}}/{{benchmark}}/{{method}}/{{shard}}.json",
        out_adapters=[],
    wildcard_constraints:
        benchmark="|".join(records()),


rule answer_grid:
    """Each benchmark in each state and way: the share of right answers, and reasons for missing ones."""
    input:
        models_=some_models,
        answers=grid_files("answers.parquet"),
        made=grid_files("edits.parquet"),
        edits=grid_edits(),
        runs=grid_files("json"),
    output:
        output="results/{pair}/answer_grid.parquet",
        out_written="results/{pair}/written_scores.parquet",
        out_text="results/{pair}/answer/grid.txt",
    params:
        skipped=SKIPPED,
    shell:
        job("answer grid")
