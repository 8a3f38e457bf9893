"""Teaches a bundled model who held on a date, and asks for the date.

    .venv/bin/python benchmarks/cutoff_trained.py FOLDER --dates 2016-03-01
    .venv/bin/python benchmarks/cutoff_trained.py FOLDER --dates 2016-03-01 2019-03-01

With two dates, the relations are divided: every second one by size is taught as of the second date. One
wording of each fact is held out. Results are in docs/cutoff.md.
"""

from __future__ import annotations

import argparse
import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from factdrift.cli import main as factdrift
from factdrift.core.paths import CONFIG, CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.cutoff import CHAINS, read_chains
from factdrift.models.bundled.corpus import SENTENCES
from factdrift.models.bundled.recipe import read_recipe
from factdrift.models.bundled.train import train
from factdrift.wikidata.time import pack_date

FILES = ("chains", "sentences", "answers")


def taught(chains: list[dict[str, Any]], dates: list[datetime.date]) -> pa.Table:
    """SENTENCES about the holders of each chain on its date; chains without a certain one are left out."""
    sizes = Counter(row["relation"] for row in chains)
    place = {relation: number % len(dates) for number, (relation, _) in enumerate(sizes.most_common())}
    rows = []
    for fact, chain in enumerate(chains):
        day = pack_date(dates[place[chain["relation"]]])
        holder = next(
            (
                holder["label"]
                for holder in chain["holders"]
                for each in holder["tenures"]
                if each["share"] == 1 and (each["first"] or 0) <= day <= (each["last"] or 99999999)
            ),
            None,
        )
        if holder is None:
            continue
        for number, prompt in enumerate(chain["prompts"]):
            rows.append(
                {"fact": fact, "kind": "chain", "subject": chain["subject_label"], "object": holder}
                | {"relation": chain["relation"], "template": number + 1, "prompt": prompt}
                | {"held_out": number == fact % len(chain["prompts"]) and len(chain["prompts"]) > 1}
            )
    return pa.Table.from_pylist(rows, SENTENCES)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dates", type=datetime.date.fromisoformat, nargs="+", required=True)
    parser.add_argument("--chains", type=int, default=0, help="about so many of the chains; 0 for all")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    beside = {name: options.folder.with_name(f"{options.folder.name}.{name}.parquet") for name in FILES}
    chains = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is None]
    chains = chains[:: -(-len(chains) // options.chains) if options.chains else 1]
    write_parquet(pa.Table.from_pylist(chains, CHAINS), beside["chains"])
    write_parquet(taught(chains, options.dates), beside["sentences"])
    recipe = replace(read_recipe(CONFIG / "models" / "sample-llama.yaml"), threads=options.threads)
    print(train(beside["sentences"], recipe, options.folder))
    picture = options.folder.with_name(f"{options.folder.name}.svg")
    tables = ["--chains", str(beside["chains"]), "--answers", str(beside["answers"])]
    factdrift(["cutoff", str(options.folder), "-o", str(picture), *tables])


if __name__ == "__main__":
    main()
