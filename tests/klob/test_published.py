"""The published layout: what a build is exported as."""

import json
from typing import Any

from support.worlds import Fact

from factdrift.cli import main

from .conftest import Row, Snapshot


def record(row: Row) -> Any:
    """An example as the specification writes it (section 2), by its relations' names and labels."""
    texts = [f"{sentence['text']} _" for sentence in row["sentences"]]
    fact = [row["s_label"], f"{row['p1_name']}_({row['p1']})", row["o1_label"]]
    if row["subtask"] == "c":
        return {"prompts": texts, "knowledge": fact}
    if row["subtask"] == "u":
        return texts[0]
    return {
        "single_knowledge": fact,
        "knowledge_chain": [*fact, f"{row['p2_name']}_({row['p2']})", row["o2_label"]],
        "single_knowlege_prompts": texts[:3],
        "knowlege_chain_prompt": texts[3][0].lower() + texts[3][1:],
    }


def test_a_build_is_exported_in_the_published_layout(built, tmp_path):
    facts = [Fact(1, 127, 2), Fact(2, 36, 3), Fact(4, 127, 2), Fact(5, 127, 2)]
    found = built(Snapshot(facts, labels={1: "Zoë's The Shop", 2: "Japan", 3: "Tokyo"}))
    target = tmp_path / "KLoB.jsonl"
    for name, number in (("c", 4), ("r", 3), ("u", 15)):
        rows = found.subtask(name)
        tables = [f"--{table}={found.folder}/klob_{table}.parquet" for table in ("examples", "sentences")]
        line = ["klob", "subtask", *tables, f"--subtask={name}", f"--published={target}"]
        assert main([*line, "-o", f"{tmp_path}/klob_{name}.parquet"]) == 0
        text = target.read_text(encoding="utf-8")
        assert text.endswith("\n")
        lines = text.splitlines()
        assert [json.loads(line) for line in lines] == [record(row) for row in rows]
        assert list(map(len, (lines, rows))) == [number] * 2
        if name == "r":
            wanted = ["Zoë's The Shop", "owned by_(P127)", "Japan", "capital_(P36)", "Tokyo"]
            (chain,) = (json.loads(line) for line in lines if "Zoë" in line)
            assert chain["knowledge_chain"] == wanted
            assert chain["single_knowlege_prompts"][0] == "Zoë's The Shop is owned by _"
            assert chain["knowlege_chain_prompt"] == "the capital of the owner of Zoë's The Shop is _"
