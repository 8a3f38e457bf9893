"""What editing methods need of a model before its first edit: prefixes, second moments, MEND's trained editor.

Inputs: the models; config/methods/; texts for the moments; for MEND the dataset, its templates and the edits, whose
subjects it must not see, or a published checkpoint.
"""


include: "inputs/artefacts.smk"


rule edit_prefixes:
    """Texts that a model writes, put before the prompts of ROME and MEMIT so that an edit holds in any context."""
    input:
        model=edited_model,
        values=lambda wildcards: PLAN.files(wildcards.method),
    output:
        "results/{pair}/edit/{edited}/prefixes.{method}.json",
    log:
        "logs/{pair}/edit/{edited}/prefixes.{method}.txt",
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **MODEL_PARAMS,
        reads=method_code,
        method=lambda wildcards: PLAN.given(wildcards.method),
        set=method_values(),
    shell:
        job("edit prefixes")


rule edit_moments:
    """The second moments of what enters the matrices that ROME and MEMIT edit, over the texts of a corpus."""
    input:
        **by_field(["texts", "facts"], moments_corpus),
        model=edited_model,
    output:
        directory("results/{pair}/edit/{edited}/moments"),
    log:
        "logs/{pair}/edit/{edited}/moments.txt",
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **MODEL_PARAMS,
        **by_field(["sampled"], moments_corpus),
        layers=lambda wildcards: PLAN.layers(MODELS[wildcards.edited][0]),
    shell:
        job("models moments")


if config["edit"]["mend_checkpoint"]:

    rule edit_mend_import:
        """MEND's editor from a published checkpoint."""
        input:
            checkpoint=config["edit"]["mend_checkpoint"],
            model=edited_model,
            values=str(METHODS / "mend.yaml"),
        output:
            "results/{pair}/edit/{edited}/mend.safetensors",
        log:
            "logs/{pair}/edit/{edited}/mend.txt",
        threads: config["edit"]["threads"]
        resources:
            **of_a_model(),
        params:
            **MODEL_PARAMS,
            set=method_values("mend"),
        shell:
            job("edit mend-import")

else:

    rule edit_mend:
        """MEND's editor, trained on facts of subjects that no edit is about."""
        input:
            dataset=edit_source(),
            templates="results/{pair}/templates.parquet",
            edits="results/{pair}/edit/edits.parquet",
            model=edited_model,
            values=str(METHODS / "mend.yaml"),
            words=resources("words"),
        output:
            output="results/{pair}/edit/{edited}/mend.safetensors",
            out_split="results/{pair}/edit/{edited}/mend_split.json",
        log:
            "logs/{pair}/edit/{edited}/mend.txt",
        threads: config["edit"]["threads"]
        resources:
            **of_a_model(),
        params:
            **MODEL_PARAMS,
            set=method_values("mend"),
        shell:
            job("edit mend-train")
