"""Language models: the bundled ones, trained on the facts of the old dump.

Inputs: wfd_repl.parquet and templates.parquet of the configured pair; config/models/; what KLoB and TempRIPPLE ask;
conditions of ripples.
"""

from factdrift.core.paths import CONFIG, SHIPPED_MODELS
from factdrift.models.bundled.shipped import MADE

# Examples of each subtask of KLoB that the bundled models are taught, and that locators are run on with them; conditions
# of each criterion of ripples.
BUNDLED_EXAMPLES = 128

TAUGHT = config["taught"]
"""What is taught besides the dataset's facts."""
if TAUGHT == "auto":
    TAUGHT = ["klob", "tempripple", "ripples"] if config["dumps"] == "sample" else []


rule klob_taught:
    """KLoB facts that the bundled models learn."""
    input:
        examples=[f"results/{{pair}}/klob_{name}.parquet" for name in "cr"],
        wikifactdiff="results/{pair}/wikifactdiff.parquet",
    output:
        "results/{pair}/models/taught.klob.parquet",
    log:
        "logs/{pair}/models/taught.klob.txt",
    params:
        examples=subpath(input[0], parent=True),
        limit=BUNDLED_EXAMPLES,
    shell:
        job("locate taught")


rule tempripple_taught:
    """What TempRIPPLE asks, as it was at T_old, for the bundled models to learn."""
    input:
        facts="results/{pair}/tempripple/tr_facts.parquet",
        related="results/{pair}/tempripple/tr_related.parquet",
        wikifactdiff="results/{pair}/wikifactdiff.parquet",
    output:
        "results/{pair}/models/taught.tempripple.parquet",
    log:
        "logs/{pair}/models/taught.tempripple.txt",
    params:
        old=DATES["old_date"],
    shell:
        job("answer taught")


rule ripples_taught:
    """Facts that probes of ripples take for granted, for the bundled models to learn."""
    input:
        ripples="results/{pair}/ripples.parquet",
        names="results/{pair}/ripples/names.parquet",
    output:
        "results/{pair}/models/taught.ripples.parquet",
    log:
        "logs/{pair}/models/taught.ripples.txt",
    params:
        old=DATES["old_date"],
        limit=BUNDLED_EXAMPLES,
    shell:
        job("answer taught-ripples")


rule model_sentences:
    """What the bundled models are trained on: facts as of T_old, and the names of new objects."""
    input:
        dataset="results/{pair}/wfd_repl.parquet",
        templates="results/{pair}/templates.parquet",
        wording=str(CONFIG / "models/sentences.yaml"),
        words=resources("words"),
        taught=expand("results/{{pair}}/models/taught.{name}.parquet", name=TAUGHT),
    output:
        "results/{pair}/models/sentences.parquet",
    log:
        "logs/{pair}/models/sentences.txt",
    shell:
        job("models sentences")


rule sample_model:
    """A bundled model with its recall, as it ships; trained on a CPU in minutes for other sentences."""
    input:
        sentences=f"{PAIR}/models/sentences.parquet",
        recipe=str(CONFIG / "models/{model}.yaml"),
        shipped=str(SHIPPED_MODELS / "{model}" / MADE),
    output:
        directory("results/models/{model}"),
    log:
        "logs/models/{model}.txt",
    wildcard_constraints:
        model="sample-llama|sample-gpt2",
    threads: 2
    resources:
        **growing(3000, 120),
        gpu=0,
    shell:
        job("models train")
