"""What editing methods need of a model before its first edit: prefixes, second moments, MEND's trained editor.

Inputs: the models; config/methods/; texts for the moments; for MEND the dataset, its templates and the edits, whose
subjects it must not see, or a published checkpoint.
Outputs: results/{pair}/edit/{model}/: prefixes.{method}.json, moments/{layer}.safetensors, mend.safetensors and
mend_split.json.
"""


wildcard_constraints:
    layer=r"\d+",


rule edit_prefixes:
    """Texts that a model writes, put before the prompts of ROME and MEMIT so that an edit holds in any context."""
    input:
        model=edited_model,
        values=method_file,
        code=code("edit", "models"),
    output:
        prefixes="results/{pair}/edit/{edited}/prefixes.{method}.json",
    log:
        "logs/{pair}/edit/{edited}/prefixes.{method}.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/prefixes.{method}.tsv"
    threads: config["edit"]["threads"]
    resources:
        mem_mb=config["edit"]["mem_mb"],
        gpu=gpus(),
    params:
        model=edited_model_options,
        computing=computing_options(),
        values=method_values,
        folder=methods_folder(),
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift edit prefixes \
            {params.model:q} \
            {params.computing:q} --threads {threads} \
            --method {wildcards.method} \
            --set {params.values:q} \
            --methods {params.folder:q} \
            --seed {params.seed} \
            --output {output.prefixes:q}
        """


rule edit_moments:
    """The second moments of what enters an edited matrix, over the texts of a corpus."""
    input:
        model=edited_model,
        texts=moments_texts(),
        code=code("models"),
    output:
        moments="results/{pair}/edit/{edited}/moments/{layer}.safetensors",
    log:
        "logs/{pair}/edit/{edited}/moments.{layer}.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/moments.{layer}.tsv"
    threads: config["edit"]["threads"]
    resources:
        mem_mb=config["edit"]["mem_mb"],
        gpu=gpus(),
    params:
        model=edited_model_options,
        computing=computing_options(),
        source=moments_options,
        folder=lambda wildcards, output: os.path.dirname(output.moments),
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift models moments \
            {params.model:q} \
            {params.computing:q} --threads {threads} \
            --layers {wildcards.layer} \
            {params.source:q} \
            --output {params.folder:q}
        """


if config["edit"]["mend_checkpoint"]:

    rule edit_mend_import:
        """MEND's editor from a published checkpoint."""
        input:
            checkpoint=config["edit"]["mend_checkpoint"],
            model=edited_model,
            values=f"{methods_folder()}/mend.yaml",
            code=code("edit", "models"),
        output:
            editor="results/{pair}/edit/{edited}/mend.safetensors",
        log:
            "logs/{pair}/edit/{edited}/mend.txt",
        benchmark:
            "logs/{pair}/edit/{edited}/mend.tsv"
        threads: config["edit"]["threads"]
        resources:
            mem_mb=config["edit"]["mem_mb"],
            gpu=gpus(),
        params:
            model=edited_model_options,
            computing=computing_options(),
            values=lambda wildcards: json.dumps(config["mend"], sort_keys=True),
            folder=lambda wildcards, input: os.path.dirname(input.values),
        shell:
            r"""
            exec &> >(tee {log:q})
            factdrift edit mend-import {input.checkpoint:q} \
                {params.model:q} \
                {params.computing:q} --threads {threads} \
                --set {params.values:q} \
                --methods {params.folder:q} \
                --output {output.editor:q}
            """

else:

    rule edit_mend:
        """MEND's editor, trained on facts of subjects that no edit is about."""
        input:
            dataset=edit_source(),
            templates="results/{pair}/templates.parquet",
            edits="results/{pair}/edit/edits.parquet",
            model=edited_model,
            values=f"{methods_folder()}/mend.yaml",
            code=code("edit", "models"),
        output:
            editor="results/{pair}/edit/{edited}/mend.safetensors",
            split="results/{pair}/edit/{edited}/mend_split.json",
        log:
            "logs/{pair}/edit/{edited}/mend.txt",
        benchmark:
            "logs/{pair}/edit/{edited}/mend.tsv"
        threads: config["edit"]["threads"]
        resources:
            mem_mb=config["edit"]["mem_mb"],
            gpu=gpus(),
        params:
            model=edited_model_options,
            computing=computing_options(),
            values=lambda wildcards: json.dumps(config["mend"], sort_keys=True),
            folder=lambda wildcards, input: os.path.dirname(input.values),
            seed=config["seed"],
        shell:
            r"""
            exec &> >(tee {log:q})
            factdrift edit mend-train \
                --dataset {input.dataset:q} \
                --templates {input.templates:q} \
                --edits {input.edits:q} \
                {params.model:q} \
                {params.computing:q} --threads {threads} \
                --set {params.values:q} \
                --methods {params.folder:q} \
                --seed {params.seed} \
                --out-split {output.split:q} \
                --output {output.editor:q}
            """
