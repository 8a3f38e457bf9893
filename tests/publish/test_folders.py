"""What a folder holds besides its tables, that it is whole or absent, and what is refused."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from support.digests import Check, Product

from factdrift.audit.of_folders import folder as faults_of
from factdrift.chat.replies import read_reply
from factdrift.chat.requests import Request, canonical, key_of
from factdrift.chat.store import ANSWERS, Store
from factdrift.core.errors import InputError
from factdrift.publish import folders
from factdrift.publish.card import cell
from factdrift.publish.datasets import known
from factdrift.publish.folders import write_splits
from factdrift.tempripple.schemas import TR_ITEMS

from .conftest import MANIFEST, Bench, example, item, named, object_, update

FOLDERS = ("wikifactdiff", "wfd_repl", "klob", "tempripple", "stream", "corpus")


def header(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text("utf-8").split("---\n", 2)[1])
    return found


def card(folder: Path) -> str:
    """The text of the card, with single blanks."""
    return " ".join((folder / "README.md").read_text("utf-8").split())


@pytest.mark.parametrize("name", FOLDERS)
def test_card(name: str, published: Path) -> None:
    folder = published / name
    text = (folder / "README.md").read_text("utf-8")
    found = header(folder)
    assert found["license"] == ["cc0-1.0", "mit"]
    assert found["size_categories"] == ["n<1K"]
    assert [config.get("default", False) for config in found["configs"]].count(True) == 1
    for shard in folder.rglob("*.parquet"):
        for column in pq.read_schema(shard).names:
            assert f"`{column}`" in text
    example = json.loads(text.split("```json\n")[1].split("\n```")[0])
    assert list(example) in [pq.read_schema(shard).names for shard in folder.rglob("*.parquet")]
    assert list(published.rglob("figures/*.png"))
    assert "<built-in" not in text
    assert "](" not in text.partition("## Fields")[2].partition("## Files")[0]


HOSTILE = (
    *("[x](http://evil.example)", "![j](http://evil.example/x.png)", "<img src=x onerror=alert(1)>"),
    *("<http://evil.example>", "see https://evil.example or www.evil.example or me@evil.example"),
    *("a | b \\| c", "**bold** _it_ `code` ~~gone~~ $x^2$ &lt;b&gt;"),
    *("[x]: http://evil.example", "\\[x](http://evil.example)"),
)


def test_labels_on_a_card_are_text_as_it_is_written(bench: Bench, tmp_path: Path) -> None:
    """No link, image, markup or HTML; Markdown of GitHub and the hub links bare addresses, too."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    relations = [named(f"P{number}", label) for number, label in enumerate(HOSTILE, 1)]
    rows = [update(number, relation=relation) for number, relation in enumerate(relations, 1)]
    bench.put("wikifactdiff.parquet", rows)
    bench.write(tmp_path / "out", "wikifactdiff.parquet")
    text = (tmp_path / "out" / "wikifactdiff" / "README.md").read_text("utf-8").split("---\n", 2)[2]
    statistics = text.partition("## Statistics")[2].partition("## Fields")[0]
    assert all(cell(f"{label} (P{number})") in statistics for number, label in enumerate(HOSTILE, 1))
    tokens = [each for label in HOSTILE for each in markdown.parse(f"|a|b|\n|-|-|\n|{cell(label)}|2|\n")]
    inline = [each for token in tokens if token.type == "inline" for each in token.children]
    assert {each.type for each in inline} <= {"text", "text_special"}
    shown = {"".join(each.content for each in token.children) for token in tokens if token.type == "inline"}
    assert {each.replace("\u2060", "") for each in shown} == {*HOSTILE, "a", "b", "2"}
    assert not any(re.search(r"https?://|www\.|[\w.]@[\w.]", each) for each in shown)


def test_numbers_of_a_card_are_those_of_its_rows(bench: Bench, tmp_path: Path) -> None:
    rows = [update(1), update(1, template_source="generic", neighborhood=[])]
    rows += [update(2, "test", scenario="Archive", template_source="chat", popularity_source="pageviews")]
    ambiguous = {"objects": [object_("Land", "new", None, leaks=True)], "subject_is_ambiguous": True}
    bench.put("wikifactdiff.parquet", [*rows, update(900_000_001, **ambiguous)])
    account = {"incomplete": [], "complete_until": {}, "longer": {}}
    account |= {"facts": 21153, "made_up_ids": 548, "items": 6486}
    bench.manifest.write_text(json.dumps(MANIFEST | {"sample": {"2023-02-27": account}}), "utf-8")
    bench.write(tmp_path / "out", "wikifactdiff.parquet")
    text = card(tmp_path / "out/wikifactdiff")
    for sentence in (
        "Built from the bundled sample, a table of 21,153 dated facts",
        "4 updates of 3 subjects in 1 relations.",
        "Sentences of a chat model are also subject to the terms of its provider",
    ):
        assert sentence in text, sentence


