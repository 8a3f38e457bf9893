"""factdrift: two Wikidata dumps in, benchmarks of what changed between them out.

Here: configuration and the targets that users ask for by name. The stages stand in rules/, in the order in which
the data flows; what they call is the package in workflow/factdrift.
"""

import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

from factdrift.settings import InputError, check_contact, check_files, configure
from factdrift.snapshots.registry import remote_dump

min_version("9.20")


configfile: os.path.join(workflow.basedir, "config/config.yaml")


container: os.path.join(workflow.basedir, "envs/factdrift.sif")


try:
    configure(config, Path(workflow.basedir, "config/config.schema.yaml"))
    check_files(config)
    check_contact(config)
    for date in config["snapshots"].values():
        remote_dump(config, date)
except InputError as error:
    raise WorkflowError(str(error)) from None

# Jobs find the programs of the environment that runs Snakemake, activated or not; downloads find the contact.
shell.prefix(
    f'set -euo pipefail; PATH="{os.path.dirname(sys.executable)}:$PATH"; '
    f"export FACTDRIFT_CONTACT={shlex.quote(config['contact'] or os.environ.get('FACTDRIFT_CONTACT', ''))}; "
)

OLD, NEW = config["snapshots"]["old"], config["snapshots"]["new"]
PAIR = f"results/{OLD}_{NEW}"
SHARDS, BUCKETS = config["shards"], config["buckets"]
DATASETS = ["wfd_repl.parquet", "wikifactdiff.parquet"]
ACCOUNTS = ["wikifactdiff.stats.json", "funnel.parquet", "manifest.json"]
KLOB = [f"klob_{part}.parquet" for part in "cru"] + [f"KLoB-{part}.jsonl" for part in "cru"]


wildcard_constraints:
    date=r"\d{4}-\d{2}-\d{2}",
    pair=r"\d{4}-\d{2}-\d{2}_\d{4}-\d{2}-\d{2}",
    which="old|new",
    bucket=r"\d+-of-\d+",
    shard=r"\d+-of-\d+",
    part=r"\d+-of-\d+",
    language="|".join({"en", *config["languages"]}),
    name=r"(wfd_repl|wikifactdiff)\.(parquet|jsonl)|wikifactdiff\.stats\.json|funnel\.parquet|manifest\.json|"
    r"KLoB-[cru]\.jsonl|klob_[cru]\.parquet|klob_meta\.json|"
    r"templates(\.[a-z-]+)?\.parquet|verbalizations\.parquet|verbalization_report\.(parquet|txt)",


include: "rules/common.smk"
include: "rules/snapshots.smk"
include: "rules/statements.smk"
include: "rules/updates.smk"
include: "rules/neighbors.smk"
include: "rules/verbalize.smk"
include: "rules/wikifactdiff.smk"
include: "rules/klob.smk"
include: "rules/tempripple.smk"
include: "rules/models.smk"
include: "rules/artefacts.smk"
include: "rules/edit.smk"
include: "rules/run.smk"


localrules:
    all,


rule all:
    """Everything that the configured pair of dates gives."""
    default_target: True
    input:
        expand("results/{name}", name=DATASETS + ACCOUNTS),
