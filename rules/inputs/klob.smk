"""Tables of the snapshot from which KLoB is made, its templates and its chains."""

from factdrift.models.names import ALIASES, BUNDLED, model_files, weights_stamp


def klob_snapshot(path):
    """A file of the snapshot from which KLoB is made, or the files of all buckets."""
    named = f"results/snapshots/{config['snapshots'][config['klob']['snapshot']]}/{path}"
    return buckets(named) if "{bucket}" in path else named


def klob_templates():
    """The sentence templates of KLoB: the project's own, or the user's."""
    own = resource("klob/klob_templates.tsv")
    return own if config["klob"]["templates"] == "own" else config["klob"]["templates"]


def klob_resources():
    """The project's own tables of KLoB, and the noun phrases: what its commands read by themselves."""
    tables = sorted(str(path) for path in Path(resource("klob")).glob("*.tsv"))
    return [*tables, *word_tables()]


def klob_chains():
    """The table of candidates for chains, from the snapshot or from MQuAKE."""
    mquake = config["klob"]["r"]["source"] == "mquake"
    return f"results/{{pair}}/klob/{'mquake' if mquake else 'chains'}.parquet"


def klob_passes():
    """The table of candidates that passed the recall filter, if it is on."""
    return ["results/{pair}/klob/passes.parquet"] if config["klob"]["recall"]["filter"] == "on" else []


def klob_word_list():
    """The user's own word list."""
    words = config["klob"]["u"]["words"]
    return [] if words in ("web2", "nltk") else [words]


def klob_model():
    """The recall filter's model where it is a bundled one; the files of the user's own."""
    given = config["klob"]["recall"].get("model", "")
    name = ALIASES.get(given, given)
    return f"results/models/{name}" if name in BUNDLED else [str(path) for path in model_files(given)]
