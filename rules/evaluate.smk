"""One model asked the questions of one benchmark in one state (docs/evaluation.md).

Inputs: tables of questions and of the edits that they are about; the models; what methods need (artefacts.smk).
Outputs: results/{pair}/evaluation/{model}/{benchmark}/{state}/: {shard}.answers.parquet, .edits.parquet, .states.parquet
and .json, with edit.keep .adapters/; the same for streams in results/streams/{name}/evaluation/. A state is `none`,
`context` or a method; the benchmark `blocks` has the updates with edits at every block of the model. With `answer.chat`
results/{pair}/evaluation/chat/{benchmark}/: requests.parquet, answers.parquet, read.parquet and read.json. Of all answers
results/{pair}/: answer_grid.parquet, written_scores.parquet, answer/grid.txt.
"""

import json
import re


include: "inputs/evaluate.smk"


wildcard_constraints:
    edited="|".join(map(re.escape, edited_models())),
    method="|".join(map(re.escape, method_names())),
    benchmark="|".join([*QUESTIONS, *STREAM_QUESTIONS]),


rule evaluate:
    """Asks a model in one state; a killed job continues where it was."""
    input:
        **artefacts(method_needs),
        questions=of_benchmark("questions"),
        edits=of_benchmark("edits"),
        facts=of_benchmark("facts"),
        model=edited_model,
        values=method_file,
        ability=ability_file("updates", "results/{pair}"),
    output:
        out_answers="results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.answers.parquet",
        out_edits="results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.edits.parquet",
        out_states="results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.states.parquet",
        out_run="results/{pair}/evaluation/{edited}/{benchmark}/{method}/{shard}.json",
        out_adapters=kept_adapters(),
    log:
        "logs/{pair}/evaluation/{edited}/{benchmark}.{method}.{shard}.txt",
    benchmark:
        "logs/{pair}/evaluation/{edited}/{benchmark}.{method}.{shard}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
        strict=config["strict"],
    params:
        **given(
            "evaluate",
            **asking(QUESTIONS),
            parts=subpath(output.out_run, strip_suffix=".json"),
        ),
    shell:
        job("evaluate")


use rule evaluate as evaluate_stream with:
    input:
        **artefacts(stream_needs),
        questions=of_benchmark("questions", STREAM_QUESTIONS),
        edits=of_benchmark("edits", STREAM_QUESTIONS),
        facts=[],
        model=edited_model,
        values=method_file,
        ability=ability_file("stream", STREAM),
    output:
        out_answers=f"{STREAM}/evaluation/{{edited}}/{{benchmark}}/{{method}}/{{shard}}.answers.parquet",
        out_edits=f"{STREAM}/evaluation/{{edited}}/{{benchmark}}/{{method}}/{{shard}}.edits.parquet",
        out_states=f"{STREAM}/evaluation/{{edited}}/{{benchmark}}/{{method}}/{{shard}}.states.parquet",
        out_run=f"{STREAM}/evaluation/{{edited}}/{{benchmark}}/{{method}}/{{shard}}.json",
        out_adapters=[],
    log:
        f"logs/streams/{STREAM_NAME}/evaluation/{{edited}}/{{benchmark}}.{{method}}.{{shard}}.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/evaluation/{{edited}}/{{benchmark}}.{{method}}.{{shard}}.tsv"
    params:
        **given(
            "evaluate",
            **asking(STREAM_QUESTIONS),
            parts=subpath(output.out_run, strip_suffix=".json"),
        ),


rule answer_grid:
    """Each benchmark in each state and way: how many questions are answered right, and why some are not."""
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
    log:
        "logs/{pair}/answer/grid.txt",
    benchmark:
        "logs/{pair}/answer/grid.tsv"
    resources:
        **request("answer grid"),
    params:
        **given("answer grid", skipped=json.dumps(PLAN.skipped)),
    shell:
        job("answer grid")
