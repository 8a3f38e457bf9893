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
        f"{STREAM}/edit/edits.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/edit/edits.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/edits.tsv"
    resources:
        **request("edit stream-edits"),
    params:
        **given("edit stream-edits", limit=edit_limit()),
    shell:
        job("edit stream-edits")


use rule edit_align as stream_align with:
    input:
        edits=f"{STREAM}/edit/edits.parquet",
        model=edited_model,
    output:
        out_aligned=f"{STREAM}/edit/{{edited}}/aligned.parquet",
        out_unaligned=f"{STREAM}/edit/{{edited}}/unaligned.parquet",
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
        out_probes=f"{STREAM}/edit/{{edited}}/baseline.parquet",
        out_clozes=f"{STREAM}/edit/{{edited}}/clozes.parquet",
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
        f"{STREAM}/edit/{{edited}}/ability.json",
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
            output=f"{STREAM}/edit/{{edited}}/mend.safetensors",
            out_split=f"{STREAM}/edit/{{edited}}/mend_split.json",
        log:
            f"logs/streams/{STREAM_NAME}/edit/{{edited}}/mend.txt",
        benchmark:
            f"logs/streams/{STREAM_NAME}/edit/{{edited}}/mend.tsv"


rule stream_run:
    """Edits of all intervals with one method, probed after each; a killed job resumes after the last finished one."""
    input:
        **artefacts(stream_needs),
        edits=f"{STREAM}/edit/edits.parquet",
        aligned=f"{STREAM}/edit/{{edited}}/aligned.parquet",
        unaligned=f"{STREAM}/edit/{{edited}}/unaligned.parquet",
        model=edited_model,
        values=method_file,
        ability=f"{STREAM_EDIT}/{{edited}}/ability.json" if stream_ability_measured() else [],
    output:
        out_probes=f"{STREAM}/edit/{{edited}}/{{method}}.probes.parquet",
        out_edits=f"{STREAM}/edit/{{edited}}/{{method}}.edits.parquet",
        out_intervals=f"{STREAM}/edit/{{edited}}/{{method}}.intervals.parquet",
        out_costs=f"{STREAM}/edit/{{edited}}/{{method}}.json",
    log:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/{{method}}.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/{{edited}}/{{method}}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
        strict=config["strict"],
    params:
        **given(
            "edit stream-run",
            **MODEL_PARAMS,
            method=method_given,
            set=method_values(),
            parts=subpath(output.out_costs, strip_suffix=".json"),
        ),
    shell:
        job("edit stream-run")


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
        out_scores=f"{STREAM}/stream_scores.parquet",
        out_intervals=f"{STREAM}/edit/intervals.parquet",
        out_costs=f"{STREAM}/edit/costs.json",
    log:
        f"logs/streams/{STREAM_NAME}/edit/scores.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/scores.tsv"
    resources:
        **request("edit stream-scores"),
    params:
        **given(
            "edit stream-scores",
            models=edited_names(),
            methods=PLAN.names(),
            skipped=json.dumps(PLAN.skipped),
        ),
    shell:
        job("edit stream-scores")


rule stream_report:
    """The scores by interval as people read them, and the figure over time."""
    input:
        scores=f"{STREAM}/stream_scores.parquet",
        intervals=f"{STREAM}/edit/intervals.parquet",
        costs=f"{STREAM}/edit/costs.json",
        ability=of_stream_models("ability.json") if stream_ability_measured() else [],
        recall=bundled_folders(),
    output:
        out_table=f"{STREAM}/edit/lifelong.txt",
        out_csv=f"{STREAM}/edit/lifelong.csv",
        out_figures=expand(f"{STREAM}/edit/lifelong.{{form}}", form=["svg", "png"]),
    log:
        f"logs/streams/{STREAM_NAME}/edit/report.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/edit/report.tsv"
    resources:
        **request("edit stream-report"),
    params:
        **given("edit stream-report"),
    shell:
        job("edit stream-report")
