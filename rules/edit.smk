"""Editing methods on language models: how well an update is made, and what else it changes (docs/editing.md).

Inputs: a dataset of updates (wfd_repl.parquet, wikifactdiff.parquet or the user's); the models; config/methods/.
Outputs: results/{pair}/edit/edits.parquet; results/{pair}/edit/{model}/: aligned.parquet, unaligned.parquet,
baseline.parquet, clozes.parquet, ability.json, {method}/{shard}.{probes,edits}.parquet and .json, with edit.keep .adapters/;
results/{pair}/edit/: probes.parquet, costs.json, table6.txt, table7.txt (and .csv), bleedover.svg (and .png);
results/{pair}/edit_scores.parquet, results/edit_scores.parquet. What a method needs before: artefacts.smk.
"""

import json
import re


include: "inputs/edit.smk"


wildcard_constraints:
    edited="|".join(map(re.escape, edited_models())),
    method="|".join(map(re.escape, PLAN.names())),


rule edit_dataset:
    """The updates as edits, each with its probes."""
    input:
        dataset=edit_source(),
    output:
        "results/{pair}/edit/edits.parquet",
    log:
        "logs/{pair}/edit/dataset.txt",
    benchmark:
        "logs/{pair}/edit/dataset.tsv"
    resources:
        **request("edit dataset"),
    params:
        **given("edit dataset", limit=edit_limit()),
    shell:
        job("edit dataset")


rule edit_align:
    """The probes as tokens of a model, and the probes that cannot be aligned with them."""
    input:
        edits="results/{pair}/edit/edits.parquet",
        model=edited_model,
    output:
        out_aligned="results/{pair}/edit/{edited}/aligned.parquet",
        out_unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
    log:
        "logs/{pair}/edit/{edited}/align.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/align.tsv"
    resources:
        **request("edit align"),
    params:
        **given("edit align", **MODEL_PARAMS),
    shell:
        job("edit align")


rule edit_baseline:
    """A model without any edit on all probes, once for all methods."""
    input:
        edits="results/{pair}/edit/edits.parquet",
        aligned="results/{pair}/edit/{edited}/aligned.parquet",
        unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
        model=edited_model,
    output:
        out_probes="results/{pair}/edit/{edited}/baseline.parquet",
        out_clozes="results/{pair}/edit/{edited}/clozes.parquet",
    log:
        "logs/{pair}/edit/{edited}/baseline.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/baseline.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **given("edit baseline", **MODEL_PARAMS, parts=subpath(output.out_probes, strip_suffix=".parquet")),
    shell:
        job("edit baseline")


rule edit_ability:
    """A held-out text and tasks, and what a model makes of them without any edit."""
    input:
        edits="results/{pair}/edit/edits.parquet",
        unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
        model=edited_model,
        files=ability_files(),
    output:
        "results/{pair}/edit/{edited}/ability.json",
    log:
        "logs/{pair}/edit/{edited}/ability.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/ability.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **given("edit ability", **MODEL_PARAMS),
    shell:
        job("edit ability")


rule edit_run:
    """Makes and probes the edits of one method and shard; a killed job continues where it was."""
    input:
        **artefacts(method_needs),
        edits="results/{pair}/edit/edits.parquet",
        aligned="results/{pair}/edit/{edited}/aligned.parquet",
        unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
        model=edited_model,
        values=method_file,
        ability="results/{pair}/edit/{edited}/ability.json" if ability_measured() else [],
    output:
        out_probes="results/{pair}/edit/{edited}/{method}/{shard}.probes.parquet",
        out_edits="results/{pair}/edit/{edited}/{method}/{shard}.edits.parquet",
        out_costs="results/{pair}/edit/{edited}/{method}/{shard}.json",
        out_adapters=kept_adapters(),
    log:
        "logs/{pair}/edit/{edited}/{method}.{shard}.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/{method}.{shard}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
        strict=config["strict"],
    params:
        **given(
            "edit run",
            **MODEL_PARAMS,
            method=method_given,
            set=method_values(),
            shard="{shard}",
            parts=subpath(output.out_costs, strip_suffix=".json"),
        ),
    shell:
        job("edit run")


rule edit_scores:
    """All models and methods: a row an edit with its metrics, a row a probe, what the jobs have cost."""
    input:
        models=some_models,
        edits="results/{pair}/edit/edits.parquet",
        unaligned=of_models("unaligned.parquet"),
        base_probes=of_models("baseline.parquet"),
        base_clozes=of_models("clozes.parquet"),
        run_probes=of_runs("probes.parquet"),
        run_edits=of_runs("edits.parquet"),
        costs=of_runs("json"),
        ability=of_models("ability.json") if ability_measured() else [],
    output:
        out_scores="results/{pair}/edit_scores.parquet",
        out_probes="results/{pair}/edit/probes.parquet",
        out_costs="results/{pair}/edit/costs.json",
    log:
        "logs/{pair}/edit/scores.txt",
    benchmark:
        "logs/{pair}/edit/scores.tsv"
    resources:
        **request("edit scores"),
    params:
        **given("edit scores", models=edited_names(), methods=PLAN.names(), skipped=json.dumps(PLAN.skipped)),
    shell:
        job("edit scores")


rule edit_report:
    """The tables as people read them, and the figure of bleedover."""
    input:
        scores="results/{pair}/edit_scores.parquet",
        probes="results/{pair}/edit/probes.parquet",
        costs="results/{pair}/edit/costs.json",
        unaligned=of_models("unaligned.parquet"),
        recall=bundled_folders(),
    output:
        tables=expand("results/{{pair}}/edit/{name}.{form}", name=["table6", "table7"], form=["txt", "csv"]),
        output=expand("results/{{pair}}/edit/bleedover.{form}", form=["svg", "png"]),
    log:
        "logs/{pair}/edit/report.txt",
    benchmark:
        "logs/{pair}/edit/report.tsv"
    resources:
        **request("edit figures"),
    params:
        **given("edit figures", "edit table", output=subpath(output[0], parent=True)),
    shell:
        job("edit figures", "edit table")
