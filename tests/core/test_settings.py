"""The configuration: what is accepted, what is refused, and the messages."""

import datetime
import json
import math
import re
from pathlib import Path

import pytest
from support.configured import configured

from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml
from factdrift.core.keys import read_settings, settings_of, validator
from factdrift.core.paths import CONFIG, SCHEMA
from factdrift.core.settings import (
    check_contact,
    check_files,
    configure,
    dates_of,
    derived_from,
    dump_source,
    names,
    read_ids,
    scope,
)
from factdrift.core.switches import switches
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.updates.method import PART, UpdateSettings


def settings_in(config):
    return read_settings(settings_of(config, UpdateSettings, PART), UpdateSettings, PART)


def test_dates_are_read_however_yaml_gives_them():
    for date in (datetime.date(2021, 1, 4), "2021-01-04", 20210104, "20210104"):
        dumps = {date: "a.json", "2023-02-27": "b"}
        config = configured(**of_pair(date), dumps=dumps, refresh={"released": [date]})
        assert config["snapshots"]["old"] == config["refresh"]["released"][0] == "2021-01-04"
        assert dump_source(config, "2021-01-04") == "a.json"


def test_presets_are_valid_over_the_default():
    for path in (CONFIG / "presets").glob("*.yaml"):
        config = read_yaml(CONFIG / "config.yaml") | read_yaml(path)
        configure(config, keys_of_methods)
        chosen = settings_in(config)
        assert chosen.t_old < chosen.t_new, path


def of_pair(old="2021-01-04", new="2023-02-27"):
    return {"snapshots": {"old": old, "new": new}}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (of_pair("2021-13-04"), "snapshots.old: '2021-13-04' is no date"),
        (of_pair("2023-02-27", "2021-01-04"), "snapshots.old (2023-02-27) is not before"),
        (of_pair("2021-01-04", "2021-01-04"), "is not before"),
        (of_pair(None), "configuration: snapshots.old: None is no date; write it as 2021-01-04"),
        ({"snapshots": {"old": "2021-01-04"}}, "'new' is a required property in snapshots"),
        ({"methods": ["rome", "magic"]}, "methods: magic: no such method; there are alphaedit, "),
        ({"verbalizer": "chat"}, "chat.model"),
        ({"verbalizer": "file"}, "templates_file"),
        ({"speed": 3}, "unknown key speed (did you mean seed?); known are snapshots, stream, dumps"),
        ({"only": {"relation": ["P6"]}}, "unknown key only.relation (did you mean relations?); known are "),
        ({"only": {"relations": ["Q6"]}}, "'^P[1-9][0-9]*$' (a property id, such as P6)"),
        ({"variant": "best"}, "variant: 'best' is not one of ['paper', 'reference', 'revised']"),
        ({"seed": -1}, "seed: -1 is less than the minimum of 0"),
        ({"shards": 0}, "shards: 0 is less than the minimum of 1"),
        ({"buckets": 2.5}, "buckets: 2.5 is not of type 'integer'"),
        ({"test_share": 10**400}, "test_share: 1000"),
        ({"publish": {"date": "2026-11-31"}}, "publish.date: '2026-11-31' is not valid"),
        ({"dumps": {"2021-01-04": "a.json"}}, "dumps has no entry for 2023-02-27; add `2023-02-27: PATH`"),
        ({"dumps": "wikipedia"}, "A map gives a source for each date: the path or"),
        (
            {"tempripple": {"window_start": "2025-01-01"}},
            "tempripple.window_start (2025-01-01) is not before tempripple.change_start (2025-01-01)",
        ),
        ({"tempripple": {"immutable_from": "2026-01-01"}}, "after tempripple.immutable_until (2025-12-31"),
        ({"tempripple": {"related": {"cap_per_fact": -1}}}, "related.cap_per_fact: -1 is not valid"),
        ({5: 1}, "configuration: 5: YAML reads this key as int"),
        ({"rome": {"steps": [{None: 1}]}}, "None: YAML reads this key as NoneType"),
    ],
)
def test_each_fault_is_named_with_its_key(keys, message):
    config = of_pair() | keys
    with pytest.raises(InputError) as error:
        configure(config, keys_of_methods)
    assert message in str(error.value)


