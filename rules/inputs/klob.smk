"""Tables of the snapshot from which KLoB is made, its templates and its chains."""

from factdrift.models.names import ALIASES, BUNDLED, model_files, weights_stamp


def klob_snapshot(path):
    """A file of the snapshot from which KLoB is made, or the files of all buckets."""
    named = f"results/snapshots/{config['snapshots'][config['klob']['snapshot']]}/{path}"
    return buckets(named) if "{bucket}" in path else named


def klob_tables():
    """Inputs of the jobs that read the snapshot's tables."""
    return {
        "facts": klob_snapshot("klob/{bucket}.parquet"),
        "entities": klob_snapshot("entities/{bucket}.parquet"),
        "classes": klob_snapshot("classes.parquet"),
        "properties": klob_snapshot("properties.parquet"),
        "labels": config["labels"],
        "resources": resources("klob"),
    }


def klob_choice():
    """Inputs of the jobs that choose examples and word them with the project's templates or the user's."""
    klob = config["klob"]
    own = klob["templates"] == "own"
    return klob_tables() | {
        "candidates": "results/{pair}/klob/facts.parquet",
        "chains": f"results/{{pair}}/klob/{'mquake' if klob['r']['source'] == 'mquake' else 'chains'}.parquet",
        "templates": resource("klob/klob_templates.tsv") if own else klob["templates"],
    }


def klob_model():
    """The recall filter's model where it is a bundled one; the files of the user's own."""
    given = config["klob"]["recall"].get("model", "")
    name = ALIASES.get(given, given)
    return f"results/models/{name}" if name in BUNDLED else [str(path) for path in model_files(given)]
