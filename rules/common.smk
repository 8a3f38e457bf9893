"""What rules of several stages use: what jobs give their rules, the project's tables, buckets, dumps, items, requests."""

import itertools
from functools import cache

from snakemake.io import IOFile, get_wildcard_names

from factdrift.cli import job_of
from factdrift.core.addresses import texts
from factdrift.core.files import stamp
from factdrift.core.fingerprint import of_jobs
from factdrift.core.jobs import LIST_OF_FILES, fields
from factdrift.core.paths import RESOURCES
from factdrift.core.settings import dump_source
from factdrift.core.shell import ShellLine, check_keywords, parameter_of, shell_line
from factdrift.snapshots.registry import suffix


def job(*commands, without="", after=""):
    """The shell line that runs commands with the files and parameters of a rule.

    `without`: fields of theirs that stay at their defaults. `after`: the command that wrote temporary files which
    these read.
    """
    line = shell_line(tuple(map(job_of, commands)), without)
    line.of_code = tuple(map(job_of, [*commands, *filter(None, [after])]))
    return line


@cache
def given(path):
    """The stamp of a file that is the user's, or ships with the project; of those in results/, a named one that no rule
    makes. Nothing for any other."""
    above = {path, *map(str, Path(path).parents)}
    named = not above.isdisjoint(text for _, text in texts(config))
    if "results" in above and (not named or workflow.dag.output_index.match_producers(path)):
        return []
    return stamp(Path(path))


def stamps(rules):
    """The stamps of a job's files that no rule makes, by which it runs again when others take their places.

    By times alone, Snakemake would not notice one that is older than what was made of the file before, as `cp -p`,
    `rsync -t` and `mv` leave it. There is no `input` among the arguments, since Snakemake would not compare a parameter
    that has it.
    """

    def of(wildcards):
        files, *_ = rules[0].expand_input(dict(wildcards.items()))
        return [text for file in files for text in given(str(file))]

    return of


def complete(info, defined):
    """Gives a rule what its jobs say of themselves; what the rule says has precedence.

    Parameters: the values of the configuration, wildcards by their names, and `code` and `given`, a fingerprint of the
    code and the `stamps` of files, by which a job with others runs again; with `code=None` there is neither. Resources:
    what `request` says of the first command, unless the rule says how much memory its jobs ask for. The log of
    results/NAME is logs/NAME.txt, the benchmark logs/NAME.tsv; of several outputs the first one counts.
    """
    line = info.shellcmd
    changes = workflow.modifier.ruleinfo_overwrite  # of `use rule`
    output = changes.output if changes and changes.output else info.output
    made, *_ = [*output.paths, *output.kwpaths.values()]
    made = made if isinstance(made, str) else made[0]
    log = f"logs/{made.removeprefix('results/').removesuffix('/')}"
    wildcards = get_wildcard_names(log)
    info.log = output._replace(paths=(f"{log}.txt",), kwpaths={})
    info.benchmark = output._replace(paths=f"{log}.tsv", kwpaths={})

    def value(field):
        # By a function, since Snakemake takes braces in a text for wildcards.
        return lambda wildcards: parameter_of(of_pair(wildcards), field)

    parameters = {"code": lambda wildcards: of_jobs(*line.of_code)}
    for field in itertools.chain(*map(fields, line.jobs)):
        if field.part == "params" and field.name not in line.without:
            if field.key:
                parameters[field.name] = value(field)
            elif field.name in wildcards:
                parameters[field.name] = f"{{{field.name}}}"
    parameters |= info.params[1] if info.params else {}
    if parameters["code"]:
        parameters["given"] = stamps(defined)  # in the place of those that `use rule` inherits
    info.params = ((), {key: given for key, given in parameters.items() if given is not None})
    resources = info.resources[1] if info.resources else {}
    if "mem_mb" not in resources:
        info.resources = ((), request(line.jobs[0].command) | resources)


def completing(define):
    """`workflow.rule`, which Snakemake calls with all that a rule says, for rules that run jobs (`complete`)."""

    def rule(*args, **keywords):
        defined = define(*args, **keywords)

        def decorate(info):
            rules = []
            if isinstance(info.shellcmd, ShellLine):
                complete(info, rules)
            made = defined(info)
            rules.extend([*workflow.rules][-1:])
            return made

        return decorate

    return rule


workflow.rule = completing(workflow.rule)


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


def resources(*folders):
    """The tables of folders of resources/, which commands read by themselves.

    Those of `words` word sentences: articles, plurals, noun phrases.
    """
    return [str(path) for folder in folders for path in sorted(Path(resource(folder)).glob("*.tsv"))]


def numbered(count):
    """The parts into which something is split, as file names have them: 0-of-2, 1-of-2."""
    return [f"{place}-of-{count}" for place in range(count)]


def buckets(pattern):
    """The files of all buckets; other wildcards of the pattern stay."""
    return expand(pattern, bucket=numbered(BUCKETS), allow_missing=True)


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
    old, new = wildcards.pair.split("_")
    if old >= new:
        raise WorkflowError(f"{wildcards.pair}: {old} is not before {new}; name the earlier date first")
    return {"old": old, "new": new}[which]


DATES = {
    "old_date": lambda wildcards: date_of(wildcards, "old"),
    "new_date": lambda wildcards: date_of(wildcards, "new"),
}
"""Parameters of the jobs that take both dates of the pair."""


def side(path, which=None):
    """The snapshot's file on one side of the pair in the wildcards; without `which`, that in the wildcard `which`."""

    def of(wildcards):
        date = date_of(wildcards, which or wildcards.which)
        return f"results/snapshots/{date}/{path}".format(**wildcards)

    return of


def both_sides(path):
    """A file of the new snapshot and of the old one."""
    return lambda wildcards: [side(path, which)(wildcards) for which in ("new", "old")]


def other(which):
    """The other side of the comparison."""
    return "old" if which == "new" else "new"


def side_buckets(table, which=None, files=buckets):
    """A table of one side of the pair in the wildcards; `files`: `every` for a job of one bucket."""
    return lambda wildcards: files(side(f"{table}/{{{{bucket}}}}.parquet", which)(wildcards))


def by_field(fields, files):
    """Field -> input function; `files`: a function of the wildcards, field -> files; what it leaves out is none."""
    of = lambda field: lambda wildcards: files(wildcards).get(field, [])
    return {field: of(field) for field in fields}


def of_pair(wildcards):
    """The configuration, with the dates of the pair in the wildcards, if there is one, in the place of its own."""
    if "pair" not in wildcards.keys():
        return config
    return {**config, "snapshots": {which: date_of(wildcards, which) for which in ("old", "new")}}


include: "inputs/requests.smk"