def test_all_faults_are_reported_together():
    with pytest.raises(InputError) as error:
        configured(shards=0, buckets="many", colour="red")
    assert all(key in str(error.value) for key in ("shards", "buckets", "colour"))


def test_variants_bring_their_own_switches_unless_they_are_set():
    paper = {"dates": "first_day", "objects": "relevant", "merges": "off", "leaks": "keep"}
    words = {"grammar": "fitted", "measurements": "plain", "subject_names": "label"}
    assert switches(configured()) == {**paper, **words}
    reference = switches(configured(variant="reference"))
    assert (reference["objects"], reference["grammar"]) == ("any", "plain")
    revised = configured(variant="revised")
    assert switches(revised) == {
        **{"dates": "interval", "objects": "relevant", "merges": "detect", "leaks": "drop"},
        **{"grammar": "fitted", "measurements": "dated", "subject_names": "unique"},
    }
    assert scope(revised) == "all"
    # An unquoted `off` is a truth value in YAML.
    assert switches(configured(variant="revised", merges=False))["merges"] == "off"


def test_which_items_get_a_row():
    for keys, wanted in (
        *(({}, "held"), ({"scope": "anywiki"}, "held"), ({"scope": "all"}, "all")),
        *(({"objects": "any"}, "all"), ({"merges": "detect"}, "all")),
        ({"variant": "reference", "objects": "relevant"}, "all"),
        ({"variant": "revised", "merges": "off"}, "all"),
    ):
        assert names(configured(**keys)) == wanted, keys


