"""Editing methods on language models: how well an update is made, and what else it changes (docs/editing.md).

Inputs: a dataset of updates (wfd_repl.parquet, wikifactdiff.parquet or the user's); the models; answers to `updates`.
"""

EDIT_LIMIT = limit_of(config["edit"]["limit"], 128)


rule edit_dataset:
    """The updates as edits, each with its probes."""
    input:
        dataset=edit_source(),
        entities=edit_entities,
        answers=recall_answers(),
    output:
        "results/{pair}/edit/edits.parquet",
    params:
        limit=EDIT_LIMIT,
        new_date=DATES["new_date"],
    shell:
        job("edit dataset", without="recall")


rule edit_recall:
    """The same updates with their own clozes only, to ask a model for the old objects (`edit.known`)."""
    input:
        dataset=edit_source(),
        entities=edit_entities,
    output:
        "results/{pair}/edit/recall.parquet",
    params:
        limit=EDIT_LIMIT,
        new_date=DATES["new_date"],
        recall=True,
    shell:
        job("edit dataset", without="answers known")


rule edit_ability:
    """A held-out text and tasks, and a model's results on them without any edit."""
    input:
        edits="results/{pair}/edit/edits.parquet",
        model=edited_model,
        files=ability_files(),
    output:
        "results/{pair}/edit/{edited}/ability.json",
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **MODEL_PARAMS,
    shell:
        job("edit ability")


rule edit_scores:
    """All models and methods: a row an edit with its metrics, a row a probe, costs, tables and figures."""
    input:
        **scored("updates", all_methods),
        models_=some_models,
        edits="results/{pair}/edit/edits.parquet",
        costs=answered("updates", editing, "json"),
        ability=abilities(),
        recall=bundled_folders(),
    output:
        out_scores="results/{pair}/edit_scores.parquet",
        out_probes="results/{pair}/edit/probes.parquet",
        out_written="results/{pair}/edit/written.parquet",
        out_costs="results/{pair}/edit/costs.json",
        tables=expand("results/{{pair}}/edit/{name}.{form}", name=["table6", "table7"], form=["txt", "csv"]),
        out_bleedover=expand("results/{{pair}}/edit/bleedover.{form}", form=["svg", "pdf"]),
        out_figures=expand("results/{{pair}}/edit/written.{form}", form=["svg", "pdf"]),
    params:
        models=MODEL_NAMES,
        methods=PLAN.names(),
        skipped=SKIPPED,
        output=subpath(output.out_costs, parent=True),
    shell:
        job("edit scores", without="probes seed out_intervals")
