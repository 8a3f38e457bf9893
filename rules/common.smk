"""What the rules share to name their inputs: modules, resources, buckets, dumps, snapshots."""

import datetime
import json
import re

from factdrift.models.names import BUNDLED, folder_of, split_name
from factdrift.settings import (
    dump_source,
    is_url,
    method,
    month_files,
    months_before,
    names,
    scope,
    switches,
)
from factdrift.snapshots.registry import suffix
from factdrift.tempripple.method import method_json

RUN = []


def code(*stages):
    """The modules of stages, as inputs: what depends on code that changed is made again."""
    package = Path(workflow.basedir, "workflow/factdrift")
    modules = [path for stage in stages for path in sorted(package.glob(f"{stage}/*.py"))]
    return [str(path) for path in [package / "tables.py", *modules]]


def resource(name):
    """An input that the project wrote."""
    return os.path.join(workflow.basedir, "resources", name)


def resources(folder):
    """The tables of a folder that the project wrote, each of them an input, and the noun phrases."""
    tables = [str(path) for path in sorted(Path(resource(folder)).glob("*.tsv"))]
    return [*tables, resource("words/noun_phrases.tsv")]


def buckets(pattern):
    """The files of all buckets; other wildcards of the pattern stay."""
    return expand(pattern, bucket=[f"{k}-of-{BUCKETS}" for k in range(BUCKETS)], allow_missing=True)


def dump_file(date):
    """The dump of a date: made by a rule, or the user's own where it lies."""
    source = dump_source(config, date)
    made = {"sample": "sample.json.gz", "derive": "derived.json.gz", "entities": "entities.json.gz"}
    dump = remote_dump(config, date)
    if dump:
        return f"results/snapshots/{date}/wikidata.{suffix(dump)}"
    return f"results/snapshots/{date}/{made[source]}" if source in made else source


def fetched_entities(date):
    """What `dumps` says of a date whose entities are fetched one by one."""
    source = config["dumps"][date] if isinstance(config["dumps"], dict) else {}
    return source if isinstance(source, dict) else {}


def url_option(date):
    """The option that names the user's own address of a dump."""
    source = dump_source(config, date)
    return [f"--url={source}"] if is_url(source) else []


def pageview_months(date):
    """The months of page views that count as of a date: tables to download, or the user's own files."""
    if config["pageviews"] == "none":
        return []
    day, count = datetime.date.fromisoformat(date), config["method"]["popularity_months"]
    if pageview_folder() == "results/pageviews":
        return [f"results/pageviews/{month}.parquet" for month in months_before(day, count)]
    return [str(path) for path in month_files(Path(config["pageviews"]), day, count)]


def pageview_folder():
    """Where the months lie, or will; `none` if popularity is the number of sitelinks."""
    remote = config["pageviews"] == "wikidata" or is_url(config["pageviews"])
    return "results/pageviews" if remote else config["pageviews"]


def other_dump(wildcards):
    """The dump from which this date's is derived."""
    return dump_file(NEW if wildcards.date == OLD else OLD)


def shards(wildcards):
    """The tables of all shards of a dump."""
    return expand(
        "results/snapshots/{date}/shards/{shard}-of-{shards}x{buckets}",
        date=wildcards.date,
        shard=range(SHARDS),
        shards=SHARDS,
        buckets=BUCKETS,
    )


def side(path):
    """The snapshot's file for the wildcard `which`."""
    return lambda wildcards: f"results/snapshots/{config['snapshots'][wildcards.which]}/{path}".format(
        **wildcards
    )


def preprocessed(which):
    """The two tables that the filters make of one bucket of a dump's statements."""
    return [f"results/{{pair}}/{table}/{which}/{{bucket}}.parquet" for table in ("filtered", "kept")]


def entities(which):
    """The items of one snapshot, all buckets."""
    return buckets(f"results/snapshots/{config['snapshots'][which]}/entities/{{bucket}}.parquet")


def begin_run():
    """Tells what the run needs, refuses what the disk cannot hold, and follows its jobs."""
    from factdrift.runs.begin import Job, Source, begin

    jobs = [
        Job(job.rule.name, *re.findall(r"factdrift ([\w-]+(?: \w[\w-]*)?)", job.shellcmd)[:1], *paths)
        for job in workflow.dag.needrun_jobs()
        if job.is_shell and "factdrift " in job.shellcmd
        for paths in zip(map(Path, job.log), [Path(job.benchmark)])
    ]
    sources = {date: dump_source(config, date) for date in (OLD, NEW)}
    dumps = []
    if not workflow.touch and not {"sample", "entities"} & set(sources.values()):
        # One that is derived is about as large as the other.
        for date in [NEW if sources[date] == "derive" else date for date in sources]:
            dump = remote_dump(config, date)
            dumps.append(Source(date, Path(dump_file(date)), dump is not None, dump and dump.size))
    here = workflow.local_exec
    cores = workflow.cores if here else min(workflow.nodes, len(jobs))
    try:
        RUN.append(begin(jobs, dumps, config, scope(config), cores, here))
    except InputError as error:
        raise WorkflowError(str(error)) from None


