"""Answers of models to questions: without context, with it, after an edit (docs/answering.md).

Inputs: tr_items.parquet and tr_facts.parquet of the pair; answers to `tempripple`, `asof`, `klob` and `updates`. With
`answer.chat` the chat model is asked, with `written.judge` a judge; tables for other harnesses are made by name only.
"""


include: "inputs/answer.smk"


# Fields of `answer scores` that only answers to TempRIPPLE have.
ONLY_TEMPRIPPLE = (
    "facts runs cutoffs dates recall strict draws skipped out_predictions out_runs out_tests folder"
)


rule answer_requests:
    """The requests to the chat model, without and with the new fact: a letter, or an object if there are no options."""
    input:
        **by_field(["questions"], benchmark_tables),
        words=WRITTEN,
    output:
        "results/{pair}/evaluation/chat/{benchmark}/requests.parquet",
    params:
        **CHAT_PARAMS,
    shell:
        job("answer requests", without="edits facts judged which")


rule answer_read:
    """The letters and objects in the chat model's answers."""
    input:
        **by_field(["questions"], benchmark_tables),
        words=WRITTEN,
        answers="results/{pair}/evaluation/chat/{benchmark}/answers.parquet",
    output:
        output="results/{pair}/evaluation/chat/{benchmark}/read.parquet",
        out_run="results/{pair}/evaluation/chat/{benchmark}/read.json",
    params:
        **CHAT_PARAMS,
    shell:
        job("answer read", without="edits facts")


rule answer_scores:
    """Accuracies with intervals, the paper's tests and tables, all predictions, and the figure."""
    input:
        questions="results/{pair}/tempripple/tr_items.parquet",
        facts="results/{pair}/tempripple/tr_facts.parquet",
        answers=answer_files("answers.parquet"),
        runs=answer_files("json"),
        dates=measured_dates(),
        recall=bundled_folders(),
    output:
        output="results/{pair}/answer_scores.parquet",
        out_predictions="results/{pair}/answer/predictions.parquet",
        out_runs="results/{pair}/answer/runs.json",
        out_tests="results/{pair}/answer/tests.json",
        table="results/{pair}/answer/table2.txt",
        tables=[f"results/{{pair}}/answer/{name}" for name in ("table2.csv", "table3.txt", "table3.csv")],
        out_figures=expand("results/{{pair}}/answer/figure3.{form}", form=["svg", "pdf"]),
    params:
        cutoffs=answer_cutoffs(),
        skipped=answer_skipped(),
        folder=subpath(output.table, parent=True),
    shell:
        job("answer scores", without="benchmark out_text")


rule answer_dated_scores:
    """Accuracies by precision, and how often a right date makes an answer more likely than a wrong one."""
    input:
        questions=f"{STREAM}/asof.parquet",
        answers=[
            *read_of_chat("asof", root=PAIR),
            *answered("asof", answer_states, "answers.parquet", STREAM),
        ],
    output:
        output=f"{STREAM}/asof_scores.parquet",
    params:
        benchmark="asof",
    shell:
        job("answer scores", without=f"{ONLY_TEMPRIPPLE} seed out_text out_figures")


rule ripple_scores:
    """Ripples in all states: the shares of right answers by criterion, as table, text and figure."""
    input:
        models_=some_models,
        questions=PROBES,
        answers=answered("ripples", all_states, "answers.parquet"),
    output:
        output="results/{pair}/ripple_scores.parquet",
        out_text="results/{pair}/answer/ripples.txt",
        out_figures=expand("results/{{pair}}/answer/ripples.{form}", form=["svg", "pdf"]),
    params:
        benchmark="ripples",
    shell:
        job("answer scores", without=ONLY_TEMPRIPPLE)


rule judge_requests:
    """The requests to the chat model about written answers (`written.judge`): a verdict in one word."""
    input:
        **by_field(["questions"], benchmark_tables),
        words=[*WRITTEN, resource("verdict/judge.txt")],
        judged=lambda wildcards: [file.format(**wildcards) for file in grid_answers(wildcards.benchmark)],
    output:
        "results/{pair}/evaluation/judge/{benchmark}/requests.parquet",
    params:
        **CHAT_PARAMS,
    shell:
        job(
            "answer requests",
            without="edits facts prompt written loglik scoring normalise shots",
        )


rule judged_answers:
    """The verdicts of the rules and of the chat model on written answers, and their agreement."""
    input:
        answers=[file for name in judged_benchmarks() for file in grid_answers(name)],
        verdicts=judge_answers,
        words=READ,
    output:
        output="results/{pair}/judged.parquet",
        out_text="results/{pair}/answer/judged.txt",
    shell:
        job("answer judged")


rule answer_lm_eval:
    """Tasks for lm-evaluation-harness: the questions, and the clozes of the updates that are edited."""
    input:
        questions=list(LM_EVAL_QUESTIONS.values()),
        edits=f"{PAIR}/edit/edits.parquet",
    output:
        directory("results/lm_eval"),
    params:
        questions=named_questions,
    shell:
        job("answer lm-eval")
