"""Editing a stream: the updates of a sequence of dates interval by interval (docs/lifelong.md).

Inputs: results/streams/{name}/stream.parquet; the models; answers to `stream`.
"""


rule stream_edits:
    """The updates of a stream as edits in their order, each with its probes."""
    input:
        dataset=f"{STREAM}/stream.parquet",
        entities=stream_entities(),
    output:
        f"{STREAM}/edit/edits.parquet",
    params:
        limit=EDIT_LIMIT,
    shell:
        job("edit dataset", without="new_date fluency_sample known answers recall")


use rule edit_ability as stream_ability with:
    input:
        edits=f"{STREAM}/edit/edits.parquet",
        model=edited_model,
        files=ability_files(),
    output:
        f"{STREAM}/edit/{{edited}}/ability.json",


use rule trained_editor as stream_trained_editor with:
    output:
        output=f"{STREAM}/edit/{{edited}}/{{method}}.safetensors",
        out_split=f"{STREAM}/edit/{{edited}}/{{method}}_split.json",


rule stream_scores:
    """All models and methods by interval: a row for each update and kind of probe, tables, and the figure over time."""
    input:
        **scored("stream", all_methods, STREAM),
        models_=some_models,
        edits=f"{STREAM}/edit/edits.parquet",
        costs=answered("stream", editing, "json", STREAM),
        ability=abilities(STREAM, stream=True),
        recall=bundled_folders(),
    output:
        out_scores=f"{STREAM}/stream_scores.parquet",
        out_intervals=f"{STREAM}/edit/intervals.parquet",
        out_written=f"{STREAM}/edit/written.parquet",
        out_costs=f"{STREAM}/edit/costs.json",
        tables=[f"{STREAM}/edit/lifelong.txt", f"{STREAM}/edit/lifelong.csv"],
        out_figures=expand(f"{STREAM}/edit/lifelong.{{form}}", form=["svg", "pdf"]),
    params:
        models=MODEL_NAMES,
        methods=PLAN.names(),
        skipped=SKIPPED,
        output=subpath(output.out_costs, parent=True),
    shell:
        job("edit scores", without="out_probes out_bleedover")
