"""What editing methods need of a model before its first edit: prefixes, second moments, MEND's trained editor.

Inputs: the models; config/methods/; texts for the moments; for MEND the dataset, its templates and the edits, whose
subjects it must not see, or a published checkpoint.
Outputs: results/{pair}/edit/{model}/: prefixes.{method}.json, moments/{layer}.safetensors, mend.safetensors and
mend_split.json.
"""

import json


include: "inputs/artefacts.smk"


rule edit_prefixes:
    """Texts that a model writes, put before the prompts of ROME and MEMIT so that an edit holds in any context."""
    input:
        model=edited_model,
        values=method_file,
    output:
        prefixes="results/{pair}/edit/{edited}/prefixes.{method}.json",
    log:
        "logs/{pair}/edit/{edited}/prefixes.{method}.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/prefixes.{method}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
    params:
        code=code("edit prefixes"),
        model=edited_model_options,
        weights=edited_weights,
        settings=edit_settings(),
        method=method_given,
        values=lambda wildcards: method_values(wildcards.method),
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift edit prefixes \
            {params.model:q} \
            {params.settings:q} --threads {threads} \
            --method={params.method:q} \
            --set {params.values:q} \
            --seed {params.seed} \
            --output {output.prefixes:q}
        """


rule edit_moments:
    """The second moments of what enters the matrices that ROME and MEMIT edit, over the texts of a corpus."""
    input:
        model=edited_model,
        texts=moments_texts,
    output:
        moments=directory("results/{pair}/edit/{edited}/moments"),
    log:
        "logs/{pair}/edit/{edited}/moments.txt",
    benchmark:
        "logs/{pair}/edit/{edited}/moments.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
    params:
        code=code("models moments"),
        model=edited_model_options,
        weights=edited_weights,
        settings=edit_settings(),
        source=moments_options,
        layers=moments_layers,
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift models moments \
            {params.model:q} \
            {params.settings:q} --threads {threads} \
            --layers {params.layers} \
            {params.source:q} \
            --output {output.moments:q}
        """


if config["edit"]["mend_checkpoint"]:

    rule edit_mend_import:
        """MEND's editor from a published checkpoint."""
        input:
            checkpoint=config["edit"]["mend_checkpoint"],
            model=edited_model,
            values=str(METHODS / "mend.yaml"),
        output:
            editor="results/{pair}/edit/{edited}/mend.safetensors",
        log:
            "logs/{pair}/edit/{edited}/mend.txt",
        benchmark:
            "logs/{pair}/edit/{edited}/mend.tsv"
        threads: config["edit"]["threads"]
        resources:
            **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
            gpu=gpus(),
        params:
            code=code("edit mend-import"),
            model=edited_model_options,
            weights=edited_weights,
            settings=edit_settings(),
            values=method_values("mend"),
        shell:
            r"""
            exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
            factdrift edit mend-import {input.checkpoint:q} \
                {params.model:q} \
                {params.settings:q} --threads {threads} \
                --set {params.values:q} \
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
            values=str(METHODS / "mend.yaml"),
            words=word_tables(),
        output:
            editor="results/{pair}/edit/{edited}/mend.safetensors",
            split="results/{pair}/edit/{edited}/mend_split.json",
        log:
            "logs/{pair}/edit/{edited}/mend.txt",
        benchmark:
            "logs/{pair}/edit/{edited}/mend.tsv"
        threads: config["edit"]["threads"]
        resources:
            **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
            gpu=gpus(),
        params:
            code=code("edit mend-train"),
            model=edited_model_options,
            weights=edited_weights,
            template=config["edit"]["template"],
            settings=edit_settings(),
            values=method_values("mend"),
            seed=config["seed"],
        shell:
            r"""
            exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
            factdrift edit mend-train \
                --dataset {input.dataset:q} \
                --templates {input.templates:q} \
                --edits {input.edits:q} \
                {params.model:q} \
                --template {params.template} \
                {params.settings:q} --threads {threads} \
                --set {params.values:q} \
                --seed {params.seed} \
                --out-split {output.split:q} \
                --output {output.editor:q}
            """
