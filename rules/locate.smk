"""Locating methods on language models: which units give an answer, judged on KLoB (docs/locating.md).

Inputs: KLoB's subtasks; the models; config/locators/; the user's functions and folders of scores; of edit.smk the edits,
their probes as tokens, the model without edits, and prefixes.
Outputs: results/{pair}/locate/: klob_c.parquet, klob_r.parquet, klob_u.parquet, klob.sentences.parquet;
results/{pair}/locate/{model}/{locator}/: klob.{shard}.parquet and .json, scores/ (a folder of scores), and
edits.{shard}.parquet and .json; results/{pair}/locate/{model}/: moments/, edit/{method}.{shard}.{probes,edits}.parquet;
results/{pair}/locate/: table_{c,r,u}.txt, figure_{c,r,u}.svg (and .png);
results/{pair}/locate/: edits.parquet, edits.sentences.parquet, vs_edit.txt, vs_edit.svg (and .png);
results/{pair}/locate_scores.parquet, results/{pair}/locate_vs_edit.parquet, and both in results/.
"""

import json
import re


include: "inputs/locate.smk"


wildcard_constraints:
    locator="|".join(map(re.escape, locators_run())) or "none",
    facts="klob|edits",


rule locate_sentences:
    """The examples of KLoB that locators are run on, and their sentences."""
    input:
        examples=[f"results/{{pair}}/klob_{name}.parquet" for name in "cru"],
    output:
        examples=[f"results/{{pair}}/locate/klob_{name}.parquet" for name in "cru"],
        sentences="results/{pair}/locate/klob.sentences.parquet",
    log:
        "logs/{pair}/locate/sentences.txt",
    benchmark:
        "logs/{pair}/locate/sentences.tsv"
    resources:
        **request("locate sentences"),
    params:
        code=code("locate sentences"),
        source=lambda wildcards, input: str(Path(input.examples[0]).parent),
        folder=subpath(output.sentences, parent=True),
        limit=locate_limit("limit"),
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift locate sentences \
            --examples {params.source:q} \
            --limit {params.limit} \
            --seed {params.seed} \
            --out-examples {params.folder:q} \
            --out-sentences {output.sentences:q}
        """


rule locate_run:
    """Runs one locator on a model and a shard of the sentences; a killed job continues where it was."""
    input:
        sentences="results/{pair}/locate/{facts}.sentences.parquet",
        model=edited_model,
        values=locator_code,
    output:
        table="results/{pair}/locate/{edited}/{locator}/{facts}.{shard}.parquet",
        about="results/{pair}/locate/{edited}/{locator}/{facts}.{shard}.json",
    log:
        "logs/{pair}/locate/{edited}/{locator}.{facts}.{shard}.txt",
    benchmark:
        "logs/{pair}/locate/{edited}/{locator}.{facts}.{shard}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=min(gpus(), 1),
    params:
        code=code("locate run"),
        model=edited_model_options,
        weights=edited_weights,
        settings=locate_settings(),
        locator=lambda wildcards: LOCATE_PLAN.named(wildcards.locator).given,
        values=locator_values,
        parts=subpath(output.about, strip_suffix=".json"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift locate run \
            --sentences {input.sentences:q} \
            {params.model:q} \
            {params.settings:q} --threads {threads} \
            --locator {params.locator:q} \
            --set {params.values:q} \
            --shard {wildcards.shard} \
            --parts {params.parts:q} \
            --output {output.table:q} \
            --out-about {output.about:q}
        """


rule locate_gather:
    """The shards of one locator and model as a folder that `factdrift klob score` takes."""
    input:
        sentences="results/{pair}/locate/klob.sentences.parquet",
        shards=of_shards("parquet"),
        about=of_shards("json"),
    output:
        scores="results/{pair}/locate/{edited}/{locator}/scores/scores.json",
        arrays=[
            f"results/{{pair}}/locate/{{edited}}/{{locator}}/scores/{name}"
            for name in ("sentences.txt", "units.npy", "mean.npy", "sd.npy", "known.parquet")
        ],
    log:
        "logs/{pair}/locate/{edited}/{locator}.gather.txt",
    benchmark:
        "logs/{pair}/locate/{edited}/{locator}.gather.tsv"
    resources:
        **request("locate gather"),
    params:
        code=code("locate gather"),
        folder=subpath(output.scores, parent=True),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift locate gather \
            --sentences {input.sentences:q} \
            --shards {input.shards:q} \
            --about {input.about:q} \
            --output {params.folder:q}
        """


rule locate_scores:
    """All locators on all models: RSim and RSD with controls and intervals, a table and a figure for each subtask."""
    input:
        models=some_models,
        examples=[f"results/{{pair}}/locate/klob_{name}.parquet" for name in "cru"],
        scores=of_locators("scores/scores.json"),
        arrays=of_locators("scores/units.npy"),
        others=[f"{folder}/scores.json" for folder in LOCATE_PLAN.folders()],
        recall=bundled_folders(),
    output:
        scores="results/{pair}/locate_scores.parquet",
        table="results/{pair}/locate/table_c.txt",
        tables=[f"results/{{pair}}/locate/table_{name}.txt" for name in "ru"],
        figures=[f"results/{{pair}}/locate/figure_{name}.{form}" for name in "cru" for form in ("svg", "png")],
    log:
        "logs/{pair}/locate/scores.txt",
    benchmark:
        "logs/{pair}/locate/scores.tsv"
    resources:
        **request("locate scores"),
    params:
        code=code("locate scores"),
        examples=lambda wildcards, input: str(Path(input.examples[0]).parent),
        reports=subpath(output.table, parent=True),
        folders=lambda wildcards, input: [str(Path(path).parent) for path in (*input.scores, *input.others)],
        k=config["locate"]["k"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift locate scores \
            --examples {params.examples:q} \
            --folders {params.folders:q} \
            --recall {input.recall:q} \
            --k {params.k} \
            --seed {params.seed} \
            --out-scores {output.scores:q} \
            --out-reports {params.reports:q}
        """


