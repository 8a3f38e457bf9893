"""Editing a stream: the updates of a sequence of dates interval by interval (docs/lifelong.md).

Inputs: results/streams/{name}/stream.parquet; the models; what a method needs (artefacts.smk); config/methods/.
Outputs: results/streams/{name}/edit/edits.parquet; results/streams/{name}/edit/{model}/: what edit.smk makes of a model,
and {method}.{probes,edits,intervals}.parquet and .json; results/streams/{name}/edit/: intervals.parquet, costs.json,
lifelong.txt, lifelong.csv, lifelong.svg, lifelong.png; results/streams/{name}/stream_scores.parquet, results/stream_scores.parquet.
"""

import json


include: "inputs/lifelong.smk"


rule stream_edits:
    """The updates of a stream as edits in their order, each with its probes."""
    input:
        stream=f"{STREAM}/stream.parquet",
    output:
        edits=f"{STREAM}/edit/edits.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/edit/edits.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/edits.tsv"
    resources:
        **request("edit stream-edits"),
    params:
        code=code("edit stream-edits"),
        scenarios=config["edit"]["scenarios"],
        split=config["edit"]["split"],
        limit=edit_limit(),
        archive_target=config["edit"]["archive_target"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit stream-edits \
            --stream {input.stream:q} \
            --scenarios {params.scenarios:q} \
            --split {params.split} \
            --limit {params.limit} \
            --archive-target {params.archive_target:q} \
            --seed {params.seed} \
            --output {output.edits:q}
        """


use rule edit_align as stream_align with:
    input:
        edits=f"{STREAM}/edit/edits.parquet",
        model=edited_model,
    output:
        aligned=f"{STREAM}/edit/{{edited}}/aligned.parquet",
        unaligned=f"{STREAM}/edit/{{edited}}/unaligned.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/align.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/align.tsv"


use rule edit_baseline as stream_baseline with:
    input:
        edits=f"{STREAM}/edit/edits.parquet",
        aligned=f"{STREAM}/edit/{{edited}}/aligned.parquet",
        unaligned=f"{STREAM}/edit/{{edited}}/unaligned.parquet",
        model=edited_model,
    output:
        probes=f"{STREAM}/edit/{{edited}}/baseline.parquet",
        clozes=f"{STREAM}/edit/{{edited}}/clozes.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/baseline.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/baseline.tsv"


use rule edit_ability as stream_ability with:
    input:
        edits=f"{STREAM}/edit/edits.parquet",
        unaligned=f"{STREAM}/edit/{{edited}}/unaligned.parquet",
        model=edited_model,
        files=ability_files(),
    output:
        ability=f"{STREAM}/edit/{{edited}}/ability.json",
    log:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/ability.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/ability.tsv"


if not config["edit"]["mend_checkpoint"]:

    use rule edit_mend as stream_mend with:
        input:
            dataset=edit_source().format(pair=f"{OLD}_{NEW}"),
            templates=f"{PAIR}/templates.parquet",
            edits=f"{STREAM}/edit/edits.parquet",
            model=edited_model,
            values=str(METHODS / "mend.yaml"),
            words=word_tables(),
        output:
            editor=f"{STREAM}/edit/{{edited}}/mend.safetensors",
            split=f"{STREAM}/edit/{{edited}}/mend_split.json",
        log:
            f"logs/streams/{STREAM_NAME}/edit/{{edited}}/mend.txt",
        benchmark:
            f"logs/streams/{STREAM_NAME}/edit/{{edited}}/mend.tsv"


rule stream_run:
    """Makes the edits of all intervals with one method, and probes after each; a killed job continues there."""
    input:
        **stream_ability_file(),
        edits=f"{STREAM}/edit/edits.parquet",
        aligned=f"{STREAM}/edit/{{edited}}/aligned.parquet",
        unaligned=f"{STREAM}/edit/{{edited}}/unaligned.parquet",
        model=edited_model,
        values=method_file,
        artefacts=lambda wildcards: list(stream_needs(wildcards).values()),
    output:
        probes=f"{STREAM}/edit/{{edited}}/{{method}}.probes.parquet",
        edits=f"{STREAM}/edit/{{edited}}/{{method}}.edits.parquet",
        intervals=f"{STREAM}/edit/{{edited}}/{{method}}.intervals.parquet",
        costs=f"{STREAM}/edit/{{edited}}/{{method}}.json",
    log:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/{{method}}.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/{{method}}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
        # A resource, since a job that has succeeded need not run again for it.
        strict=STRICT,
    params:
        code=code("edit stream-run"),
        model=edited_model_options,
        weights=edited_weights,
        template=config["edit"]["template"],
        settings=edit_settings("batch", "budget", "length", "stream"),
        method=method_given,
        values=lambda wildcards: method_values(wildcards.method),
        artefacts=lambda wildcards, input: [
            word for pair in zip(stream_needs(wildcards), input.artefacts) for word in pair
        ],
        ability=lambda wildcards, input: [f"--ability={input.ability}"] if stream_ability_file() else [],
        seed=config["seed"],
        parts=subpath(output.costs, strip_suffix=".json"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit stream-run \
            --edits {input.edits:q} \
            --aligned {input.aligned:q} \
            --unaligned {input.unaligned:q} \
            {params.model:q} \
            --template {params.template} \
            {params.settings:q} --threads {threads} \
            --method={params.method:q} \
            --set {params.values:q} \
            {params.artefacts:q} {resources.strict} {params.ability:q} \
            --seed {params.seed} \
            --parts {params.parts:q} \
            --out-probes {output.probes:q} \
            --out-edits {output.edits:q} \
            --out-intervals {output.intervals:q} \
            --out-costs {output.costs:q}
        """


rule stream_scores:
    """All models and methods: a row for each update, interval in which it is asked, and kind of probe."""
    input:
        models=some_models,
        edits=f"{STREAM}/edit/edits.parquet",
        unaligned=of_stream_models("unaligned.parquet"),
        base_probes=of_stream_models("baseline.parquet"),
        base_clozes=of_stream_models("clozes.parquet"),
        run_probes=of_stream_runs("probes.parquet"),
        run_edits=of_stream_runs("edits.parquet"),
        run_intervals=of_stream_runs("intervals.parquet"),
        costs=of_stream_runs("json"),
    output:
        scores=f"{STREAM}/stream_scores.parquet",
        intervals=f"{STREAM}/edit/intervals.parquet",
        costs=f"{STREAM}/edit/costs.json",
    log:
        f"logs/streams/{STREAM_NAME}/edit/scores.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/scores.tsv"
    resources:
        **request("edit stream-scores"),
    params:
        code=code("edit stream-scores"),
        models=edited_names(),
        methods=PLAN.names(),
        skipped=json.dumps(PLAN.skipped),
        strict=STRICT,
        probes=config["edit"]["stream"]["probes"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit stream-scores \
            --edits {input.edits:q} \
            --unaligned {input.unaligned:q} \
            --base-probes {input.base_probes:q} \
            --base-clozes {input.base_clozes:q} \
            --run-probes {input.run_probes:q} \
            --run-edits {input.run_edits:q} \
            --run-intervals {input.run_intervals:q} \
            --costs {input.costs:q} \
            --models {params.models:q} \
            --methods {params.methods:q} \
            --skipped {params.skipped:q} {params.strict} \
            --probes {params.probes} \
            --seed {params.seed} \
            --out-scores {output.scores:q} \
            --out-intervals {output.intervals:q} \
            --out-costs {output.costs:q}
        """


rule stream_report:
    """The scores by interval as people read them, and the figure over time."""
    input:
        scores=f"{STREAM}/stream_scores.parquet",
        intervals=f"{STREAM}/edit/intervals.parquet",
        costs=f"{STREAM}/edit/costs.json",
        abilities=of_stream_models("ability.json") if stream_ability_file() else [],
        recall=bundled_folders(),
    output:
        table=f"{STREAM}/edit/lifelong.txt",
        csv=f"{STREAM}/edit/lifelong.csv",
        figures=expand(f"{STREAM}/edit/lifelong.{{form}}", form=["svg", "png"]),
    log:
        f"logs/streams/{STREAM_NAME}/edit/report.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/report.tsv"
    resources:
        **request("edit stream-report"),
    params:
        code=code("edit stream-report"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit stream-report \
            --scores {input.scores:q} \
            --intervals {input.intervals:q} \
            --costs {input.costs:q} \
            --ability {input.abilities:q} \
            --recall {input.recall:q} \
            --out-table {output.table:q} \
            --out-csv {output.csv:q} \
            --out-figures {output.figures:q}
        """
