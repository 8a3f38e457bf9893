"""What rules of several stages use: fingerprints of code, the project's tables, buckets, dumps, items, requests."""

import re

from snakemake.io import IOFile

from factdrift.cli import job_of
from factdrift.core.fingerprint import of_jobs
from factdrift.core.jobs import LIST_OF_FILES
from factdrift.core.keys import is_struct, settings_of
from factdrift.core.paths import RESOURCES
from factdrift.core.settings import dump_source
from factdrift.core.shell import ShellLine, check_keywords, keys_of, parameter_of, shell_line
from factdrift.snapshots.registry import suffix


def job(*commands, without=""):
    """The shell line that runs commands with the files and parameters of a rule.

    `without`: fields of theirs that stay at their defaults.
    """
    return shell_line(tuple(map(job_of, commands)), without)


def given(*commands, after=(), **parameters):
    """The parameters of commands: what the configuration says for their fields, and a fingerprint of their code.

    By the latter a job with other code runs again. `after`: commands that wrote temporary files that these read;
    `parameters` come before the configuration's.
    """

    def value(field):
        # By functions, since Snakemake takes braces in a text for wildcards.
        if is_struct(field.kind):
            return lambda wildcards: settings_of(of_pair(wildcards), field.kind, field.key, field.only)
        return lambda wildcards: parameter_of(of_pair(wildcards), field)

    known = (field for command in commands for field in keys_of(job_of(command)))
    fields = {field.name: field for field in known if field.part == "params"}
    of_keys = {name: value(field) for name, field in fields.items() if name not in parameters}
    code = lambda wildcards: of_jobs(*map(job_of, (*commands, *after)))
    return {"code": code, **of_keys, **parameters}


def check_jobs():
    """Checks that the keywords of every rule are the fields of the commands that it runs."""
    for each in workflow.rules:
        if isinstance(each.shellcmd, ShellLine):
            info = each.ruleinfo
            keywords = {
                "input": set(info.input.kwpaths) if info.input else set(),
                "output": set(info.output.kwpaths) | ({""} if info.output.paths else set()),
                "params": set(info.params[1]) if info.params else set(),
                "resources": set(info.resources[1]) if info.resources else set(),
            }
            try:
                check_keywords(f"rule {each.name}", each.shellcmd, keywords)
            except InputError as error:
                raise WorkflowError(str(error)) from None


def resource(name):
    """A table, or a folder of tables, that ships with the project."""
    return str(RESOURCES / name)


def word_tables():
    """What commands read by themselves to word sentences: articles, plurals, noun phrases."""
    return sorted(str(path) for path in Path(resource("words")).glob("*.tsv"))


def resources(folder):
    """The tables of a folder of resources/ and those of words, which its commands read by themselves."""
    return [*sorted(str(path) for path in Path(resource(folder)).glob("*.tsv")), *word_tables()]


def buckets(pattern):
    """The files of all buckets; other wildcards of the pattern stay."""
    return expand(pattern, bucket=[f"{k}-of-{BUCKETS}" for k in range(BUCKETS)], allow_missing=True)


def every(pattern):
    """The files of all buckets for a job that needs them all; of many buckets one file that lists them.

    Jobs of buckets that each named all files would make a graph of buckets times buckets; of those jobs that are
    there once, Snakemake looks at all that comes before, for each of their inputs.
    """
    return (
        buckets(pattern) if BUCKETS <= 2 else [pattern.replace("{bucket}.parquet", f"every{LIST_OF_FILES}")]
    )


def parts(made, pattern, number):
    """The files of all parts of which a job makes a file: as many as `number`, or as it was made of.

    `pattern`: the path of a part, of which Snakemake recorded some as inputs of the finished file. Results do not
    depend on the number, so another one in the configuration is for what is still to be made.
    """
    recorded = workflow.persistence.input(IOFile(made)) if os.path.exists(made) else None
    of = re.compile(re.escape(pattern).replace(r"\{part\}", r"\d+").replace(r"\{number\}", r"(\d+)"))
    number = max((int(found[1]) for each in recorded or () if (found := of.fullmatch(each))), default=number)
    return expand(pattern, part=range(number), number=number)


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


def every_entity(which):
    """The same for a job of one bucket (`every`)."""
    return lambda wildcards: every(side("entities/{{bucket}}.parquet", which)(wildcards))


def of_pair(wildcards):
    """The configuration, with the dates of the pair in the wildcards, if there is one, in the place of its own."""
    if "pair" not in wildcards.keys():
        return config
    return {**config, "snapshots": {which: date_of(wildcards, which) for which in ("old", "new")}}


include: "inputs/requests.smk"
