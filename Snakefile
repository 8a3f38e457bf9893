"""factdrift: two Wikidata dumps in, benchmarks of what changed between them out.

Here: configuration and the targets that users ask for by name. The stages stand in rules/, in the order in which
the data flows; what they call is the package in workflow/factdrift.
"""

import json
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod
from snakemake.utils import min_version

try:
    from factdrift.core.errors import InputError
except ImportError as error:
    hidden = getattr(sys.modules.get("factdrift"), "__file__", None)
    raise WorkflowError(
        f"{hidden} hides the package factdrift; rename it or take its folder out of PYTHONPATH"
        if hidden
        else f"the package factdrift is not installed for {sys.executable} ({error}); run `make run` once, or pip "
        "install the checkout"
    ) from None

from factdrift.core.exhausted import collect_seldom
from factdrift.runs.environment import import_pandas_by_need, link_image, prepare, say_interrupted

collect_seldom()
import_pandas_by_need()
sys.excepthook = say_interrupted  # Snakemake itself handles Ctrl-C only once jobs run

from factdrift.core.files import read_yaml
from factdrift.core.paths import CONFIG, PACKAGE
from factdrift.core.products import datasets, names_for, product_of, products
from factdrift.core.settings import check_contact, check_files, configure, dates_of
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.snapshots.registry import remote_dump

min_version("9.20")


configfile: str(CONFIG / "config.yaml")


# A name without white space, which Snakemake refuses in the name of an image, and the same for every checkout.
container: ".snakemake/factdrift.sif"


try:
    for path in (CONFIG / "config.yaml", *map(Path, workflow.config_settings.configfiles)):
        if path.suffix != ".json":
            read_yaml(path)  # Snakemake takes the last of two equal keys without a word
    configure(config, keys_of_methods)
    check_files(config)
    check_contact(config)
    for date in dates_of(config):
        remote_dump(config, date)
    prepare(config["contact"])
except InputError as error:
    raise WorkflowError(str(error)) from None

if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method:
    try:
        link_image(
            Path(str(workflow.current_basedir), "envs/factdrift.sif"), Path(".snakemake/factdrift.sif")
        )
    except InputError as error:
        raise WorkflowError(str(error)) from None

OLD, NEW = config["snapshots"]["old"], config["snapshots"]["new"]
PAIR = f"results/{OLD}_{NEW}"
SHARDS, BUCKETS = config["shards"], config["buckets"]


# Before the patterns of wildcards, which leave out what was released.
include: "rules/inputs/releases.smk"


DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"


wildcard_constraints:
    date=DATE,
    pair=none_of(RELEASED_PAIRS) + f"{DATE}_{DATE}",
    which="old|new",
    bucket=r"\d+-of-\d+",
    shard=r"\d+-of-\d+",
    part=r"\d+-of-\d+",
    subtask="[cru]",
    language="|".join(sorted({"en", *config["languages"]})),
    name="|".join(product.pattern for product in products() if product.made_in != "results"),


include: "rules/common.smk"
include: "rules/inputs/stages.smk"
include: "rules/snapshots.smk"
include: "rules/statements.smk"
include: "rules/updates.smk"
include: "rules/neighbors.smk"
include: "rules/verbalize.smk"
include: "rules/wikifactdiff.smk"
include: "rules/ripples.smk"
include: "rules/streams.smk"
include: "rules/klob.smk"
include: "rules/tempripple.smk"
include: "rules/models.smk"
include: "rules/artefacts.smk"
include: "rules/evaluate.smk"
include: "rules/edit.smk"
include: "rules/lifelong.smk"
include: "rules/locate.smk"
include: "rules/answer.smk"
include: "rules/cutoff.smk"
include: "rules/audit.smk"
include: "rules/layouts.smk"
include: "rules/publish.smk"
include: "rules/releases.smk"
include: "rules/pages.smk"
include: "rules/run.smk"


check_jobs()


if SMALL:
    workflow.localrules(*without_model())


rule all:
    """Everything that the configured pair of dates gives."""
    default_target: True
    input:
        expand("results/{name}", name=names_for("all")),
