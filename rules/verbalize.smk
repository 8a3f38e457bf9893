"""Words for facts: sentence templates of the relations, literals as people write them.

Inputs: labelled updates, nearest and random facts, the bundled templates; for `verbalizer: chat` filtered statements of
the old dump and a chat model, for `verbalizer: file` a published file.
Outputs: results/{pair}/: templates.parquet, literals.parquet; for `chat` verbalize/ (sample, requests, answers, candidates),
verbalizations.parquet, verbalization_report.parquet and .txt. Answers of chat models are kept under results/fetched/chat/, outside
Snakemake's knowledge, for any later build.
"""

import json

from factdrift.core.stage_settings import settings_of
from factdrift.verbalize.settings import PART as VERBALIZATION, Quality, SampleSettings


include: "inputs/verbalize.smk"


localrules:
    ask_chat_model,


rule sample_triples:
    """Sample of triples of popular subjects in the old dump, by relation."""
    input:
        filtered=buckets("results/{pair}/filtered/old/{bucket}.parquet"),
        entities=entities("old"),
        properties=side("properties.parquet", "old"),
        classes=side("classes.parquet", "old"),
        popularity=side("popularity.parquet", "old"),
        translations=lambda wildcards: buckets(side("translations/{{bucket}}.parquet", "old")(wildcards)),
        labels=config["labels"],
        prompts=resource("prompts"),
    output:
        sample="results/{pair}/verbalize/sample.parquet",
    log:
        "logs/{pair}/verbalize/sample.txt",
    benchmark:
        "logs/{pair}/verbalize/sample.tsv"
    resources:
        **request("verbalize sample"),
    params:
        code=code("verbalize sample"),
        settings=settings_of(config, SampleSettings, VERBALIZATION),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift verbalize sample \
            --filtered {input.filtered:q} \
            --entities {input.entities:q} \
            --properties {input.properties:q} \
            --classes {input.classes:q} \
            --popularity {input.popularity:q} \
            --translations {input.translations:q} \
            --labels {input.labels:q} \
            --prompts {input.prompts:q} \
            --settings {params.settings:q} \
            --output {output.sample:q}
        """


rule write_requests:
    """Requests to the chat model, one or more for each sampled triple."""
    input:
        sample="results/{pair}/verbalize/sample.parquet",
        prompts=resource("prompts"),
    output:
        requests="results/{pair}/verbalize/requests.parquet",
    log:
        "logs/{pair}/verbalize/requests.txt",
    benchmark:
        "logs/{pair}/verbalize/requests.tsv"
    resources:
        **request("verbalize requests"),
    params:
        code=code("verbalize requests"),
        sentences=config["verbalization"]["sentences"],
        chat=chat_form(),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift verbalize requests \
            --sample {input.sample:q} \
            --prompts {input.prompts:q} \
            --number {params.sentences} \
            --settings {params.chat:q} \
            --output {output.requests:q}
        """


rule ask_chat_model:
    """Answers of the chat model, from the store or else from its server. No other rule of this file uses the network."""
    input:
        requests="results/{pair}/{asking}/requests.parquet",
    output:
        answers="results/{pair}/{asking}/answers.parquet",
    log:
        "logs/{pair}/{asking}/answers.txt",
    benchmark:
        "logs/{pair}/{asking}/answers.tsv"
    wildcard_constraints:
        asking="verbalize|answer/chat",
    resources:
        **request("chat ask"),
        chat=1,
    params:
        code=code("chat ask"),
        store="results/fetched/chat",
        chat=json.dumps(config["chat"], sort_keys=True),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift chat ask \
            --requests {input.requests:q} \
            --store {params.store:q} \
            --settings {params.chat:q} \
            --output {output.answers:q}
        """


rule filter_sentences:
    """Every sentence of the answers, kept or with the reason why it was dropped; a report per relation."""
    input:
        sample="results/{pair}/verbalize/sample.parquet",
        answers="results/{pair}/verbalize/answers.parquet",
        prompts=resource("prompts"),
        words=word_tables(),
    output:
        sentences="results/{pair}/verbalizations.parquet",
        report="results/{pair}/verbalization_report.parquet",
        text="results/{pair}/verbalization_report.txt",
    log:
        "logs/{pair}/verbalize/sentences.txt",
    benchmark:
        "logs/{pair}/verbalize/sentences.tsv"
    resources:
        **request("verbalize sentences"),
    params:
        code=code("verbalize sentences"),
        sentences=config["verbalization"]["sentences"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift verbalize sentences \
            --sample {input.sample:q} \
            --answers {input.answers:q} \
            --prompts {input.prompts:q} \
            --number {params.sentences} \
            --report {output.report:q} \
            --text {output.text:q} \
            --output {output.sentences:q}
        """


