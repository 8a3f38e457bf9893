"""The page about a build: its numbers, what is on it, what it loads, and hostile labels."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.updates import dataset, update

from factdrift.core.errors import InputError
from factdrift.core.products import product_of
from factdrift.core.tables import database
from factdrift.evaluation.layouts.rows import SCHEMA
from factdrift.evaluation.scores.cutoff import TABLE as CUTOFF
from factdrift.pages.report import world
from factdrift.pages.report.blocks import Build
from factdrift.pages.report.findings import edited
from factdrift.pages.report.page import write_page
from factdrift.streams.assemble import STREAM


class Page(HTMLParser):
    """Sections, tables as rows of text, addresses and names of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.addresses: list[str] = []
        self.names: set[str] = set()
        self.tags: list[str] = []
        self._rows: list[list[str]] = []
        self._open = False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.tags.append(tag)
        if "id" in given:
            self.names.add(str(given["id"]))
        self.addresses += [str(given[name]) for name in ("href", "src", "action") if name in given]
        if tag == "section":
            self.sections.append(str(given["id"]))
        elif tag == "figure":
            self._rows = self.tables[str(given["id"])] = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self._rows[-1][-1] += data


@pytest.fixture(scope="module")
def page(sample: Build) -> Page:
    return Page(sample.results / "report.html")


def test_sections_are_those_of_what_was_built(page: Page) -> None:
    assert page.sections == [
        *("updates", "time", "scenarios", "funnel", "popularity", "neighbours", "templates"),
        *("origin", "times", "files"),
    ]


def test_numbers_are_those_of_the_tables(page: Page, sample: Build) -> None:
    stats = json.loads((sample.pair / "wikifactdiff.stats.json").read_text("utf-8"))
    text = (sample.results / "report.html").read_text("utf-8")
    assert f">{stats['wikifactdiff']['updates']:,}</a>" in text
    both = {row[0]: row[1:] for row in page.tables["scenarios-2"]}
    assert both["triples"] == [f"{stats[name]['triples']:,}" for name in ("wikifactdiff", "wfd_repl")]
    columns = ["relation", "objects", "is_replace"]
    rows = pd.read_parquet(sample.pair / "wikifactdiff.parquet", columns=columns)
    relations = rows["relation"].map(lambda relation: relation["id"])
    expected = {}
    for relation, mine in rows.groupby(relations):
        decisions = [value["decision"] for objects in mine["objects"] for value in objects]
        counts = [decisions.count(name) for name in ("new", "obsolete", "static")]
        numbers = [len(mine), len(decisions), *counts, int(mine["is_replace"].sum())]
        expected[relation] = [f"{number:,}" for number in numbers]
    assert {row[0]: row[2:] for row in page.tables["scenarios-3"][1:]} == expected
    funnel = pd.read_parquet(sample.pair / "funnel.parquet")
    rules = funnel[funnel["stage"] == "rules"].groupby("reason")["triples"].sum()
    counts = {rule: f"{number:,}" for rule, number in rules.items()}
    assert {row[0]: row[2] for row in page.tables["funnel-3"][1:]} == counts
    assert all(row[1] for row in page.tables["funnel-3"][1:]), "each rule is explained"
    assert "kept" not in [row[0] for row in page.tables["funnel-5"]]
    text = (sample.results / "report.html").read_text("utf-8")
    assert "wfd_repl keeps 502 of the 536 replacements: 34 of relations" in text
    assert re.search(r"left out by chance \(.*; key undersample\)\.", text)


def test_without_a_replacement_other_scenarios_are_shown(tmp_path: Path) -> None:
    build = Build(tmp_path, tmp_path, tmp_path)
    dataset(tmp_path / "wikifactdiff.parquet", [update("America", 1, scenario="Archive", is_replace=False)])
    with database() as db:
        replaced, every = world.updates(build, db)[1]
    assert replaced.kind == every.kind == "cards"
    assert [card["scenario"] for card in (*replaced.shown, *every.shown)] == ["Archive"]


