"""Answers of models to TempRIPPLE's questions: without context, with it, after an edit (docs/answering.md).

Inputs: tr_items.parquet and tr_facts.parquet of the pair; the models; config/methods/; what methods need (artefacts.smk).
Outputs: results/{pair}/answer/{model}/unedited.parquet, {method}.parquet, and .json of each; with `answer.chat` also
results/{pair}/answer/chat/: requests.parquet, predictions.parquet and .json (its answers come from ask_chat_model);
results/{pair}/answer/{model}/clozes.parquet; results/{pair}/answer_clozes.parquet, results/{pair}/answer/clozes.txt;
results/{pair}/answer_scores.parquet; results/{pair}/answer/: predictions.parquet, runs.json, tests.json, table2.txt,
table3.txt (and .csv), figure3.svg (and .png); results/answer_scores.parquet; by name only results/lm_eval/.
"""

import json


include: "inputs/answer.smk"


rule answer_unedited:
    """Asks a model every item without and with its context; a killed job continues where it was."""
    input:
        questions="results/{pair}/tempripple/tr_items.parquet",
        model=edited_model,
    output:
        predictions="results/{pair}/answer/{edited}/unedited.parquet",
        run="results/{pair}/answer/{edited}/unedited.json",
    log:
        "logs/{pair}/answer/{edited}/unedited.txt",
    benchmark:
        "logs/{pair}/answer/{edited}/unedited.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
    params:
        code=code("answer run"),
        limit=config["answer"]["limit"],
        seed=config["seed"],
        model=edited_model_options,
        weights=edited_weights,
        settings=lambda wildcards: ANSWER_SETTINGS,
        parts=subpath(output.predictions, strip_suffix=".parquet"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer run \
            --items {input.questions:q} \
            --limit {params.limit} --seed {params.seed} \
            {params.model:q} \
            --settings {params.settings:q} --threads {threads} \
            --parts {params.parts:q} \
            --out-run {output.run:q} \
            --output {output.predictions:q}
        """


rule answer_edited:
    """Asks a model every item, without context, with the new fact as an edit of one method."""
    input:
        questions="results/{pair}/tempripple/tr_items.parquet",
        facts="results/{pair}/tempripple/tr_facts.parquet",
        model=edited_model,
        values=method_file,
        artefacts=lambda wildcards: list(method_needs(wildcards).values()),
    output:
        predictions="results/{pair}/answer/{edited}/{method}.parquet",
        run="results/{pair}/answer/{edited}/{method}.json",
    log:
        "logs/{pair}/answer/{edited}/{method}.txt",
    benchmark:
        "logs/{pair}/answer/{edited}/{method}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
        # A resource, since a job that has succeeded need not run again for it.
        strict=STRICT,
    params:
        code=code("answer edited"),
        limit=config["answer"]["limit"],
        seed=config["seed"],
        model=edited_model_options,
        weights=edited_weights,
        settings=lambda wildcards: ANSWER_SETTINGS,
        values=lambda wildcards: method_values(wildcards.method),
        artefacts=lambda wildcards, input: [
            word for pair in zip(method_needs(wildcards), input.artefacts) for word in pair
        ],
        parts=subpath(output.predictions, strip_suffix=".parquet"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer edited \
            --items {input.questions:q} \
            --limit {params.limit} --seed {params.seed} \
            --facts {input.facts:q} \
            {params.model:q} \
            --settings {params.settings:q} --threads {threads} \
            --method {wildcards.method} \
            --set {params.values:q} \
            {params.artefacts:q} {resources.strict} \
            --parts {params.parts:q} \
            --out-run {output.run:q} \
            --output {output.predictions:q}
        """


rule answer_requests:
    """What the chat model is asked: a letter for every item, without and with its context."""
    input:
        questions="results/{pair}/tempripple/tr_items.parquet",
    output:
        requests="results/{pair}/answer/chat/requests.parquet",
    log:
        "logs/{pair}/answer/chat/requests.txt",
    benchmark:
        "logs/{pair}/answer/chat/requests.tsv"
    resources:
        **request("answer requests"),
    params:
        code=code("answer requests"),
        limit=config["answer"]["limit"],
        seed=config["seed"],
        prompt=lambda wildcards: config["answer"]["prompts"]["letter"],
        chat=lambda wildcards: chat_form(),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer requests \
            --items {input.questions:q} \
            --limit {params.limit} --seed {params.seed} \
            --prompt {params.prompt:q} \
            --settings {params.chat:q} \
            --output {output.requests:q}
        """


rule answer_read:
    """The letters in what the chat model has answered."""
    input:
        questions="results/{pair}/tempripple/tr_items.parquet",
        answers="results/{pair}/answer/chat/answers.parquet",
    output:
        predictions="results/{pair}/answer/chat/predictions.parquet",
        run="results/{pair}/answer/chat/predictions.json",
    log:
        "logs/{pair}/answer/chat/predictions.txt",
    benchmark:
        "logs/{pair}/answer/chat/predictions.tsv"
    resources:
        **request("answer read"),
    params:
        code=code("answer read"),
        limit=config["answer"]["limit"],
        seed=config["seed"],
        prompt=lambda wildcards: config["answer"]["prompts"]["letter"],
        chat=lambda wildcards: chat_form(),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer read \
            --items {input.questions:q} \
            --limit {params.limit} --seed {params.seed} \
            --answers {input.answers:q} \
            --prompt {params.prompt:q} \
            --settings {params.chat:q} \
            --out-run {output.run:q} \
            --output {output.predictions:q}
        """


rule answer_clozes:
    """Asks an unedited model the cloze tests of KLoB and of WikiFactDiff's updates."""
    input:
        klob=[f"results/{{pair}}/locate/klob_{name}.parquet" for name in "cr"],
        edits="results/{pair}/edit/edits.parquet",
        model=edited_model,
    output:
        clozes="results/{pair}/answer/{edited}/clozes.parquet",
    log:
        "logs/{pair}/answer/{edited}/clozes.txt",
    benchmark:
        "logs/{pair}/answer/{edited}/clozes.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
    params:
        code=code("answer clozes"),
        model=edited_model_options,
        weights=edited_weights,
        settings=lambda wildcards: ANSWER_SETTINGS,
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer clozes \
            --klob {input.klob:q} \
            --edits {input.edits:q} \
            {params.model:q} \
            --settings {params.settings:q} --threads {threads} \
            --output {output.clozes:q}
        """


rule answer_cloze_table:
    """The cloze tests of all models, and the shares that they complete."""
    input:
        models=some_models,
        clozes=[f"results/{{pair}}/answer/{folder}/clozes.parquet" for folder in edited_models()],
        recall=bundled_folders(),
    output:
        clozes="results/{pair}/answer_clozes.parquet",
        text="results/{pair}/answer/clozes.txt",
    log:
        "logs/{pair}/answer/cloze_table.txt",
    benchmark:
        "logs/{pair}/answer/cloze_table.tsv"
    resources:
        **request("answer cloze-table"),
    params:
        code=code("answer cloze-table"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer cloze-table {input.clozes:q} \
            --recall {input.recall:q} \
            --out-text {output.text:q} \
            --output {output.clozes:q}
        """


rule answer_scores:
    """Accuracies with intervals, the paper's tests, and all predictions."""
    input:
        questions="results/{pair}/tempripple/tr_items.parquet",
        facts="results/{pair}/tempripple/tr_facts.parquet",
        predictions=answer_files("parquet"),
        runs=answer_files("json"),
    output:
        scores="results/{pair}/answer_scores.parquet",
        predictions="results/{pair}/answer/predictions.parquet",
        runs="results/{pair}/answer/runs.json",
        tests="results/{pair}/answer/tests.json",
    log:
        "logs/{pair}/answer/scores.txt",
    benchmark:
        "logs/{pair}/answer/scores.tsv"
    resources:
        **request("answer scores"),
    params:
        code=code("answer scores"),
        cutoffs=answer_cutoffs(),
        skipped=answer_skipped(),
        strict=STRICT,
        draws=config["answer"]["draws"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer scores \
            --items {input.questions:q} \
            --facts {input.facts:q} \
            --predictions {input.predictions:q} \
            --runs {input.runs:q} \
            --skipped {params.skipped:q} {params.strict} \
            --cutoffs {params.cutoffs:q} \
            --draws {params.draws} \
            --seed {params.seed} \
            --out-predictions {output.predictions:q} \
            --out-runs {output.runs:q} \
            --out-tests {output.tests:q} \
            --output {output.scores:q}
        """


rule answer_report:
    """The tables as people read them, and the figure."""
    input:
        scores="results/{pair}/answer_scores.parquet",
        tests="results/{pair}/answer/tests.json",
        runs="results/{pair}/answer/runs.json",
        recall=bundled_folders(),
    output:
        table="results/{pair}/answer/table2.txt",
        tables=[f"results/{{pair}}/answer/{name}" for name in ("table2.csv", "table3.txt", "table3.csv")],
        figures=expand("results/{{pair}}/answer/figure3.{form}", form=["svg", "png"]),
    log:
        "logs/{pair}/answer/report.txt",
    benchmark:
        "logs/{pair}/answer/report.tsv"
    resources:
        **request("answer figure"),
    params:
        code=code("answer figure", "answer table"),
        folder=subpath(output.table, parent=True),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer figure --scores {input.scores:q} --output {output.figures:q}
        factdrift answer table \
            --scores {input.scores:q} \
            --tests {input.tests:q} \
            --runs {input.runs:q} \
            --recall {input.recall:q} \
            --output {params.folder:q}
        """


rule answer_dated:
    """Asks a model what held on a date, without and with a sentence about what holds now."""
    input:
        questions=f"{STREAM}/asof.parquet",
        model=edited_model,
    output:
        predictions=f"{STREAM}/answer/{{edited}}/unedited.parquet",
        run=f"{STREAM}/answer/{{edited}}/unedited.json",
    log:
        f"logs/streams/{STREAM_NAME}/answer/{{edited}}/unedited.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/answer/{{edited}}/unedited.tsv"
    threads: config["edit"]["threads"]
    resources:
        **growing(config["edit"]["mem_mb"], config["edit"]["runtime"]),
        gpu=gpus(),
    params:
        code=code("answer run"),
        limit=config["answer"]["limit"],
        seed=config["seed"],
        model=edited_model_options,
        weights=edited_weights,
        settings=lambda wildcards: ANSWER_SETTINGS,
        parts=subpath(output.predictions, strip_suffix=".parquet"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer run \
            --items {input.questions:q} \
            --limit {params.limit} --seed {params.seed} \
            {params.model:q} \
            --settings {params.settings:q} --threads {threads} \
            --parts {params.parts:q} \
            --out-run {output.run:q} \
            --output {output.predictions:q}
        """


rule answer_dated_scores:
    """Accuracies by precision, and how often a right date makes an answer more likely than a wrong one."""
    input:
        models=some_models,
        questions=f"{STREAM}/asof.parquet",
        predictions=[f"{STREAM}/answer/{folder}/unedited.parquet" for folder in edited_models()],
    output:
        scores=f"{STREAM}/asof_scores.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/asof_scores.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/asof_scores.tsv"
    resources:
        **request("answer dated-scores"),
    params:
        code=code("answer dated-scores"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer dated-scores \
            --items {input.questions:q} \
            --predictions {input.predictions:q} \
            --output {output.scores:q}
        """


rule answer_lm_eval:
    """Tasks for lm-evaluation-harness: the questions, and the clozes of the updates that are edited."""
    input:
        questions=list(LM_EVAL_QUESTIONS.values()),
        edits=f"{PAIR}/edit/edits.parquet",
    output:
        tasks=directory("results/lm_eval"),
    log:
        "logs/lm_eval.txt",
    benchmark:
        "logs/lm_eval.tsv"
    resources:
        **request("answer lm-eval"),
    params:
        code=code("answer lm-eval"),
        questions=lambda wildcards, input: [
            f"{name}={path}" for name, path in zip(LM_EVAL_QUESTIONS, input.questions)
        ],
        prompt=lambda wildcards: config["answer"]["prompts"]["loglik"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift answer lm-eval \
            --questions {params.questions:q} \
            --edits {input.edits:q} \
            --prompt {params.prompt:q} \
            --output {output.tasks:q}
        """