def test_numbers_of_klob_and_tempripple(bench: Bench, tmp_path: Path) -> None:
    schema = pq.read_schema(bench.folder / "klob_c.parquet")
    rows = [example("c", 1), example("c", 2), example("c", 3) | {"o1": "Q30"}]
    bench.put("klob_c.parquet", rows, schema)
    asked = {"hop": 1, "asked_s": "Q1", "asked_p": "P2", "open_only": True, "discriminates": False}
    items = [item(1), item(2) | asked, item(3) | asked]
    bench.put("tempripple.parquet", items, pq.read_schema(bench.folder / "tempripple.parquet"))
    bench.write(tmp_path / "out", "wikifactdiff.parquet", "klob_c.parquet", "tempripple.parquet")
    klob = card(tmp_path / "out/klob")
    assert "is right for 66.7 % of" in klob
    assert "Built from Wikidata of 2021-01-04 with factdrift" in klob
    assert "| c | 3 | 6 |" in klob
    ripple = card(tmp_path / "out/tempripple")
    for sentence in ("3 items.", "2 items have no options", "2 related items have the same answer"):
        assert sentence in ripple
    assert "The 2 related items ask for 1 different facts" in ripple


def test_a_manifest_names_no_person_and_no_folder(published: Path) -> None:
    text = (published / "klob" / "manifest.json").read_text("utf-8")
    assert "someone" not in text
    configuration = json.loads(text)["configuration"]
    assert configuration["labels"] == ["labels.tsv", "shared/more.tsv"]
    assert configuration["dumps"] == {"2021-01-04": "old.json.gz"}
    assert json.loads(text)["dumps"] == MANIFEST["dumps"]


def test_equal_products_give_equal_bytes(bench: Bench, published: Path, tmp_path: Path) -> None:
    table = pq.read_table(bench.folder / "wikifactdiff.parquet")
    pq.write_table(table, bench.folder / "wikifactdiff.parquet", row_group_size=1)
    bench.write(tmp_path / "out")

    def contents(folder: Path) -> dict[str, bytes]:
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    assert contents(tmp_path / "out") == contents(published)


def test_only_what_was_built(bench: Bench, tmp_path: Path) -> None:
    """Tables, and the account that belongs to one; a split without rows is on the card only."""
    (bench.folder / "klob_meta.json").write_text("{}", "utf-8")
    written = bench.write(tmp_path / "out", "wikifactdiff.parquet", "klob_r.parquet", "klob_meta.json")
    assert written == {"wikifactdiff": 3, "klob": 1}
    klob = tmp_path / "out/klob"
    assert [path.name for path in (klob / "data").iterdir()] == ["r-00000-of-00001.parquet"]
    (config,) = header(klob)["configs"]
    assert [part["split"] for part in config["data_files"]] == ["r"]
    assert (klob / "klob_meta.json").read_text("utf-8") == "{}"
    bench.put("wfd_repl.parquet", [update(1)] * 1000)
    bench.write(tmp_path / "large", "wfd_repl.parquet")
    repl = tmp_path / "large/wfd_repl"
    assert [path.name for path in (repl / "data").iterdir()] == ["train-00000-of-00001.parquet"]
    assert "| `data` (default) | `test` | 0 | none" in (repl / "README.md").read_text("utf-8")
    assert header(repl)["size_categories"] == ["1K<n<10K"]


def test_a_data_set_without_rows_has_no_folder(bench: Bench, tmp_path: Path) -> None:
    for name in ("klob_c.parquet", "klob_r.parquet"):
        bench.put(name, [], pq.read_schema(bench.folder / name))
    assert "klob" not in bench.write(tmp_path / "out", "klob_c.parquet", "wfd_repl.parquet")
    with pytest.raises(InputError, match=r"klob_c.parquet, klob_r.parquet: no table has a row"):
        bench.write(tmp_path / "other", "klob_c.parquet", "klob_r.parquet")


