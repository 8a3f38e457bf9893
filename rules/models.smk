"""Language models: the bundled ones, trained on the facts of the old dump.

Inputs: wfd_repl.parquet and templates.parquet of the configured pair; config/models/; what KLoB and TempRIPPLE ask;
conditions of ripples.
"""

from factdrift.core.paths import CONFIG, SHIPPED_MODELS
from factdrift.models.bundled.shipped import MADE

# Examples of each subtask of KLoB that the bundled models are taught, and that locators are run on with them; conditions
# of each criterion of ripples.
BUNDLED_EXAMPLES = 128


rule model_sentences:
    """The training sentences of the bundled models: facts as of T_old, and the names of new objects."""
    input:
        **by_field(["klob", "facts", "related", "wikifactdiff", "ripples", "names"], taught_tables),
        dataset="results/{pair}/wfd_repl.parquet",
        templates="results/{pair}/templates.parquet",
        wording=str(CONFIG / "models/sentences.yaml"),
        words=resources("words"),
    output:
        "results/{pair}/models/sentences.parquet",
    params:
        old=DATES["old_date"],
        limit=BUNDLED_EXAMPLES,
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
    wildcard_constraints:
        model="sample-llama|sample-gpt2",
    threads: 2
    resources:
        **growing(3000, 120),
        gpu=0,
    shell:
        job("models train")