def test_a_method_needs_no_more_than_its_dates():
    days = {"snapshots_old": "2021-01-04", "snapshots_new": "2023-02-27"}
    paper, reference = (settings_in(configured(variant=variant)) for variant in ("paper", "reference"))
    assert read_settings(json.dumps(days), UpdateSettings, PART) == paper
    assert set(reference.dropped_datatypes) < set(paper.dropped_datatypes)
    for key, value, message in (
        ("page_classes", ["Q5", "5"], "method.page_classes: '5' does not match"),
        ("snapshots_old", "2021-02-30", "Invalid RFC3339 encoded date - at `$.snapshots_old`"),
        ("leaks", "no", "Invalid enum value 'no' - at `$.leaks`"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            read_settings(json.dumps(days | {key: value}), UpdateSettings, PART)


@pytest.mark.usefixtures("here")
def test_files_that_are_downloaded_or_not_read_need_not_exist():
    check_files(configured(dumps="wikidata", pageviews="wikidata"))
    no_key = {"model": "m", "api_key_file": "key.txt"}
    check_files(configured(chat=no_key))
    check_files(configured(verbalizer="chat", chat={**no_key, "mode": "replay"}))
    check_files(configured(answer={"prompts": {"letter": "An example. " * 40 + "{question} {options}"}}))
    sources = {"2021-01-04": "wikidata", "2023-02-27": "https://example.org/b.json.gz"}
    config = configured(dumps=sources, pageviews="https://a/b")
    check_files(config)
    assert {date: dump_source(config, date) for date in sources} == sources
    assert dump_source(configured(dumps="wikidata"), "2021-01-04") == "wikidata"
    assert dump_source(configured(), "2021-01-04") == "sample"


def of_dumps(source):
    return {"dumps": {"2021-01-04": source, "2023-02-27": source}}


@pytest.mark.usefixtures("here")
def test_files_that_cannot_be_read_are_named_with_their_key():
    Path("-found.txt").touch()
    Path("folder").mkdir()
    chat = {"chat": {"model": "m", "api_key_file": "key.txt"}}
    for keys, message in (
        ({"dumps": {"2021-01-04": "derive", "2023-02-27": "b"}}, "dumps.2023-02-27: b does not exist"),
        (of_dumps({"entities": "ids.txt"}), "only.subjects: ids.txt does not exist"),
        ({"labels": ["folder"]}, "labels: folder is a folder; name a file"),
        ({"pageviews": "views"}, "pageviews: views does not exist"),
        ({"verbalizer": "file", "templates_file": "best.json"}, "templates_file: best.json does not exist"),
        ({"only": {"subjects": "ids.txt"}}, "only.subjects: ids.txt does not exist"),
        ({"verbalizer": "chat", **chat}, "chat.api_key_file: key.txt does not exist"),
        ({"answer": {"chat": True}, **chat}, "chat.api_key_file: key.txt does not exist"),
        ({"written": {"judge": "all"}, **chat}, "chat.api_key_file: key.txt does not exist"),
        (of_dumps("-found.txt"), "dumps.2021-01-04: -found.txt begins with a dash"),
        ({"models": ["--model"]}, "models: --model begins with a dash"),
        ({"edit": {"dataset": "-x.parquet"}}, "edit.dataset: -x.parquet begins with a dash"),
    ):
        with pytest.raises(InputError, match=f"configuration: {message}"):
            check_files(configured(**keys))


@pytest.mark.usefixtures("here")
def test_braces_in_a_path_are_refused():
    Path("{d}").mkdir()
    Path("{d}/a.json").touch()
    Path("{d}/own.py").write_text("def method(model, tokenizer, update): ...\n")
    for keys in (of_dumps("{d}/a.json"), {"methods": ["rome", "{d}/own.py:method"]}):
        with pytest.raises(InputError, match=r"\{d\}/[\w.]+: Snakemake takes braces in a path"):
            check_files(configured(**keys))


@pytest.mark.usefixtures("here")
def test_the_contents_of_files_are_checked_before_any_work():
    Path("ids.txt").write_text("Q30\nP6\n30\n")
    with pytest.raises(InputError, match=r"ids\.txt, line 3: '30' is no id such as Q30 or P6"):
        check_files(configured(only={"subjects": "ids.txt"}))
    Path("ids.txt").write_text("Q30\nP6\n")
    check_files(configured(only={"subjects": "ids.txt"}))
    Path("views").mkdir()
    for month in ("2022-12", "2023-01"):
        Path("views", f"{month}.parquet").touch()
    check_files(configured(pageviews="views", method={"popularity_months": 2}))
    asking = {"verbalizer": "chat", "chat": {"model": "m"}}
    for months, keys, missing in ((3, {}, "1 months are missing: pageviews-202211"), (2, asking, "2 months")):
        with pytest.raises(InputError, match=f"views: page views of {missing}"):
            check_files(configured(pageviews="views", method={"popularity_months": months}, **keys))


def test_ids_in_another_encoding_are_located(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_bytes("Q1\nQ2 # Zürich\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"ids\.txt, line 2: byte 0xfc is not UTF-8; convert it"):
        read_ids(path, "only.subjects")
    path.write_bytes("\ufeffQ1\r\nQ2 # Zürich\r\n".encode())  # as Windows writes it
    assert read_ids(path, "only.subjects") == ["Q1", "Q2"]


def entities(old="ids.txt", new="ids.txt", **keys):
    """A configuration whose dumps are fetched entity by entity; a path that ends in .gz is that of a dump."""
    sources = {"2021-01-04": old, "2022-01-01": keys.pop("between", new), "2023-02-27": new}
    given = {day: path if str(path).endswith(".gz") else {"entities": path} for day, path in sources.items()}
    return configured(dumps=given, **keys)


def test_entities_that_are_fetched_are_the_subjects_unless_others_are_named():
    config = entities()
    assert dump_source(config, "2021-01-04") == "entities"
    assert config["dumps"]["2021-01-04"] == {"entities": "ids.txt", "with_objects": False}
    assert config["only"]["subjects"] == "ids.txt"
    assert entities(only={"subjects": "few.txt"})["only"]["subjects"] == "few.txt"
    derived = configured(dumps={"2021-01-04": "derive", "2023-02-27": {"entities": "ids.txt"}})
    assert derived["only"]["subjects"] == "ids.txt"


STREAM = ["2021-01-04", "2022-01-01", "2023-02-27"]


def test_entities_that_cannot_be_compared():
    with pytest.raises(InputError, match="two dates have different files of entities"):
        entities("a.txt", "b.txt")
    with pytest.raises(InputError, match="give `entities` for all dates"):
        entities("a.txt", "a.txt", between="b.json.gz", stream=STREAM)
    with pytest.raises(InputError, match="cannot show a merge"):
        entities(merges="detect")


def test_the_dates_of_a_stream_are_checked():
    found = configured(stream=["2015-01-01", datetime.date(2017, 1, 1), 20190101])
    assert found["stream"] == ["2015-01-01", "2017-01-01", "2019-01-01"]
    assert dates_of(found) == ["2015-01-01", "2017-01-01", "2019-01-01", "2021-01-04", "2023-02-27"]
    for wrong in (["2017-01-01", "2015-01-01"], ["2015-01-01", "2015-01-01"]):
        with pytest.raises(InputError, match=r"2015-01-01 comes after 201.-01-01; list each date once"):
            configured(stream=wrong)
    with pytest.raises(InputError, match="stream: 2015-01-01 alone has nothing to be compared with"):
        configured(stream=["2015-01-01"])
    with pytest.raises(InputError, match=r"stream\.0: 'soon' is no date"):
        configured(stream=["soon"])


def test_each_date_of_a_stream_needs_a_dump():
    dumps = {"2021-01-04": "derive", "2022-01-01": "derive", "2023-02-27": "c", "2024-01-01": "d"}
    found = configured(dumps=dumps, stream=["2021-01-04", "2022-01-01", "2024-01-01"])
    assert [derived_from(found, date) for date in ("2021-01-04", "2022-01-01")] == ["2023-02-27"] * 2
    with pytest.raises(InputError, match=r"no entry for 2019-01-01; add .* \(or `2019-01-01: derive`\)"):
        configured(dumps=dumps, stream=["2019-01-01", "2021-01-04"])
    with pytest.raises(InputError, match=r"2021-02-30: day is out of range .*; name a day that is in"):
        dump_source(configured(), "2021-02-30")  # as in results/2021-02-30_2023-02-27/wikifactdiff.parquet
    with pytest.raises(InputError, match=r"2021-01-04; .*, or set `snapshots` to two dates of the stream"):
        configured(dumps={"2023-02-27": "c", "2024-01-01": "d"}, stream=["2023-02-27", "2024-01-01"])
    with pytest.raises(InputError, match=r"dumps\.2024-01-01: only an earlier snapshot can be derived"):
        configured(dumps=dumps | {"2024-01-01": "derive"}, stream=["2023-02-27", "2024-01-01"])


def test_fetching_needs_a_contact(monkeypatch):
    monkeypatch.delenv("FACTDRIFT_CONTACT", raising=False)
    for without in ({}, {"tempripple": {"source": "sparql"}}):
        check_contact(configured(**without))
    check_contact(entities(contact="https://example.org/who"))
    service = configured(tempripple={"source": "sparql", "endpoint": "wikidata"})
    for asking in (entities(), entities(stream=STREAM), service):
        with pytest.raises(InputError, match="contact: '' is no mail or web address"):
            check_contact(asking)
    monkeypatch.setenv("FACTDRIFT_CONTACT", "me@example.org")
    check_contact(entities())
    with pytest.raises(InputError, match="contact: 'nobody'"):
        check_contact(entities(contact="nobody"))


def parts_of(schema, path=""):
    """Each part of a schema, with the key that it describes."""
    if isinstance(schema, dict):
        yield path, schema
        for name, inner in schema.items():
            for key, part in inner.items() if name == "properties" else [("", inner)]:
                yield from parts_of(part, f"{path}.{key}".strip("."))
    elif isinstance(schema, list):
        for inner in schema:
            yield from parts_of(inner, path)


PARTS = list(parts_of(read_yaml(SCHEMA)))
MATCHING = ("P6", "Q5", "en", "2021-01-04", "local", "https://example.org/", "a" * 64, "")


def test_every_key_has_a_description():
    def walk(schema, path):
        for key, part in schema.get("properties", {}).items():
            assert part.get("description"), f"{path}{key} lacks a description"
            walk(part, f"{path}{key}.")

    walk(read_yaml(SCHEMA), "")


def test_no_pattern_accepts_a_line_end_after_the_text():
    for pattern in {part["pattern"] for _, part in PARTS if "pattern" in part}:
        checked = validator()({"pattern": pattern})
        accepted = [text for text in MATCHING if checked.is_valid(text)]
        assert accepted, pattern
        if pattern.endswith("$"):
            assert not any(checked.is_valid(f"{text}\n") for text in accepted), pattern
            assert "\\$" not in pattern  # which would be taken for the end of the text


def test_every_number_has_an_upper_bound():
    numbers = [(key, part) for key, part in PARTS if part.get("type") in ("integer", "number")]
    assert len(numbers) > 70
    assert [key for key, part in numbers if not {"maximum", "exclusiveMaximum"} & set(part)] == []
    for huge in (10**30, str(10**30), "9" * 5000):
        with pytest.raises(InputError, match=r"neighbors\.facts: "):
            configured(neighbors={"facts": huge})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("key", ["test_share", "max_bad_lines"])
def test_numbers_are_finite(key, value):
    with pytest.raises(InputError, match=f"{key}.*(is not of type|must be)"):
        configured(**{key: value})


@pytest.mark.parametrize(
    ("part", "name", "kind", "texts"),
    [
        ("neighbors", "facts", "integer", ("٣", "1_000", "3\n", " 3", "0x3", "1e2", "3.0", "", "few")),
        ("chat", "timeout", "number", ("١.٥", "1_0.5", "0.5\n", "nan", "infinity")),
    ],
)
def test_only_plain_digits_are_a_number(part, name, kind, texts):
    for text in texts:
        with pytest.raises(InputError, match=rf"{part}\.{name}: .* is not of type '{kind}'"):
            configured(**{part: {name: text}})


def test_texts_of_the_command_line_become_the_numbers_that_they_say():
    months = {"popularity_months": "2"}
    config = configured(neighbors={"facts": "5"}, undersample={"P1082": "1"}, method=months, shards="3")
    assert (config["neighbors"]["facts"], config["undersample"]["P1082"], config["shards"]) == (5, 1, 3)
    assert config["method"]["popularity_months"] == 2
    assert configured(locate={"k": ["1", "0.5"]})["locate"]["k"] == [1, 0.5]
    assert (configured(strict="True")["strict"], configured(strict="false")["strict"]) == (True, False)
    assert repr(configured(buckets=2.0)["buckets"]) == "2"
    ripple = configured(tempripple={"immutable_from": "null", "related": {"cap_per_fact": "null"}})
    assert ripple["tempripple"]["immutable_from"] is ripple["tempripple"]["related"]["cap_per_fact"] is None
    for written, value in (("1.5", 1.5), ("2", 2), (".5", 0.5), ("5e1", 50)):
        assert configured(chat={"timeout": written})["chat"]["timeout"] == value


def test_answers_are_asked_of_configured_methods_and_models():
    assert configured()["answer"]["methods"] == "configured"
    cutoffs = {"acme/one": datetime.date(2023, 10, 1), "acme/two": 20240101}
    found = configured(answer={"methods": ["rome"], "model_cutoff": cutoffs})
    assert found["answer"]["model_cutoff"] == {"acme/one": "2023-10-01", "acme/two": "2024-01-01"}
    assert configured(answer={"model_cutoff": "measured"})["answer"]["model_cutoff"] == "measured"
    for answer, message in (
        ({"model_cutoff": "guessed"}, "answer.model_cutoff"),
        ({"methods": ["rome"]}, "answer.methods: rome is not in `methods`, which is [ft]"),
        ({"chat": True}, "chat.model: name the model that `answer.chat: true`"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            configured(answer=answer, methods=["ft"])