def test_cards_have_the_results_of_the_audit(bench: Bench, tmp_path: Path) -> None:
    check = {"dataset": "wikifactdiff", "description": "what is called obsolete has ended", "kind": "gone"}
    check |= {"note": "it is the method's", "rows": 40, "failed": 3, "declared": 1}
    check |= {"rate": 0.075, "low": 0.026, "high": 0.199}
    other = {"dataset": "tempripple", "description": "the order is right", "rate": None, "rows": 0}
    kinds = [check, check | other]
    unchecked = {"tempripple": {"pool_size": "it needs all items"}}
    (bench.folder / "audit.json").write_text(json.dumps({"kinds": kinds, "unchecked": unchecked}), "utf-8")
    bench.write(tmp_path / "out", "audit.json", *(path.name for path in bench.products))
    texts = {name: (tmp_path / "out" / name / "README.md").read_text("utf-8") for name in FOLDERS}
    row = "| what is called obsolete has ended | 40 | 3 | 1 | 7.5 % (2.6 to 19.9) |"
    assert {name for name, text in texts.items() if row in text} == {"wikifactdiff", "wfd_repl"}
    assert "| the order is right | 0 | 3 | 1 | not checked |" in texts["tempripple"]
    why = 'Rows of a right build fail "what is called obsolete has ended" too: it is the method\'s.'
    assert why in texts["wikifactdiff"]
    assert "- pool_size: it needs all items" in texts["tempripple"]
    assert "None was made with this build" in texts["klob"]
    assert (tmp_path / "out/wfd_repl/audit.json").is_file()


