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
        edits="results/{pair}/edit/edits.parquet",
    log:
        "logs/{pair}/edit/dataset.txt",
    benchmark:
        "logs/{pair}/edit/dataset.tsv"
    resources:
        **request("edit dataset"),
    params:
        code=code("edit dataset"),
        scenarios=config["edit"]["scenarios"],
        split=config["edit"]["split"],
        limit=edit_limit(),
        fluency_sample=config["edit"]["fluency_sample"],
        archive_target=config["edit"]["archive_target"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit dataset \
            --dataset {input.dataset:q} \
            --scenarios {params.scenarios:q} \
            --split {params.split} \
            --limit {params.limit} \
            --fluency-sample {params.fluency_sample} \
            --archive-target {params.archive_target:q} \
            --seed {params.seed} \
            --output {output.edits:q}
        """


rule edit_align:
    """The probes as tokens of a model, and those that its tokens do not show."""
    input:
        edits="results/{pair}/edit/edits.parquet",
        model=edited_model,
    output:
        aligned="results/{pair}/edit/{edited}/aligned.parquet",
        unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
    log:
        "logs/{pair}/edit/{edited}/align.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/align.tsv"
    resources:
        **request("edit align"),
    params:
        code=code("edit align"),
        model=edited_model_options,
        weights=edited_weights,
        template=config["edit"]["template"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit align \
            --edits {input.edits:q} \
            {params.model:q} \
            --template {params.template} \
            --out-aligned {output.aligned:q} \
            --out-unaligned {output.unaligned:q}
        """


rule edit_baseline:
    """A model without any edit on all probes, once for all methods."""
    input:
        edits="results/{pair}/edit/edits.parquet",
        aligned="results/{pair}/edit/{edited}/aligned.parquet",
        unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
        model=edited_model,
    output:
        probes="results/{pair}/edit/{edited}/baseline.parquet",
        clozes="results/{pair}/edit/{edited}/clozes.parquet",
    log:
        "logs/{pair}/edit/{edited}/baseline.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/baseline.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
    params:
        code=code("edit baseline"),
        model=edited_model_options,
        weights=edited_weights,
        template=config["edit"]["template"],
        settings=edit_settings("batch", "budget", "length"),
        parts=subpath(output.probes, strip_suffix=".parquet"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit baseline \
            --edits {input.edits:q} \
            --aligned {input.aligned:q} \
            --unaligned {input.unaligned:q} \
            {params.model:q} \
            --template {params.template} \
            {params.settings:q} --threads {threads} \
            --parts {params.parts:q} \
            --out-probes {output.probes:q} \
            --out-clozes {output.clozes:q}
        """


rule edit_ability:
    """A held-out text and tasks, and what a model makes of them without any edit."""
    input:
        edits="results/{pair}/edit/edits.parquet",
        unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
        model=edited_model,
        files=ability_files(),
    output:
        ability="results/{pair}/edit/{edited}/ability.json",
    log:
        "logs/{pair}/edit/{edited}/ability.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/ability.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
    params:
        code=code("edit ability"),
        model=edited_model_options,
        weights=edited_weights,
        settings=edit_settings("budget", "ability"),
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit ability \
            --edits {input.edits:q} \
            --unaligned {input.unaligned:q} \
            {params.model:q} \
            {params.settings:q} --threads {threads} \
            --seed {params.seed} \
            --output {output.ability:q}
        """


rule edit_run:
    """Makes and probes the edits of one method and shard; a killed job continues where it was."""
    input:
        **ability_file(),
        edits="results/{pair}/edit/edits.parquet",
        aligned="results/{pair}/edit/{edited}/aligned.parquet",
        unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
        model=edited_model,
        values=method_file,
        artefacts=lambda wildcards: list(method_needs(wildcards).values()),
    output:
        **kept_adapters(),
        probes="results/{pair}/edit/{edited}/{method}/{shard}.probes.parquet",
        edits="results/{pair}/edit/{edited}/{method}/{shard}.edits.parquet",
        costs="results/{pair}/edit/{edited}/{method}/{shard}.json",
    log:
        "logs/{pair}/edit/{edited}/{method}.{shard}.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/{method}.{shard}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
        # A resource, since a job that has succeeded need not run again for it.
        strict=STRICT,
    params:
        code=code("edit run"),
        model=edited_model_options,
        weights=edited_weights,
        template=config["edit"]["template"],
        settings=edit_settings("batch", "budget", "length", "regime", "group"),
        method=method_given,
        values=lambda wildcards: method_values(wildcards.method),
        artefacts=lambda wildcards, input: [
            word for pair in zip(method_needs(wildcards), input.artefacts) for word in pair
        ],
        ability=lambda wildcards, input: [f"--ability={input.ability}"] if ability_measured() else [],
        adapters=lambda wildcards, output: [f"--out-adapters={output.adapters}"] if kept_adapters() else [],
        parts=subpath(output.costs, strip_suffix=".json"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit run \
            --edits {input.edits:q} \
            --aligned {input.aligned:q} \
            --unaligned {input.unaligned:q} \
            {params.model:q} \
            --template {params.template} \
            {params.settings:q} --threads {threads} \
            --method={params.method:q} \
            --set {params.values:q} \
            {params.artefacts:q} {resources.strict} {params.ability:q} {params.adapters:q} \
            --shard {wildcards.shard} \
            --parts {params.parts:q} \
            --out-probes {output.probes:q} \
            --out-edits {output.edits:q} \
            --out-costs {output.costs:q}
        """


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
        abilities=of_models("ability.json") if ability_measured() else [],
    output:
        scores="results/{pair}/edit_scores.parquet",
        probes="results/{pair}/edit/probes.parquet",
        costs="results/{pair}/edit/costs.json",
    log:
        "logs/{pair}/edit/scores.txt",
    benchmark:
        "logs/{pair}/edit/scores.tsv"
    resources:
        **request("edit scores"),
    params:
        code=code("edit scores"),
        models=edited_names(),
        methods=PLAN.names(),
        skipped=json.dumps(PLAN.skipped),
        strict=STRICT,
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit scores \
            --edits {input.edits:q} \
            --unaligned {input.unaligned:q} \
            --base-probes {input.base_probes:q} \
            --base-clozes {input.base_clozes:q} \
            --run-probes {input.run_probes:q} \
            --run-edits {input.run_edits:q} \
            --costs {input.costs:q} \
            --ability {input.abilities:q} \
            --models {params.models:q} \
            --methods {params.methods:q} \
            --skipped {params.skipped:q} {params.strict} \
            --out-scores {output.scores:q} \
            --out-probes {output.probes:q} \
            --out-costs {output.costs:q}
        """


rule edit_report:
    """The tables as people read them, and the figure of bleedover."""
    input:
        scores="results/{pair}/edit_scores.parquet",
        probes="results/{pair}/edit/probes.parquet",
        costs="results/{pair}/edit/costs.json",
        unaligned=of_models("unaligned.parquet"),
        recall=bundled_folders(),
    output:
        table="results/{pair}/edit/table6.txt",
        tables=[f"results/{{pair}}/edit/{name}" for name in ("table6.csv", "table7.txt", "table7.csv")],
        figures=expand("results/{{pair}}/edit/bleedover.{form}", form=["svg", "png"]),
    log:
        "logs/{pair}/edit/report.txt",
    benchmark:
        "logs/{pair}/edit/report.tsv"
    resources:
        **request("edit figures"),
    params:
        code=code("edit figures", "edit table"),
        folder=subpath(output.table, parent=True),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit figures --probes {input.probes:q} --output {output.figures:q}
        factdrift edit table \
            --scores {input.scores:q} \
            --costs {input.costs:q} \
            --unaligned {input.unaligned:q} \
            --recall {input.recall:q} \
            --output {params.folder:q}
        """
