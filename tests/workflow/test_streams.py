"""A sequence of dates of the sample, as the real workflow builds it, and what it makes again."""

import itertools
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.chat_server import chat_serving
from support.excerpt import LABELS
from support.rows import rows
from support.sequences import check_chains, check_composition
from support.workflow import Once, copied, jobs, joined, snakemake

from factdrift.audit.kinds import ASKED, CORPUS
from factdrift.cli import main
from factdrift.pages.report.blocks import Build
from factdrift.pages.report.page import write_page
from factdrift.streams.timelines import TIMELINES

pytestmark = pytest.mark.slow

STREAM = ["2015-01-01", "2019-01-01", "2021-01-04", "2023-02-27"]
FIRST, LAST = STREAM[0], STREAM[-1]
OF_STREAM = {"stream_chains": 1, "stream": 1, "publish": 1}
SNAPSHOT = {"render_sample": 1, "extract_shard": 1, "gather_snapshot": 1, "gather_statements": 1}
DIFFERENCE = {"filter_context": 2, "preprocess": 2, "difference": 1, "assemble": 1}


@pytest.fixture(scope="module")
def stream(built: Path, once: Once) -> Path:
    """The default build, with the stream of the sample and the difference between its first and last date."""

    def make(directory: Path) -> None:
        triples = f"results/{FIRST}_{LAST}/triples/0-of-1.parquet"
        snakemake(copied(built, directory), "results/stream.parquet", triples, stream=STREAM)

    return once("stream", make)


def triples(directory: Path, old: str, new: str) -> list[dict[str, Any]]:
    """All triples of a pair with the value and the ids of their statements."""
    found = []
    pair = directory / "results" / f"{old}_{new}"
    for bucket in sorted(path.name for path in (pair / "triples").iterdir()):
        own = rows(pair / "triples" / bucket)
        for which in ("old", "new"):
            statements = pq.read_table(pair / "filtered" / which / bucket, columns=["statement", "key"])
            table = statements.take(pq.read_table(pair / "kept" / which / bucket)["row"]).to_pylist()
            for row in own:
                place = row.pop(f"{which}_row")
                row[f"{which}_statement"] = None if place is None else table[place]["statement"]
                row["key"] = row.get("key") if place is None else table[place]["key"]
        found += own
    return found


def test_the_laws_hold_on_the_sample(stream):
    consecutive = [triples(stream, old, new) for old, new in itertools.pairwise(STREAM)]
    check_composition(consecutive, triples(stream, FIRST, LAST))
    found = pq.read_table(stream / "results/stream.parquet")
    table = found.select(["interval", "chain", "link", "links", "reverts", "superseded_by", "changes"])
    chained = [row | {"subject": row["chain"], "property": 0} for row in table.to_pylist()]
    check_chains(sorted(chained, key=lambda row: (row["interval"], row["chain"])), len(STREAM) - 1)
    for place, (old, new) in enumerate(itertools.pairwise(STREAM), start=1):
        pair = pq.read_table(stream / "results" / f"{old}_{new}" / "wikifactdiff.parquet")
        own = found.filter([each.as_py() == place for each in found["interval"]])
        assert own.select(pair.column_names).equals(pair)
        assert set(own["old_date"].to_pylist()) == {old}
        assert set(own["new_date"].to_pylist()) == {new}


def test_an_update_is_shown_with_its_place_in_the_chain(stream, capsys):
    path = str(stream / "results/stream.parquet")
    assert main(["show", path, "--subject", "Q30", "--relation", "P6"]) == 0
    said = capsys.readouterr().out
    first, second = said.index("2015-01-01 to 2019-01-01, update 1 of 2"), said.index("update 2 of 2")
    assert "changed 2017-01-20, superseded by 2" in said[first:second]
    assert "changed 2021-01-20\n" in said[second:]


def test_the_page_has_a_section_about_the_stream(stream):
    results = stream / "results"
    pair = results / "2021-01-04_2023-02-27"
    write_page(Build(results, pair, stream / "logs", results / "stream.parquet"), results / "report.html")
    page = (results / "report.html").read_text("utf-8")
    section = page.partition('<section id="streams"')[2].partition("</section>")[0]
    for text in ("Updates by interval", "2019-01-01", "dated to a month", "up to 731 days"):
        assert text in section