rule locate_edit_facts:
    """The edits whose facts are located and which are made at every block."""
    input:
        edits="results/{pair}/edit/edits.parquet",
    output:
        edits="results/{pair}/locate/edits.parquet",
        sentences="results/{pair}/locate/edits.sentences.parquet",
    log:
        "logs/{pair}/locate/edit_facts.txt",
    benchmark:
        "logs/{pair}/locate/edit_facts.tsv"
    resources:
        **request("locate edit-facts"),
    params:
        code=code("locate edit-facts"),
        limit=locate_limit("edits"),
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift locate edit-facts \
            --edits {input.edits:q} \
            --limit {params.limit} \
            --seed {params.seed} \
            --out-edits {output.edits:q} \
            --out-sentences {output.sentences:q}
        """


rule locate_moments:
    """The second moments of all blocks, for ROME and MEMIT at each of them."""
    input:
        model=edited_model,
        texts=moments_texts,
    output:
        moments=directory("results/{pair}/locate/{edited}/moments"),
    log:
        "logs/{pair}/locate/{edited}/moments.txt",
    benchmark:
        "logs/{pair}/locate/{edited}/moments.tsv"
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
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift models moments \
            {params.model:q} \
            {params.settings:q} --threads {threads} \
            {params.source:q} \
            --output {output.moments:q}
        """


rule locate_edit_layers:
    """Makes and probes the edits of one method at every block; a killed job continues where it was."""
    input:
        edits="results/{pair}/locate/edits.parquet",
        aligned="results/{pair}/edit/{edited}/aligned.parquet",
        unaligned="results/{pair}/edit/{edited}/unaligned.parquet",
        model=edited_model,
        values=method_file,
        artefacts=lambda wildcards: list(layer_needs(wildcards).values()),
    output:
        probes="results/{pair}/locate/{edited}/edit/{method}.{shard}.probes.parquet",
        edits="results/{pair}/locate/{edited}/edit/{method}.{shard}.edits.parquet",
    log:
        "logs/{pair}/locate/{edited}/edit/{method}.{shard}.txt",
    benchmark:
        "logs/{pair}/locate/{edited}/edit/{method}.{shard}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
        # A resource, since a job that has succeeded need not run again for it.
        strict=STRICT,
    params:
        code=code("locate edit-layers"),
        model=edited_model_options,
        weights=edited_weights,
        template=config["edit"]["template"],
        settings=edit_settings("batch", "budget", "length", "regime", "group"),
        values=lambda wildcards: method_values(wildcards.method),
        artefacts=lambda wildcards, input: [
            word for pair in zip(layer_needs(wildcards), input.artefacts) for word in pair
        ],
        parts=subpath(output.probes, strip_suffix=".probes.parquet"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift locate edit-layers \
            --edits {input.edits:q} \
            --aligned {input.aligned:q} \
            --unaligned {input.unaligned:q} \
            {params.model:q} \
            --template {params.template} \
            {params.settings:q} --threads {threads} \
            --method {wildcards.method} \
            --set {params.values:q} \
            {params.artefacts:q} {resources.strict} \
            --shard {wildcards.shard} \
            --parts {params.parts:q} \
            --out-probes {output.probes:q} \
            --out-edits {output.edits:q}
        """


rule locate_vs_edit:
    """Whether blocks with high scores are blocks at which edits succeed: rank correlations, a table and a figure."""
    input:
        models=some_models,
        edits="results/{pair}/locate/edits.parquet",
        unaligned=of_models("unaligned.parquet"),
        base_probes=of_models("baseline.parquet"),
        base_clozes=of_models("clozes.parquet"),
        runs=of_layer_runs(),
        located=of_edit_facts(),
    output:
        table="results/{pair}/locate_vs_edit.parquet",
        text="results/{pair}/locate/vs_edit.txt",
        figures=[f"results/{{pair}}/locate/vs_edit.{form}" for form in ("svg", "png")],
    log:
        "logs/{pair}/locate/vs_edit.txt",
    benchmark:
        "logs/{pair}/locate/vs_edit.tsv"
    resources:
        **request("locate against-edits"),
    params:
        code=code("locate against-edits"),
        models=edited_names(),
        folders=[f"results/{{pair}}/locate/{folder}" for folder in edited_models()],
        bases=lambda wildcards, input: [str(Path(path).parent) for path in input.unaligned],
        locators=locators_run(),
        methods=config["locate"]["edit_methods"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift locate against-edits \
            --edits {input.edits:q} \
            --models {params.models:q} \
            --folders {params.folders:q} \
            --bases {params.bases:q} \
            --locators {params.locators:q} \
            --methods {params.methods:q} \
            --seed {params.seed} \
            --out-table {output.table:q} \
            --out-text {output.text:q} \
            --out-figures {output.figures:q}
        """
