"""Tables of the snapshot from which KLoB is made, its templates and its chains."""

from factdrift.models.names import ALIASES, BUNDLED, model_files

KLOB_SIDE = config["klob"]["snapshot"]
"""The side of the pair from whose snapshot KLoB is made."""


def klob_tables():
    """Inputs of the jobs that read the snapshot's tables."""
    return {
        "facts": side_buckets("klob", KLOB_SIDE),
        "entities": side_buckets("entities", KLOB_SIDE),
        "classes": side("classes.parquet", KLOB_SIDE),
        "properties": side("properties.parquet", KLOB_SIDE),
        "labels": config["labels"],
        "resources": resources("klob", "words"),
    }


def klob_choice():
    """Inputs of the jobs that choose examples and word them with the project's templates or the user's."""
    klob = config["klob"]
    own = klob["templates"] == "own"
    return klob_tables() | {
        "candidates": "results/{pair}/klob/facts.parquet",
        "chains": "results/{pair}/klob/chains.parquet",
        "templates": resource("klob/klob_templates.tsv") if own else klob["templates"],
    }


def klob_model():
    """The recall filter's model where it is a bundled one; the files of the user's own."""
    given = config["klob"]["recall"].get("model", "")
    name = ALIASES.get(given, given)
    return f"results/models/{name}" if name in BUNDLED else [str(path) for path in model_files(given)]