@pytest.mark.digests
def test_questions_with_a_date(stream, digests):
    snakemake(stream, "results/asof.parquet", "results/stream.svg", stream=STREAM)
    assert "<svg" in (stream / "results/stream.svg").read_text("utf-8")
    digests("stream", stream, ["results/stream.parquet", "results/asof.parquet"])


TWO_TIMES = [f"results/{name}" for name in ("known.parquet", "half_life.svg", "corpus.parquet")]
TWO_TIMES += ["results/half_life.parquet", "results/corpus_questions.parquet"]


def check_known(directory: Path, dates: list[str], **keys: Any) -> list[dict[str, Any]]:
    """What the dumps up to a date prove is what a stream of them gives; for the last two dates."""
    snakemake(directory, "results/known.parquet", stream=dates, **keys)
    known = rows(directory / "results/known.parquet")
    snakemake(directory, "results/known.parquet", stream=dates[:-1], **keys)
    for number, day in enumerate(dates[-2:], start=len(dates) - 1):
        by_dump = [
            row
            for row in known
            if max(row["linked_from"], row["known_from"]) <= day
            if row["known_until"] is None or day < row["known_until"]
        ]
        (folder,) = (directory / "results/streams").glob(f"*_{number}_*/timelines")
        alone = [row for part in folder.iterdir() for row in rows(part)]
        counts = [
            Counter(tuple(row[name] for name in TIMELINES.names) for row in part) for part in (by_dump, alone)
        ]
        assert counts[0] == counts[1]
        assert counts[0]
    return known


@pytest.mark.digests
def test_two_times(stream, digests):
    """What each dump knew is what a stream up to it gives; documents state it, and questions ask it."""
    check_known(stream, STREAM)
    snakemake(stream, *TWO_TIMES, stream=STREAM)
    half_life = {row["relation"]: row for row in rows(stream / "results/half_life.parquet")}
    assert 3 < half_life["P6"]["median"] < 6
    priors = {f"P{row['property']}": row["stale_after_1y"] for row in rows(stream / "results/known.parquet")}
    assert {name: row["stale_after_1y"] for name, row in half_life.items()}.items() <= priors.items()
    assert "<svg" in (stream / "results/half_life.svg").read_text("utf-8")
    digests("two times", stream, [name for name in TWO_TIMES if name.endswith(".parquet")])


CUTOFF = [f"results/{name}" for name in ("cutoff.parquet", "cutoff_answers.parquet", "cutoff.svg")]


def test_dates_of_models(stream, tmp_path, monkeypatch):
    """A model of random weights has no date; a chat model is asked in two ways."""
    torch = pytest.importorskip("torch")
    from support.tiny_models import tiny_model, tiny_tokenizer

    tiny_model("llama", dtype=torch.float32).model.save_pretrained(tmp_path / "tiny")
    tiny_tokenizer().save_pretrained(tmp_path / "tiny")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    tiny = str(tmp_path / "tiny")
    config: dict[str, Any] = {"stream": STREAM, "models": [tiny], "written": {"tokens": 2}}

    def newest(body: dict[str, Any]) -> str:
        (turn,) = body["messages"]
        return "Joe Biden." if "United States" in turn["content"] else "I do not know."

    with chat_serving(answer=newest) as server:
        asked = {"answer": {"chat": True, "scoring": ["written"]}}
        asked |= {"chat": {"model": "loopback", "base_url": server.url}}
        made = jobs(snakemake(stream, *CUTOFF, **config, **asked))
    assert made["ask_chat_model"] == made["answer_requests"] == made["answer_read"] == 1
    found, answers = (pq.read_table(stream / target).to_pylist() for target in CUTOFF[:2])
    assert {row["model"] for row in found} == {row["model"] for row in answers} == {tiny, "loopback"}
    of_tiny = [row for row in found if row["model"] == tiny]
    assert {(row["verdict"], row["first_date"], row["last_date"]) for row in of_tiny} == {
        ("none", FIRST, LAST)
    }
    of_chat = [row for row in answers if row["model"] == "loopback"]
    heads = next(row for row in of_chat if row["chain"] == "Q30-P6" and row["way"] == "written")
    assert [each["label"] for each in heads["holders"]] == ["Barack Obama", "Donald Trump", "Joe Biden"]
    assert heads["holders"][heads["choice"]]["label"] == "Joe Biden"
    reasons = {(row["way"], row["reason"]) for row in of_chat}
    assert reasons == {("letter", "no_letter"), ("written", None), ("written", "unnamed")}
    assert "<svg" in (stream / CUTOFF[2]).read_text("utf-8")
    measured = {**config, "answer": {"model_cutoff": "measured"}}
    said = joined(snakemake(stream, "-n", "results/answer_scores.parquet", "results/report.html", **measured))
    (folder,) = (stream / "results" / "streams").glob(f"*_{len(STREAM)}_*")  # another test has a shorter one
    for given in (f"--dates results/streams/{folder.name}/cutoff.parquet", "--cutoff=results/cutoff.parquet"):
        assert given in said
    assert "--stream=results/stream.parquet" in said