def end_run():
    """Says how far the stages have come."""
    for run in RUN:
        run.end()


def klob_snapshot(path):
    """A file of the snapshot of which KLoB is made; in every bucket, if its name has one."""
    named = f"results/snapshots/{config['snapshots'][config['klob']['snapshot']]}/{path}"
    return buckets(named) if "{bucket}" in path else named


def klob_templates():
    """The sentence templates of KLoB: the project's own, or the user's."""
    own = resource("klob/klob_templates.tsv")
    return own if config["klob"]["templates"] == "own" else config["klob"]["templates"]


def klob_resources():
    """The project's own tables of KLoB's relations and words."""
    return sorted(str(path) for path in Path(resource("klob")).glob("*.tsv"))


def klob_chains():
    """Where the chains of KLoB-r come from."""
    mquake = config["klob"]["r"]["source"] == "mquake"
    return f"results/{{pair}}/klob/{'mquake' if mquake else 'chains'}.parquet"


def klob_passes():
    """What the recall filter wrote, where it is on."""
    return ["results/{pair}/klob/passes.parquet"] if config["klob"]["recall"]["filter"] == "on" else []


def klob_word_list():
    """The user's own word list."""
    words = config["klob"]["u"]["words"]
    return [] if words in ("web2", "nltk") else [words]


def other_languages():
    """The languages besides English of which a snapshot keeps labels."""
    return sorted(set(config["languages"]) - {"en"})


def chat_form():
    """What of the key `chat` shapes a request, as JSON: another price limit or address changes none."""
    shaping = ("model", "temperature", "answer_tokens", "limit_param", "structured", "extra")
    return json.dumps({key: config["chat"][key] for key in shaping if key in config["chat"]}, sort_keys=True)


def quality_options():
    """How templates of sentences are judged."""
    judging = ("quality", "min_subjects", "general_subjects", "general_share")
    return [f"--{key.replace('_', '-')}={config['verbalization'][key]}" for key in judging]


def candidates():
    """The templates that the verbalizer offers besides those of the project."""
    offered = {"chat": "candidates.en", "file": "published"}.get(config["verbalizer"])
    return f"results/{{pair}}/verbalize/{offered}.parquet" if offered else []


def ripple_source():
    """Inputs of the jobs that ask TempRIPPLE's source: tables, the local server's database, or nothing."""
    ripple = config["tempripple"]
    if ripple["source"] == "tables":
        return {
            **{
                kind: buckets(f"results/snapshots/{NEW}/tempripple/{kind}/{{bucket}}.parquet")
                for kind in ("rows", "classes")
            },
            "entities": entities("new"),
            "properties": f"results/snapshots/{NEW}/properties.parquet",
        }
    if ripple["endpoint"] == "local":
        return {"database": f"results/snapshots/{NEW}/tempripple/database"}
    return {}


def ripple_source_options(wildcards, input):
    """The options that name this source."""
    ripple = config["tempripple"]
    named = ["--source", ripple["source"]]
    for key in ripple_source():
        files = getattr(input, key)
        named += [f"--{key}", *([files] if isinstance(files, str) else files)]
    if ripple["source"] == "sparql":
        named += ["--endpoint", ripple["endpoint"]]
        if ripple["endpoint"] != "local":
            named += ["--answers", "results/sparql"]
    return named


def ripple_origin():
    """The input that tells of the snapshot, unless rows come from a public server."""
    ripple = config["tempripple"]
    public = ripple["source"] == "sparql" and ripple["endpoint"] != "local"
    return {} if public else {"snapshot": f"results/snapshots/{NEW}/snapshot.json"}


def ripple_origin_options(wildcards, input):
    """The option that names it, or the server."""
    snapshot = input.get("snapshot")
    return ["--snapshot", snapshot] if snapshot else ["--endpoint", config["tempripple"]["endpoint"]]


def edited_models():
    """Folder -> name and revision of each model that is edited, in the order of the configuration."""
    return {folder_of(name): (name, revision) for name, revision in map(split_name, config["models"])}