def test_a_stream_without_updates_has_no_section(tmp_path: Path) -> None:
    pq.write_table(pa.schema([*SCHEMA, *STREAM]).empty_table(), tmp_path / "stream.parquet")
    build = Build(tmp_path, tmp_path, tmp_path, tmp_path / "stream.parquet")
    with database() as db:
        assert world.streams(build, db) == ("", [])


def months_of(sample: Build) -> dict[str, list[int]]:
    """Month -> how many updates are dated to it by what began, and by what ended; `` for the others."""
    counts: dict[str, list[int]] = {}
    for objects in pd.read_parquet(sample.dataset, columns=["objects"])["objects"]:
        new = [value for value in objects if value["decision"] == "new"]
        days = [value[name] for value in new for name in ("start", "point_in_time") if value[name]]
        days = days or [value["end"] for value in objects if value["decision"] == "obsolete" and value["end"]]
        month = min(days, default="")[:7]
        inside = len(month) == 7 and "2021-01" <= month <= "2023-02"
        counts.setdefault(month if inside else "", [0, 0])[not new] += 1
    return counts


def test_the_time_line_has_every_update_once(sample: Build) -> None:
    text = (sample.results / "report.html").read_text("utf-8")
    title = r"<title>(\d{4}-\d\d): ([\d,]+) something new began, ([\d,]+) something only ended</title>"
    counted = re.findall(title, text)
    expected = months_of(sample)
    assert len(counted) == 26
    outside = sum(expected.pop(""))
    assert f"{outside:,} updates have no date between" in text
    assert {month: [int(new), int(ended)] for month, new, ended in counted} == expected


def test_three_findings_are_those_of_the_tables(sample: Build) -> None:
    text = (sample.results / "report.html").read_text("utf-8")
    found = re.findall(r"<li>(<b>.*?) <a href=\"#(\w+)\"", text)
    plain = [re.sub("<.*?>", "", sentence) for sentence, _ in found]
    assert [section for _, section in found] == ["updates", "time", "funnel"]
    rows = pd.read_parquet(sample.dataset)
    assert plain[0].startswith(f"In {rows['is_replace'].sum():,} of {len(rows):,} updates one object")
    kept = len(pd.read_parquet(sample.pair / "wfd_repl.parquet"))
    assert f"; wfd_repl has {kept:,} of them to edit with." in plain[0]
    first = rows[rows["is_replace"]].iloc[0]
    label = {value["decision"]: value["label"] for value in first["objects"]}
    old, new = label["obsolete"], label["new"]
    called = f"{first['relation']['label']} of {first['subject']['label']}"
    assert plain[0].endswith(f"{called}: {old}, then {new}.")
    months = months_of(sample)
    del months[""]
    month = max(months, key=lambda name: sum(months[name]))
    day = pd.Timestamp(f"{month}-01")
    assert f"{day:%B %Y}, with {sum(months[month])}." in plain[1]
    relations = rows["relation"].map(lambda relation: relation["label"]).value_counts()[:3]
    share = f"{100 * relations.sum() / len(rows):.0f} %"
    first, second, third = relations.index
    assert f"Of all updates, {share} are about {first}, {second}, and {third}." in plain[1]
    funnel = pd.read_parquet(sample.pair / "funnel.parquet").groupby(["stage", "reason"])["triples"].sum()
    kept, whole = funnel["groups", "kept"], funnel["difference"].sum()
    assert plain[2].startswith(f"{kept:,} of the {whole:,} triples in either dump are in an update")
    assert f"; {funnel['groups', 'unknown']:,} are left out" in plain[2]


