"""The inputs of stages that have few: KLoB's, TempRIPPLE's, page views, what models are taught, layouts."""

import datetime

from factdrift.core.settings import month_files, months_before
from factdrift.evaluation.layouts.record import LAYOUTS, modules
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


def pageview_months(date):
    """The months of page views that count as of a date: tables to download, or the user's own files."""
    if config["pageviews"] == "none":
        return []
    day, count = datetime.date.fromisoformat(date), config["method"]["popularity_months"]
    if config["pageviews"] == "wikidata" or is_url(config["pageviews"]):
        return [f"results/fetched/pageviews/{month}.parquet" for month in months_before(day, count)]
    return [str(path) for path in month_files(Path(config["pageviews"]), day, count)]


def pageview_folder(wildcards, input):
    """The folder of these months; `none` if popularity is the number of sitelinks."""
    return os.path.dirname(input.pageviews[0]) if input.pageviews else "none"


def sample_dates(wildcards):
    """The dates of the pair whose dumps are rendered from the bundled sample."""
    return [date for date in wildcards.pair.split("_") if dump_source(config, date) == "sample"]


def ripple_source():
    """Inputs of the jobs that ask the source: tables, the local server's database, or neither."""
    source, endpoint = config["tempripple"]["source"], config["tempripple"]["endpoint"]
    tables = lambda files: files if source == "tables" else []
    local = source == "sparql" and endpoint == "local"
    return {
        "rows": tables(side_buckets("tempripple/rows", "new")),
        "classes": tables(side_buckets("tempripple/classes", "new")),
        "entities": tables(side_buckets("entities", "new")),
        "properties": tables(side("properties.parquet", "new")),
        "database": side("tempripple/database", "new") if local else [],
        "labels": config["labels"],
        "resources": resources("tempripple", "words"),
    }


def public_endpoint():
    """The server that the rows come from, neither the snapshot's tables nor the local one; `[]` if they do not."""
    source, endpoint = config["tempripple"]["source"], config["tempripple"]["endpoint"]
    return endpoint if source == "sparql" and endpoint != "local" else []


TAUGHT = config["taught"]
"""What is taught besides the dataset's facts."""
if TAUGHT == "auto":
    TAUGHT = ["klob", "tempripple", "ripples"] if config["dumps"] == "sample" else []


def taught_tables(wildcards):
    """Field -> the table of a benchmark whose facts are taught."""
    tables = {"klob": {"klob": ["klob_c", "klob_r"], "wikifactdiff": ["wikifactdiff"]}}
    tables["tempripple"] = {"facts": ["tempripple/tr_facts"], "related": ["tempripple/tr_related"]}
    tables["tempripple"]["wikifactdiff"] = ["wikifactdiff"]
    tables["ripples"] = {"ripples": ["ripples"], "names": ["ripples/names"]}
    return {
        field: [f"results/{wildcards.pair}/{table}.parquet" for table in names]
        for name in TAUGHT
        for field, names in tables[name].items()
    }


def layout_tables(wildcards):
    """Field -> the table from which a layout is filled; the dataset, if its records are updates."""
    layout = LAYOUTS[wildcards.layout]
    dataset = {"dataset": "wfd_repl"} if layout.write else {}
    return {field: f"{PAIR}/{name}.parquet" for field, name in {**dataset, **layout.tables}.items()}