def planned(directory: Path, dates: list[str]) -> dict[str, int]:
    said = snakemake(directory, "-n", "results/stream.parquet", stream=dates)
    # Jobs that no date has are none of this comparison.
    return {rule: number for rule, number in jobs(said).items() if rule not in OF_STREAM}


def test_a_date_in_between_makes_its_snapshot_and_its_two_pairs(stream):
    assert planned(stream, STREAM) == {}
    more = planned(stream, [FIRST, "2017-01-01", *STREAM[1:]])
    assert more.items() >= SNAPSHOT.items()
    assert more.items() >= {name: 2 * number for name, number in DIFFERENCE.items()}.items()
    # Without a date only the pair of its neighbours is made.
    fewer = planned(stream, [FIRST, STREAM[2], LAST])
    assert fewer["assemble"] == 1
    assert not set(SNAPSHOT) & set(fewer)


def test_other_dates_give_another_dataset_and_the_first_dates_again_only_copies(stream):
    names = ("wfd_repl.parquet", "wikifactdiff.parquet", "wikifactdiff.stats.json", "funnel.parquet")
    before = {name: (stream / "results" / name).read_bytes() for name in names}
    snakemake(stream, snapshots={"old": FIRST, "new": STREAM[1]})
    assert pq.read_metadata(stream / "results/wfd_repl.parquet").num_rows >= 30
    assert (stream / "results/wfd_repl.parquet").read_bytes() != before["wfd_repl.parquet"]
    assert set(jobs(snakemake(stream))) == {"all", "publish"}
    assert {name: (stream / "results" / name).read_bytes() for name in names} == before


REAL = os.environ.get("FACTDRIFT_REAL_DATA")


@pytest.mark.skipif(not REAL, reason="FACTDRIFT_REAL_DATA does not name the folder of real dumps")
def test_the_laws_hold_on_real_dumps(tmp_path):
    """Two captures of the same entities, and between them what the later one says of an earlier day."""
    folder = Path(str(REAL)) / "wikidata"
    dates = ["2018-09-03", "2020-01-01", "2021-06-14"]
    sources = [str(folder / "pair-2018-09.json.gz"), "derive", str(folder / "pair-2021-06.json.gz")]
    keys = {"snapshots": {"old": dates[0], "new": dates[-1]}, "stream": dates, "shards": 1, "buckets": 1}
    keys |= {"dumps": dict(zip(dates, sources, strict=True)), "scope": "all", "objects": "any"}
    pairs = [*itertools.pairwise(dates), (dates[0], dates[-1])]
    snakemake(tmp_path, *(f"results/{old}_{new}/triples/0-of-1.parquet" for old, new in pairs), **keys)
    *consecutive, direct = [triples(tmp_path, old, new) for old, new in pairs]
    assert min(len(each) for each in [*consecutive, direct]) > 5000
    assert {row["change"] for row in direct} == {"F-", "F0", "F+"}
    check_composition(consecutive, direct)
    keys |= {"labels": LABELS}
    del keys["stream"]
    known = check_known(tmp_path, dates, **keys)
    # The later capture has a head of Mali's government whom the earlier one should have had.
    became = {row["became"] for row in known if (row["subject_label"], row["property"]) == ("Mali", 6)}
    assert "corrected" in became
    audited = [*TWO_TIMES, "results/audit.parquet"]
    snakemake(tmp_path, *audited, stream=dates, audit={"rows": 100_000}, **keys)
    findings = [row for row in rows(tmp_path / "results/audit.parquet") if row["dataset"] in (CORPUS, ASKED)]
    passed = Counter(row["kind"] for row in findings if row["outcome"] == "passed")
    assert min(passed[kind] for kind in ("stated", "sentences", "held", "stale")) >= 5, passed
    assert [row for row in findings if row["outcome"] == "failed"] == []