def test_the_finding_of_edits_is_about_edited_models(sample: Build, tmp_path: Path) -> None:
    build = replace(sample, results=tmp_path, pair=tmp_path / sample.pair.name)
    (build.pair / "edit").mkdir(parents=True)
    (build.pair / "edit_scores.parquet").touch()
    rows = [("none", 60, None), ("ft", 37.5, 64.3), ("rome", 84.4, 5.7), ("own", None, None)]
    table = [("tiny", name, 32, right, lost) for name, right, lost in rows]
    columns = ["model", "method", "edits", "written_correct", "nearest_lost"]
    pd.DataFrame(table, columns=columns).to_csv(build.pair / "edit" / "table6.csv", index=False)
    (finding,) = edited(build)
    plain = re.sub("<.*?>", "", finding.text)
    said = "After 84 % of 32 edits by rome, the best of 2 methods, tiny writes the new object; "
    assert plain == f"{said}6 % of the nearest facts are lost."


def test_every_number_names_a_file_that_exists_and_its_command(page: Page, sample: Build) -> None:
    inside = {address[1:] for address in page.addresses if address.startswith("#")}
    assert inside <= page.names
    others = ("#", "data:", "https://www.wikidata.org/wiki/Q")
    files = [address for address in page.addresses if not address.startswith(others)]
    assert len(files) >= 6
    for file in files:
        assert (sample.results / file).exists(), file
    text = (sample.results / "report.html").read_text("utf-8")
    assert len(re.findall(r"<figure ", text)) == len(re.findall(r'<p class="source">.*<a href="#file-', text))
    warned = re.findall(r'<p class="warning".*?</p>', text)
    assert warned
    assert all('<a href="#file-' in warning for warning in warned)
    commands = re.findall(r"<td><code>(.*?)</code></td>", text)
    for command in commands:  # that all products can be planned, tests/workflow/test_products.py says
        target = command.removeprefix("snakemake --cores all").removeprefix(" results/")
        assert not target or product_of(target)


def test_the_page_needs_nothing_else_and_is_the_same_each_time(sample: Build, tmp_path: Path) -> None:
    path = sample.results / "report.html"
    text = path.read_text("utf-8")
    assert not re.findall(r"src=\"(?:https?:)?//|<link[^>]*https?:|url\(|@import|<iframe|<object", text)
    write_page(sample, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == path.read_bytes()
    assert path.stat().st_size < 1_000_000


def test_hostile_labels_are_text(hostile: Build) -> None:
    path = hostile.results / "report.html"
    text, plain = path.read_text("utf-8"), Page(path)
    assert plain.tags.count("script") == 1
    assert "img" not in plain.tags
    assert "&lt;script&gt;window.hacked" in text
    assert "{{ 7 * 7 }}" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e]", text)
    assert "x" * 200 not in text
    assert path.stat().st_size < 1_000_000


MORE = {
    "edit_scores.parquet": "",
    "edit/table6.csv": "model,kind,method,edits,failed,efficacy_d,efficacy_d_ci95,source\n"
    'm,replace,rome,9,0,91.5,2,entry\nm,,memit,0,0,,,\nm,replace,ft,9,0,50,,"derived, not tuned: x"\n',
    "edit/table6.txt": "Table 6 <b>\n",
    "edit/bleedover.svg": '<?xml version="1.0"?>\n<svg><path d="M0 0"/></svg>',
    **dict.fromkeys((f"{name}.parquet" for name in ("ripple_scores", "locate_scores", "locate_vs_edit")), ""),
    **{"answer_scores.parquet": "", "answer/ripples.txt": "right of all probes\n"},
    **{"locate/table_c.txt": "KLoB-c, consistency\n", "locate/vs_edit.txt": "Rank correlation\n"},
    **{"answer/table2.txt": "Table 2\n", "verbalization_report.txt": "P6 sentences\n"},
}