def test_what_fails_leaves_nothing(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("broken")

    monkeypatch.setattr(folders, "write_checksums", broken)
    with pytest.raises(OSError, match="broken"):
        bench.write(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_what_is_there_is_not_overwritten(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    bench.write(tmp_path / "out", "klob_c.parquet")
    with pytest.raises(InputError, match="out: exists; remove it"):
        bench.write(tmp_path / "out", "klob_c.parquet")


def test_inputs_are_checked(bench: Bench, tmp_path: Path, refused: Callable[..., str]) -> None:
    def said(*arguments: object) -> str:
        return refused("publish", "folders", *arguments, "-o", tmp_path / "out")

    manifest = ("--manifest", bench.manifest)
    assert "no such file; build it, or leave it out" in said(bench.folder / "klob_d.parquet", *manifest)
    account = bench.folder / "klob_meta.json"
    account.write_text("{}", "utf-8")
    assert "add results/wikifactdiff.parquet" in said(account, *manifest)
    klob = bench.folder / "klob_c.parquet"
    assert "manifest.json: no such file" in said(klob, "--manifest", tmp_path / "manifest.json")
    assert "--answers and --store belong together" in said(klob, *manifest, "--store", tmp_path)
    for text in ("{", "[]"):
        bench.manifest.write_text(text, "utf-8")
        assert "is no JSON object" in said(klob, *manifest)
    bench.manifest.write_text('{"dates": {}}', "utf-8")
    assert "has no configuration; name the manifest.json of the build" in said(klob, *manifest)
    bench.manifest.write_text(json.dumps(MANIFEST), "utf-8")
    bench.put("wikifactdiff.parquet", [update(1, "validation")])
    assert "has splits other than train, test" in said(bench.folder / "wikifactdiff.parquet", *manifest)
    bench.put("klob_r.parquet", [update(1)])
    assert "has other columns than the other splits" in said(klob, bench.folder / "klob_r.parquet", *manifest)
    items = bench.folder / "tempripple.parquet"
    table = pq.read_table(items)
    pq.write_table(table.append_column("extra", table["s"]), items)
    assert "tr_items.md: has no row for the column extra; describe it there" in said(items, *manifest)
    assert not (tmp_path / "out").exists()


def test_tables_are_cut_into_shards(bench: Bench, tmp_path: Path) -> None:
    rows = [update(number, "test" if number % 3 == 0 else "train") for number in range(1, 21)]
    source = bench.put("wikifactdiff.parquet", rows)
    config = known()[0].configs[0]
    counts = write_splits(config, {"wikifactdiff.parquet": source}, tmp_path / "data", shard=6)
    assert counts == {"train": 14, "test": 6}
    names = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert names == ["test-00000-of-00001.parquet", *(f"train-0000{k}-of-00003.parquet" for k in range(3))]
    for split in counts:
        shards = sorted((tmp_path / "data").glob(f"{split}-*"))
        assert all(pq.read_metadata(path).num_rows <= 6 for path in shards)
        found = [row["subject"]["id"] for path in shards for row in pq.read_table(path).to_pylist()]
        assert found == [row["subject"]["id"] for row in rows if row["split"] == split]


@pytest.mark.digests
@pytest.mark.parametrize("name", FOLDERS)
def test_digests_of_published_folders(name: str, published: Path, digests: Check) -> None:
    """Of invented products: cards, descriptions and tables as others load them."""
    folder = published / name
    files = sorted(path.relative_to(published).as_posix() for path in folder.rglob("*") if path.is_file())
    # Pictures depend on the fonts of a machine; the list of checksums repeats what is compared.
    chosen = [file for file in files if not file.endswith((".png", ".svg", "SHA256SUMS", "manifest.json"))]
    # Of the description of the files only their checksums are left out, which PyArrow's version changes.
    described = Product(f"{name}/croissant.json", without=["distribution"])
    digests(f"published {name}", published, [*(set(chosen) - {described.path}), described])


ANSWER = b'{"choices": [{"message": {"content": "Ann leads."}, "finish_reason": "stop"}]}'


def request(name: str) -> Request:
    text = canonical({"messages": [{"role": "user", "content": name}]})
    return Request(name, key_of("tiny", text), text)


def answers(folder: Path, names: str) -> Path:
    rows = [dict.fromkeys(ANSWERS.names) | {"request": n, "key": request(n).key} for n in names]
    pq.write_table(pa.Table.from_pylist(rows, schema=ANSWERS), folder / "answers.parquet")
    return folder / "answers.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Store(tmp_path / "chat") as opened:
        for name in "abc":
            opened.keep(request(name), "tiny", read_reply(ANSWER), 1)
    return tmp_path / "chat"


def test_answers_of_the_build_and_no_others(bench: Bench, store: Path, tmp_path: Path) -> None:
    bench.write(tmp_path / "out", answers=(answers(tmp_path, "aac"),), store=store)
    for name in ("wikifactdiff", "wfd_repl"):
        with Store(tmp_path / "out" / name / "replay", reading=True) as copy:
            answered = copy.answered(request(letter).key for letter in "abc")
        assert answered == {request(letter).key for letter in "ac"}
        assert "replay/answers.sqlite" in (tmp_path / "out" / name / "SHA256SUMS").read_text("utf-8")
    assert not (tmp_path / "out" / "klob" / "replay").exists()


def test_the_audit_writes_a_folder_again_with_its_day_address_and_replies(
    bench: Bench, store: Path, tmp_path: Path
) -> None:
    pair, published = bench.folder / "a_b", bench.folder / "publish"
    (pair / "verbalize").mkdir(parents=True)
    shutil.copytree(store, bench.folder / "fetched/chat")
    edition = {"date": "2026-11-23", "url": "https://example.org"}
    bench.write(published, answers=(answers(pair / "verbalize", "aac"),), store=store, **edition)
    assert [fault for name in FOLDERS for fault in faults_of(published / name, pair)] == []
    (published / "wfd_repl/replay/answers.sqlite").write_bytes(b"")
    (fault,) = faults_of(published / "wfd_repl", pair)
    assert fault.reason == "replay/answers.sqlite is not what the products give"


def test_a_store_that_lacks_an_answer(bench: Bench, store: Path, tmp_path: Path) -> None:
    given = (answers(tmp_path, "ad"),)
    with pytest.raises(InputError, match="chat: lacks 1 of 2 answers"):
        bench.write(tmp_path / "out", answers=given, store=store)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_second_revision_keeps_the_names_of_the_files(bench: Bench, tmp_path: Path) -> None:
    """Whoever loads a file by its name finds the revised one there; its version tells them apart."""

    def names(folder: Path) -> list[str]:
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

    bench.write(tmp_path / "first")
    rows = [update(number, split) for number, split in enumerate(("train", "test", "train", "test"), 5)]
    bench.put("wikifactdiff.parquet", rows)
    bench.put("tempripple.parquet", [item(7), item(8, open_only=True, options=None)], TR_ITEMS)
    bench.write(tmp_path / "second")
    assert names(tmp_path / "first") == names(tmp_path / "second")
    for name in ("wikifactdiff", "tempripple"):
        paths = (tmp_path / part / name / "croissant.json" for part in ("first", "second"))
        first, second = (json.loads(path.read_text("utf-8")) for path in paths)
        assert first["name"] == second["name"]
        assert first["version"] != second["version"]