def edited_names():
    """The models as their rows name them."""
    return [name for name, _ in edited_models().values()]


def edited_model(wildcards):
    """The files of a model, where they are not fetched from a hub: a bundled one's folder, or the user's."""
    name, _ = edited_models()[wildcards.edited]
    if name in BUNDLED:
        return f"results/models/{name}"
    return [str(path) for path in sorted(Path(name).glob("*.json"))] if Path(name).is_dir() else []


def edited_model_options(wildcards):
    """The options that name a model."""
    name, revision = edited_models()[wildcards.edited]
    return ["--model", name, "--revision", revision]


def edit_source():
    """The dataset whose updates are edits: the user's own, or that of the pair which holds the scenarios."""
    own = config["edit"]["dataset"]
    only = config["edit"]["scenarios"] == ["replacement"]
    return own or f"results/{{pair}}/{'wfd_repl' if only else 'wikifactdiff'}.parquet"


def edit_limit():
    """How many edits are made at most: all (0), but of the bundled models' facts only some."""
    limit = config["edit"]["limit"]
    if limit == "auto":
        return 128 if set(edited_names()) & set(BUNDLED) else 0
    return limit


def gpus():
    """The GPUs that a job takes of `--resources gpu=N`."""
    return 0 if config["edit"]["device"] == "cpu" else 1


def computing_options():
    """The options that say how a model computes."""
    return ["--device", config["edit"]["device"], "--dtype", config["edit"]["dtype"]]


def probing_options():
    """The options that say how much is probed at a time, and how long texts are continued."""
    return [f"--{key}={config['edit'][key]}" for key in ("batch", "budget", "length")]


def regime_options():
    """The options that say which edits meet."""
    return [f"--{key}={config['edit'][key]}" for key in ("regime", "group")]


def methods_folder():
    """Where the hyper-parameters of each method stand."""
    return os.path.join(workflow.basedir, "config/methods")


def method_file(wildcards):
    """The hyper-parameters of a method."""
    return f"{methods_folder()}/{wildcards.method}.yaml"


def method_values(wildcards):
    """The user's own hyper-parameters of a method, as JSON."""
    return json.dumps(config.get(wildcards.method, {}), sort_keys=True)


def method_needs(wildcards):
    """What a method needs of what is computed once a model: option -> files."""
    from factdrift.edit.hyper import read_hyper

    method, folder = wildcards.method, f"results/{wildcards.pair}/edit/{wildcards.edited}"
    name, _ = edited_models()[wildcards.edited]
    try:
        hyper = read_hyper(method, name, config.get(method, {}), Path(methods_folder()))
    except InputError as error:
        raise WorkflowError(str(error)) from None
    needs = {}
    if "prefixes" in hyper:
        needs["--prefixes"] = [f"{folder}/prefixes.{method}.json"]
    if hyper.get("covariance"):
        layers = hyper["layers"] if "layers" in hyper else [hyper["layer"]]
        needs["--moments"] = [f"{folder}/moments/{layer}.safetensors" for layer in layers]
    if method == "mend":
        needs["--mend"] = [f"{folder}/mend.safetensors"]
    return needs


def method_artefacts(wildcards):
    """These files."""
    return [path for paths in method_needs(wildcards).values() for path in paths]


def method_options(wildcards):
    """The options that name them."""
    return [word for option, paths in method_needs(wildcards).items() for word in (option, *paths)]


def moments_texts():
    """The texts over which second moments are counted."""
    corpus = config["moments"]["corpus"]
    if corpus == ["facts"]:
        return "results/{pair}/models/sentences.parquet"
    return [] if corpus == ["sampled"] else corpus


def moments_options(wildcards, input):
    """The options that name them, or let the model write some itself."""
    texts = [input.texts] if isinstance(input.texts, str) else list(input.texts)
    tokens = config["moments"]["tokens"]
    source = ["--texts", *texts] if texts else ["--sampled", "--seed", str(config["seed"])]
    return source + (["--tokens", str(tokens)] if tokens else [])


def of_models(file):
    """A file of each edited model."""
    return [f"results/{{pair}}/edit/{folder}/{file}" for folder in edited_models()]


def of_runs(form):
    """A file of each job of each method on each edited model."""
    count = config["edit"]["shards"]
    return [
        f"results/{{pair}}/edit/{folder}/{method}/{place}-of-{count}.{form}"
        for folder in edited_models()
        for method in config["methods"]
        if method != "none"
        for place in range(count)
    ]
