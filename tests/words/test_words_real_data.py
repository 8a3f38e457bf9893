"""Every date, amount and text of real entities has words; the data lies where FACTDRIFT_REAL_DATA says."""

import bz2
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from factdrift.words.literals import shown

KINDS = ("time", "quantity", "monolingualtext", "string")


def test_real_literals_have_words() -> None:
    if "FACTDRIFT_REAL_DATA" not in os.environ:
        pytest.skip("FACTDRIFT_REAL_DATA does not name a folder of real data")
    path = Path(os.environ["FACTDRIFT_REAL_DATA"], "wikidata", "entities.json.bz2")
    seen: Counter[str] = Counter()
    raw_only = set()
    with bz2.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if len(line) < 9:
                continue
            for statements in (json.loads(line.strip().strip(","))["claims"] or {}).values():
                for statement in statements:
                    qualifiers = (statement.get("qualifiers") or {}).values()
                    for snak in (statement["mainsnak"], *(q for group in qualifiers for q in group)):
                        datavalue = snak.get("datavalue", {})
                        if (kind := datavalue.get("type")) not in KINDS:
                            continue
                        seen[kind] += 1
                        label, short, raw = shown(kind, json.dumps(datavalue["value"]), {})
                        assert label
                        assert short
                        if kind in ("time", "quantity") and label == raw:
                            raw_only.add(raw)
    assert all(seen[kind] > 900 for kind in KINDS), seen
    # Only negative whole numbers are written as they stand.
    assert raw_only <= {"-1", "-2"}
