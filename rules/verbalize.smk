"""Words for facts: sentence templates of the relations, literals as people write them.

Inputs: labelled updates, nearest and random facts, the bundled templates; for `verbalizer: chat` filtered statements of
the old dump and a chat model, for `verbalizer: file` a published file.
Answers of chat models are kept under results/fetched/chat/, outside Snakemake's knowledge, for any later build.
"""

NEIGHBOR_FACTS = [
    "results/{pair}/neighbors.parquet",
    "results/{pair}/random_neighbors.parquet",
    *POPULAR,
]

CANDIDATES = {
    "chat": "results/{pair}/verbalize/candidates.en.parquet",
    "file": "results/{pair}/verbalize/published.parquet",
}
"""Verbalizer -> the templates that it offers besides those of the project."""


rule sample_triples:
    """Sample of triples of popular subjects in the old dump, by relation."""
    input:
        filtered=buckets("results/{pair}/filtered/old/{bucket}.parquet"),
        entities=side_buckets("entities", "old"),
        properties=side("properties.parquet", "old"),
        classes=side("classes.parquet", "old"),
        popularity=side("popularity.parquet", "old"),
        translations=side_buckets("translations", "old"),
        labels=config["labels"],
        prompts=resource("prompts"),
    output:
        "results/{pair}/verbalize/sample.parquet",
    shell:
        job("verbalize sample")


rule write_requests:
    """Requests to the chat model, one or more for each sampled triple."""
    input:
        sample="results/{pair}/verbalize/sample.parquet",
        prompts=resource("prompts"),
    output:
        "results/{pair}/verbalize/requests.parquet",
    shell:
        job("verbalize requests")


rule ask_chat_model:
    """Answers of the chat model, from the store or else from its server. No other rule of this file uses the network."""
    input:
        requests="results/{pair}/{asking}/requests.parquet",
    output:
        "results/{pair}/{asking}/answers.parquet",
    wildcard_constraints:
        asking="verbalize|evaluation/(chat|judge)/[^/]+",
    localrule: True
    resources:
        chat=1,
    params:
        store="results/fetched/chat",
    shell:
        job("chat ask")


rule filter_sentences:
    """Every sentence of the answers, kept or with the reason why it was dropped; a report per relation."""
    input:
        sample="results/{pair}/verbalize/sample.parquet",
        answers="results/{pair}/verbalize/answers.parquet",
        prompts=resource("prompts"),
        words=resources("words"),
    output:
        output="results/{pair}/verbalizations.parquet",
        report="results/{pair}/verbalization_report.parquet",
        text="results/{pair}/verbalization_report.txt",
    shell:
        job("verbalize sentences")


rule count_templates:
    """Templates of the kept sentences in one language, each rejected one with its reason."""
    input:
        verbalizations="results/{pair}/verbalizations.parquet",
        sample="results/{pair}/verbalize/sample.parquet",
        prompts=resource("prompts"),
    output:
        "results/{pair}/verbalize/candidates.{language}.parquet",
    shell:
        job("verbalize count", without="published")


rule published_templates:
    """Templates read from a published file, unchanged."""
    input:
        published=[path for path in [config["templates_file"]] if path],
        prompts=resource("prompts"),
        words=resources("words"),
    output:
        "results/{pair}/verbalize/published.parquet",
    shell:
        job("verbalize count", without="verbalizations sample language")


rule templates:
    """Templates of each relation that occurs; bundled or generic ones, marked, where the verbalizer has none."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors=NEIGHBOR_FACTS,
        new=side("properties.parquet", "new"),
        old=side("properties.parquet", "old"),
        labels=config["labels"],
        templates=resource("templates/templates.tsv"),
        candidates=CANDIDATES.get(config["verbalizer"], []),
    output:
        "results/{pair}/templates.parquet",
    group:
        together("dataset")
    params:
        source="file" if config["verbalizer"] == "file" else "chat",
    shell:
        job("verbalize templates", without="no_fallback")


rule translated_templates:
    """Templates in another language than English, for which none are bundled."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors=NEIGHBOR_FACTS,
        new=side("properties.parquet", "new"),
        old=side("properties.parquet", "old"),
        candidates="results/{pair}/verbalize/candidates.{language}.parquet",
    output:
        "results/{pair}/templates.{language}.parquet",
    params:
        no_fallback=True,
    shell:
        job("verbalize templates", without="templates source labels")


rule literals:
    """Dates, quantities and texts of the facts as written in a sentence."""
    input:
        resources("words"),
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors=NEIGHBOR_FACTS,
        new=side_buckets("entities", "new"),
        old=side_buckets("entities", "old"),
        labels=config["labels"],
    output:
        "results/{pair}/literals.parquet",
    group:
        together("dataset")
    shell:
        job("verbalize literals")