rule count_templates:
    """Templates of the kept sentences in one language, each rejected one with its reason."""
    input:
        sentences="results/{pair}/verbalizations.parquet",
        sample="results/{pair}/verbalize/sample.parquet",
        prompts=resource("prompts"),
    output:
        candidates="results/{pair}/verbalize/candidates.{language}.parquet",
    log:
        "logs/{pair}/verbalize/candidates.{language}.txt",
    benchmark:
        "logs/{pair}/verbalize/candidates.{language}.tsv"
    resources:
        **request("verbalize count"),
    params:
        code=code("verbalize count"),
        settings=settings_of(config, Quality, VERBALIZATION),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift verbalize count \
            --verbalizations {input.sentences:q} \
            --sample {input.sample:q} \
            --prompts {input.prompts:q} \
            --language {wildcards.language} \
            --settings {params.settings:q} \
            --output {output.candidates:q}
        """


rule published_templates:
    """Templates read from a published file, unchanged."""
    input:
        file=[path for path in [config["templates_file"]] if path],
        prompts=resource("prompts"),
        words=word_tables(),
    output:
        candidates="results/{pair}/verbalize/published.parquet",
    log:
        "logs/{pair}/verbalize/published.txt",
    benchmark:
        "logs/{pair}/verbalize/published.tsv"
    resources:
        **request("verbalize published"),
    params:
        code=code("verbalize published"),
        settings=settings_of(config, Quality, VERBALIZATION),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift verbalize published {input.file:q} \
            --prompts {input.prompts:q} \
            --settings {params.settings:q} \
            --output {output.candidates:q}
        """


rule templates:
    """Templates of each relation that occurs; bundled or generic ones, marked, where the verbalizer has none."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors="results/{pair}/neighbors.parquet",
        random="results/{pair}/random_neighbors.parquet",
        new=side("properties.parquet", "new"),
        old=side("properties.parquet", "old"),
        labels=config["labels"],
        bundled=resource("templates/templates.tsv"),
        candidates=candidates(),
    output:
        templates="results/{pair}/templates.parquet",
    log:
        "logs/{pair}/templates.txt",
    benchmark:
        "logs/{pair}/templates.tsv"
    group:
        together("dataset")
    resources:
        **request("verbalize templates"),
    params:
        code=code("verbalize templates"),
        source="file" if config["verbalizer"] == "file" else "chat",
        kept=config["verbalization"]["templates"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift verbalize templates \
            --updates {input.updates:q} \
            --neighbors {input.neighbors:q} {input.random:q} \
            --new {input.new:q} \
            --old {input.old:q} \
            --labels {input.labels:q} \
            --templates {input.bundled:q} \
            --candidates {input.candidates:q} \
            --source {params.source} \
            --kept {params.kept} \
            --output {output.templates:q}
        """


rule translated_templates:
    """Templates in another language than English, for which none are bundled."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors="results/{pair}/neighbors.parquet",
        random="results/{pair}/random_neighbors.parquet",
        new=side("properties.parquet", "new"),
        old=side("properties.parquet", "old"),
        candidates="results/{pair}/verbalize/candidates.{language}.parquet",
    output:
        templates="results/{pair}/templates.{language}.parquet",
    log:
        "logs/{pair}/templates.{language}.txt",
    benchmark:
        "logs/{pair}/templates.{language}.tsv"
    resources:
        **request("verbalize templates"),
    params:
        code=code("verbalize templates"),
        kept=config["verbalization"]["templates"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift verbalize templates \
            --updates {input.updates:q} \
            --neighbors {input.neighbors:q} {input.random:q} \
            --new {input.new:q} \
            --old {input.old:q} \
            --no-fallback \
            --candidates {input.candidates:q} \
            --kept {params.kept} \
            --output {output.templates:q}
        """


rule literals:
    """Dates, quantities and texts of the facts as written in a sentence."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors="results/{pair}/neighbors.parquet",
        random="results/{pair}/random_neighbors.parquet",
        new=entities("new"),
        old=entities("old"),
        labels=config["labels"],
    output:
        literals="results/{pair}/literals.parquet",
    log:
        "logs/{pair}/literals.txt",
    benchmark:
        "logs/{pair}/literals.tsv"
    group:
        together("dataset")
    resources:
        **request("verbalize literals"),
    params:
        code=code("verbalize literals"),
        variant=config["variant"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift verbalize literals \
            --updates {input.updates:q} \
            --neighbors {input.neighbors:q} {input.random:q} \
            --new {input.new:q} \
            --old {input.old:q} \
            --labels {input.labels:q} \
            --variant {params.variant} \
            --output {output.literals:q}
        """