@pytest.fixture(scope="module")
def full(copied: Callable[[], Build]) -> Build:
    """A build with all that has a section, on a sample that ends before its new date, with its page."""
    build = copied()
    path = build.pair / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    account = manifest["sample"]["2023-02-27"]
    account["incomplete"], account["complete_until"]["sport"] = ["sport"], "2022-12-31"
    path.write_text(json.dumps(manifest), "utf-8")
    for name, text in MORE.items():
        path = build.pair / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    said = {"role": "expr", "text_blank": "The capital of Q is _"}
    examples = [{"pop_s": n, "sentences": [said | {"target_label": f"<b>{n}"}]} for n in range(8)]
    pq.write_table(pa.Table.from_pylist(examples), build.pair / "klob_c.parquet")
    item = {"task": 1, "hop": 0, "options": ["a", "b", "c", "d"], "answer_label": "a", "discriminates": True}
    items = [
        *(item | {"s": f"Q{number}", "question": f"Who holds {number}?"} for number in (100, 20, 3)),
        item | {"s": "Q1", "question": "Who is it?", "discriminates": None},
        item | {"s": "Q4", "task": 4, "hop": 2, "question": "Who was it?"},
    ]
    (build.pair / "tempripple").mkdir()
    pq.write_table(pa.Table.from_pylist(items), build.pair / "tempripple/tr_items.parquet")
    row: dict[str, Any] = dict.fromkeys(CUTOFF.names)
    row |= {"model": "m", "way": "likelihood", "reading": "plain", "subset": "all", "value": "all"}
    row |= {"first_date": "2012-01-01", "last_date": "2024-12-31", "informative": 1300, "p": 0.001}
    found = {"date": "2021-01-05", "low": "2020-12-28", "high": "2021-01-11", "tau": 7.0, "eps": 0.1}
    rows = [{**row, "verdict": "date", **found}]
    rows += [{**row, "model": "n", "verdict": verdict} for verdict in ("none", "before", "after")]
    dates = build.results / "cutoff.parquet"
    pq.write_table(pa.Table.from_pylist(rows, CUTOFF), dates)
    dates.with_suffix(".svg").write_text("<?xml ?><svg></svg>")
    write_page(replace(build, cutoff=dates), build.results / "report.html")
    return build


def test_what_was_built_besides_is_shown(full: Build) -> None:
    page = Page(full.results / "report.html")
    assert {"editing", "ripples", "klob", "tempripple", "verbalizations", "cutoff"} <= set(page.sections)
    assert page.tables["editing-1"][1][:5] == ["m", "rome", "9", "0", "91.50 ± 2.00"]
    assert page.tables["editing-1"][2][4] == "–"
    assert page.tables["editing-1"][3][:5] == ["m", "ft*", "9", "0", "50.00"]
    assert [row[-1] for row in page.tables["klob-1"][1:]] == ["<b>7"]
    asked = [row[:3] for row in page.tables["tempripple-1"][1:]]
    assert asked == [["new", "0", "Who holds 3?"], ["old related", "2", "Who was it?"]]
    text = (full.results / "report.html").read_text("utf-8")
    for said in (
        *("Table 6 &lt;b&gt;", "<path d=", "KLoB-c, consistency", "Rank correlation", "right of all"),
        '<abbr title="the probability of the new object less that of the old one',
        "The sample is not complete on 2023-02-27 (sport until 2022-12-31): what changed later",
    ):
        assert said in text
    section = text.partition('<section id="cutoff"')[2].partition("</section>")[0]
    for said in ("2021-01-05", "no date can be told", "before 2012-01-01", "after 2024-12-31", "<svg"):
        assert said in section


def test_a_figure_with_a_script_is_refused(full: Build, tmp_path: Path) -> None:
    (full.pair / "edit/bleedover.svg").write_text("<svg><script>1</script></svg>")
    with pytest.raises(InputError, match=r"edit/bleedover\.svg: has a script in it"):
        write_page(full, tmp_path / "report.html")


def test_a_file_elsewhere_cannot_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build = Build(Path("results"), Path("results/2021-01-04_2023-02-27"), Path("logs"))
    assert build.source(tmp_path / "results/stream.parquet").path == "stream.parquet"
    with pytest.raises(InputError, match=r"stream\.parquet: is not below results, the folder of the page"):
        build.source(tmp_path / "stream.parquet")


def test_without_a_dataset_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a build beside the tests would be meant instead
    build = Build(tmp_path, tmp_path / "2021-01-04_2023-02-27", tmp_path)
    with pytest.raises(InputError, match=r"manifest\.json: no such file; build it with `snakemake"):
        write_page(build, tmp_path / "report.html")
