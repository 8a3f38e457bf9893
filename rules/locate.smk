"""Locating methods on language models: which units give an answer, judged on KLoB (docs/locating.md).

Inputs: KLoB's subtasks; the models; config/locators/; the user's functions and folders of scores; answers to `updates`
and `blocks`.
"""


include: "inputs/locate.smk"


LOCATOR = "results/{{pair}}/locate/{{edited}}/{{locator}}"
LOCATE_SHARDS = numbered(config["locate"]["shards"])


wildcard_constraints:
    locator="|".join(map(re.escape, LOCATE_PLAN.run)) or "none",
    facts="klob|edits",


rule locate_sentences:
    """The examples of KLoB for locators, and their sentences."""
    input:
        examples=expand("results/{{pair}}/klob_{name}.parquet", name=[*"cru"]),
    output:
        examples=expand("results/{{pair}}/locate/klob_{name}.parquet", name=[*"cru"]),
        out_sentences="results/{pair}/locate/klob.sentences.parquet",
    params:
        examples=subpath(input[0], parent=True),
        out_examples=subpath(output.out_sentences, parent=True),
        limit=limit_of(config["locate"]["limit"], BUNDLED_EXAMPLES),
    shell:
        job("locate sentences", without="edits out_edits")


rule locate_run:
    """Runs one locator on a model and a shard of the sentences; a killed job continues where it stopped."""
    input:
        sentences="results/{pair}/locate/{facts}.sentences.parquet",
        model=edited_model,
        values=lambda wildcards: [str(path) for path in locator(wildcards).files()],
    output:
        output="results/{pair}/locate/{edited}/{locator}/{facts}.{shard}.parquet",
        out_about="results/{pair}/locate/{edited}/{locator}/{facts}.{shard}.json",
    threads: config["edit"]["threads"]
    resources:
        **of_a_model() | {"gpu": min(gpus(), 1)},
    params:
        **MODEL_PARAMS,
        reads=locator_code,
        locator=lambda wildcards: locator(wildcards).source,
        set=lambda wildcards: json.dumps(LOCATE_PLAN.values(wildcards.locator), sort_keys=True),
        parts=subpath(output.out_about, strip_suffix=".json"),
    shell:
        job("locate run")


rule locate_gather:
    """The shards of one locator and model as a folder that `factdrift locate scores` takes."""
    input:
        sentences="results/{pair}/locate/klob.sentences.parquet",
        shards=expand(f"{LOCATOR}/klob.{{shard}}.parquet", shard=LOCATE_SHARDS),
        about=expand(f"{LOCATOR}/klob.{{shard}}.json", shard=LOCATE_SHARDS),
    output:
        scores="results/{pair}/locate/{edited}/{locator}/scores/scores.json",
        arrays=multiext(
            "results/{pair}/locate/{edited}/{locator}/scores/",
            *("sentences.txt", "units.npy", "mean.npy", "sd.npy", "known.parquet"),
        ),
    params:
        output=subpath(output.scores, parent=True),
    shell:
        job("locate gather")


rule locate_scores:
    """All locators on all models: RSim and RSD with controls and intervals, a table and a figure for each subtask."""
    input:
        examples=expand("results/{{pair}}/locate/klob_{name}.parquet", name=[*"cru"]),
        models=some_models,
        scores=located("scores/scores.json"),
        arrays=located("scores/units.npy"),
        others=[str(path) for folder in LOCATE_PLAN.folders for path in model_files(folder)],
        recall=bundled_folders(),
    output:
        out_scores="results/{pair}/locate_scores.parquet",
        table="results/{pair}/locate/table_c.txt",
        tables=expand("results/{{pair}}/locate/table_{name}.txt", name=["r", "u"]),
        figures=expand("results/{{pair}}/locate/figure_{name}.{form}", name=[*"cru"], form=["svg", "pdf"]),
    params:
        examples=subpath(input[0], parent=True),
        folders=lambda wildcards, input: [
            *(str(Path(path).parent) for path in input.scores),
            *LOCATE_PLAN.folders,
        ],
        out_reports=subpath(output.table, parent=True),
    shell:
        job("locate scores")


rule locate_edit_facts:
    """The edits for the comparison of locating with editing at every block."""
    input:
        edits="results/{pair}/edit/edits.parquet",
    output:
        out_edits="results/{pair}/locate/edits.parquet",
        out_sentences="results/{pair}/locate/edits.sentences.parquet",
    params:
        limit=limit_of(config["locate"]["edits"], 32),
    shell:
        job("locate sentences", without="examples out_examples")


use rule edit_moments as locate_moments with:
    # Of all blocks, for ROME and MEMIT at each of them.
    output:
        directory("results/{pair}/locate/{edited}/moments"),
    params:
        layers=[],


rule locate_vs_edit:
    """Whether edits succeed at the blocks with high scores: rank correlations, a table and a figure."""
    input:
        **layer_answers(),
        models_=some_locators,
        edits="results/{pair}/locate/edits.parquet",
        located=located("edits.{shard}.{form}", shard=LOCATE_SHARDS, form=["parquet", "json"]),
    output:
        out_table="results/{pair}/locate_vs_edit.parquet",
        out_text="results/{pair}/locate/vs_edit.txt",
        out_figures=multiext("results/{pair}/locate/vs_edit", ".svg", ".pdf"),
    params:
        models=MODEL_NAMES,
        folders=[f"results/{{pair}}/locate/{folder}" for folder in MODELS],
        locators=list(LOCATE_PLAN.run),
    shell:
        job("locate against-edits")
