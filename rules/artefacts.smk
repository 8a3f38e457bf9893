"""What editing methods need of a model before its first edit: prefixes, second moments, trained editors.

Inputs: the models; config/methods/; texts for the moments; for trained editors the dataset, its templates and the edits,
whose subjects they must not see, or published checkpoints.
"""


include: "inputs/artefacts.smk"


rule edit_prefixes:
    """Texts that a model writes, put before the prompts of ROME and MEMIT so that an edit holds in any context."""
    input:
        model=edited_model,
        values=lambda wildcards: PLAN.files(wildcards.method),
    output:
        "results/{pair}/edit/{edited}/prefixes.{method}.json",
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
    """The second moments of the inputs of the matrices that ROME and MEMIT edit, over the texts of a corpus."""
    input:
        **by_field(["texts", "facts"], moments_corpus),
        model=edited_model,
    output:
        directory("results/{pair}/edit/{edited}/moments"),
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **MODEL_PARAMS,
        **by_field(["sampled"], moments_corpus),
        layers=lambda wildcards: PLAN.layers(MODELS[wildcards.edited][0]),
    shell:
        job("models moments")


rule trained_editor:
    """A method's trained editor: trained on facts of subjects without edits, or a published one."""
    input:
        **by_field(["dataset", "templates", "edits", "checkpoint"], editor_sources),
        model=edited_model,
        values=lambda wildcards: PLAN.files(wildcards.method),
        words=resources("words"),
    output:
        output="results/{pair}/edit/{edited}/{method}.safetensors",
        out_split="results/{pair}/edit/{edited}/{method}_split.json",
    wildcard_constraints:
        method="|".join(trained_editors()),
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **MODEL_PARAMS,
        reads=method_code,
        method=lambda wildcards: PLAN.given(wildcards.method),
        set=method_values(),
    shell:
        job("edit train-editor")
