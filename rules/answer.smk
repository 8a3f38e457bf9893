"""Answers of models to TempRIPPLE's questions: without context, with it, after an edit (docs/answering.md).

Inputs: tr_items.parquet and tr_facts.parquet of the pair; the models; config/methods/; what methods need (artefacts.smk).
Outputs: results/{pair}/answer/{model}/unedited.parquet, {method}.parquet, and .json of each; with `answer.chat` also
results/{pair}/answer/chat/: requests.parquet, predictions.parquet and .json (its answers come from ask_chat_model);
results/{pair}/answer/{model}/clozes.parquet; results/{pair}/answer_clozes.parquet, results/{pair}/answer/clozes.txt;
results/{pair}/answer_scores.parquet; results/{pair}/answer/: predictions.parquet, runs.json, tests.json, table2.txt,
table3.txt (and .csv), figure3.svg (and .png); results/answer_scores.parquet; by name only results/lm_eval/.
"""


include: "inputs/answer.smk"


rule answer_unedited:
    """Asks a model every item without and with its context; a killed job continues where it was."""
    input:
        items_="results/{pair}/tempripple/tr_items.parquet",
        model=edited_model,
    output:
        output="results/{pair}/answer/{edited}/unedited.parquet",
        out_run="results/{pair}/answer/{edited}/unedited.json",
    log:
        "logs/{pair}/answer/{edited}/unedited.txt",
    benchmark:
        "logs/{pair}/answer/{edited}/unedited.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **given("answer run", **MODEL_PARAMS, parts=subpath(output[0], strip_suffix=".parquet")),
    shell:
        job("answer run")


rule answer_edited:
    """Asks a model every item, without context, with the new fact as an edit of one method."""
    input:
        **artefacts(method_needs),
        items_="results/{pair}/tempripple/tr_items.parquet",
        facts="results/{pair}/tempripple/tr_facts.parquet",
        model=edited_model,
        values=method_file,
    output:
        output="results/{pair}/answer/{edited}/{method}.parquet",
        out_run="results/{pair}/answer/{edited}/{method}.json",
    log:
        "logs/{pair}/answer/{edited}/{method}.txt",
    benchmark:
        "logs/{pair}/answer/{edited}/{method}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
        strict=config["strict"],
    params:
        **given(
            "answer edited",
            **MODEL_PARAMS,
            method="{method}",
            set=method_values(),
            parts=subpath(output[0], strip_suffix=".parquet"),
        ),
    shell:
        job("answer edited")


rule answer_requests:
    """What the chat model is asked: a letter for every item, without and with its context."""
    input:
        items_="results/{pair}/tempripple/tr_items.parquet",
    output:
        "results/{pair}/answer/chat/requests.parquet",
    log:
        "logs/{pair}/answer/chat/requests.txt",
    benchmark:
        "logs/{pair}/answer/chat/requests.tsv"
    resources:
        **request("answer requests"),
    params:
        **given("answer requests"),
    shell:
        job("answer requests")


rule answer_read:
    """The letters in what the chat model has answered."""
    input:
        items_="results/{pair}/tempripple/tr_items.parquet",
        answers="results/{pair}/answer/chat/answers.parquet",
    output:
        output="results/{pair}/answer/chat/predictions.parquet",
        out_run="results/{pair}/answer/chat/predictions.json",
    log:
        "logs/{pair}/answer/chat/predictions.txt",
    benchmark:
        "logs/{pair}/answer/chat/predictions.tsv"
    resources:
        **request("answer read"),
    params:
        **given("answer read"),
    shell:
        job("answer read")


rule answer_clozes:
    """Asks an unedited model the cloze tests of KLoB and of WikiFactDiff's updates."""
    input:
        klob=[f"results/{{pair}}/locate/klob_{name}.parquet" for name in "cr"],
        edits="results/{pair}/edit/edits.parquet",
        model=edited_model,
    output:
        "results/{pair}/answer/{edited}/clozes.parquet",
    log:
        "logs/{pair}/answer/{edited}/clozes.txt",
    benchmark:
        "logs/{pair}/answer/{edited}/clozes.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **given("answer clozes", **MODEL_PARAMS),
    shell:
        job("answer clozes")


