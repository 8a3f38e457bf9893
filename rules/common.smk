"""What rules of several stages use: fingerprints of code, the project's tables, buckets, dumps, items, requests."""

from factdrift.core.fingerprint import of_commands
from factdrift.core.paths import RESOURCES
from factdrift.core.settings import dump_source
from factdrift.snapshots.registry import suffix


def code(*commands):
    """A parameter that changes with the code behind these commands, so that a job with other code runs again.

    A rule that reads temporary files also names the command that wrote them.
    """
    return lambda wildcards: of_commands(*commands)


def resource(name):
    """A table, or a folder of tables, that ships with the project."""
    return str(RESOURCES / name)


def word_tables():
    """What commands read by themselves to word sentences: articles, plurals, noun phrases."""
    return sorted(str(path) for path in Path(resource("words")).glob("*.tsv"))


def buckets(pattern):
    """The files of all buckets; other wildcards of the pattern stay."""
    return expand(pattern, bucket=[f"{k}-of-{BUCKETS}" for k in range(BUCKETS)], allow_missing=True)


def dump_file(date):
    """The dump of a date: the output of a rule, or the user's own file."""
    source = dump_source(config, date)
    made = {"sample": "sample.json.gz", "derive": "derived.json.gz", "entities": "entities.json.gz"}
    dump = remote_dump(config, date)
    if dump:
        return f"results/snapshots/{date}/wikidata.{suffix(dump)}"
    return f"results/snapshots/{date}/{made[source]}" if source in made else source


def date_of(wildcards, which):
    """The date of one side, `old` or `new`, of the pair in the wildcards."""
    return wildcards.pair.split("_")[("old", "new").index(which)]


def side(path, which=None):
    """The snapshot's file on one side of the pair in the wildcards; without `which`, that in the wildcard `which`."""

    def of(wildcards):
        date = date_of(wildcards, which or wildcards.which)
        return f"results/snapshots/{date}/{path}".format(**wildcards)

    return of


def entities(which):
    """The items of one side of the pair in the wildcards, in all buckets."""
    return lambda wildcards: buckets(side("entities/{{bucket}}.parquet", which)(wildcards))


def of_pair(wildcards):
    """The configuration with the dates of the pair in the wildcards in the place of its own."""
    return {**config, "snapshots": {which: date_of(wildcards, which) for which in ("old", "new")}}


include: "inputs/requests.smk"