rule answer_cloze_table:
    """The cloze tests of all models, and the shares that they complete."""
    input:
        models=some_models,
        tables=[f"results/{{pair}}/answer/{folder}/clozes.parquet" for folder in edited_models()],
        recall=bundled_folders(),
    output:
        output="results/{pair}/answer_clozes.parquet",
        out_text="results/{pair}/answer/clozes.txt",
    log:
        "logs/{pair}/answer/cloze_table.txt",
    benchmark:
        "logs/{pair}/answer/cloze_table.tsv"
    resources:
        **request("answer cloze-table"),
    params:
        **given("answer cloze-table"),
    shell:
        job("answer cloze-table")


rule answer_scores:
    """Accuracies with intervals, the paper's tests, and all predictions."""
    input:
        items_="results/{pair}/tempripple/tr_items.parquet",
        facts="results/{pair}/tempripple/tr_facts.parquet",
        predictions=answer_files("parquet"),
        runs=answer_files("json"),
    output:
        output="results/{pair}/answer_scores.parquet",
        out_predictions="results/{pair}/answer/predictions.parquet",
        out_runs="results/{pair}/answer/runs.json",
        out_tests="results/{pair}/answer/tests.json",
    log:
        "logs/{pair}/answer/scores.txt",
    benchmark:
        "logs/{pair}/answer/scores.tsv"
    resources:
        **request("answer scores"),
    params:
        **given("answer scores", cutoffs=answer_cutoffs(), skipped=answer_skipped()),
    shell:
        job("answer scores")


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
        output=expand("results/{{pair}}/answer/figure3.{form}", form=["svg", "png"]),
    log:
        "logs/{pair}/answer/report.txt",
    benchmark:
        "logs/{pair}/answer/report.tsv"
    resources:
        **request("answer figure"),
    params:
        **given("answer figure", "answer table", output=subpath(output.table, parent=True)),
    shell:
        job("answer figure", "answer table")


# What held on a date, without and with a sentence about what holds now.
use rule answer_unedited as answer_dated with:
    input:
        items_=f"{STREAM}/asof.parquet",
        model=edited_model,
    output:
        output=f"{STREAM}/answer/{{edited}}/unedited.parquet",
        out_run=f"{STREAM}/answer/{{edited}}/unedited.json",
    log:
        f"logs/streams/{STREAM_NAME}/answer/{{edited}}/unedited.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/answer/{{edited}}/unedited.tsv"


rule answer_dated_scores:
    """Accuracies by precision, and how often a right date makes an answer more likely than a wrong one."""
    input:
        models=some_models,
        items_=f"{STREAM}/asof.parquet",
        predictions=[f"{STREAM}/answer/{folder}/unedited.parquet" for folder in edited_models()],
    output:
        f"{STREAM}/asof_scores.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/asof_scores.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/asof_scores.tsv"
    resources:
        **request("answer dated-scores"),
    params:
        **given("answer dated-scores"),
    shell:
        job("answer dated-scores")


rule answer_lm_eval:
    """Tasks for lm-evaluation-harness: the questions, and the clozes of the updates that are edited."""
    input:
        questions=list(LM_EVAL_QUESTIONS.values()),
        edits=f"{PAIR}/edit/edits.parquet",
    output:
        directory("results/lm_eval"),
    log:
        "logs/lm_eval.txt",
    benchmark:
        "logs/lm_eval.tsv"
    resources:
        **request("answer lm-eval"),
    params:
        **given(
            "answer lm-eval",
            questions=lambda wildcards, input: [
                f"{name}={path}" for name, path in zip(LM_EVAL_QUESTIONS, input.questions)
            ],
        ),
    shell:
        job("answer lm-eval")
