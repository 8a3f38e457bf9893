"""Tables of templates, the project's and users', and the noun phrases."""

import csv
import io
import json
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.klob.templates import read_templates
from factdrift.words.noun_phrases import COLUMNS, read_noun_phrases

TEXTS = ["[X] 's tongue is , as it were, [Y]", "The  tongue of [X] : [Y]", "[X]\u00a0speaks [Y]"]


def published(path: Path, rows: list[tuple[str, str]]) -> Path:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows([("relation", "template"), *rows])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def test_published_layouts(tmp_path, choice):
    """One template a row, the relation on the first; three in one cell; JSON."""
    rows = [("native_(P103)", TEXTS[0]), ("", TEXTS[1]), ("", TEXTS[2])]
    rows += [("P19", "[X] born [Y]"), ("", "born [X] [Y]"), ("", "[X] [Y]")]
    read = read_templates(published(tmp_path / "t.tsv", rows), choice.relations)
    assert [template.text for template in read.of[103]] == TEXTS
    assert [template.id for template in read.of[19]] == ["P19-1", "P19-2", "P19-3"]
    one = read_templates(published(tmp_path / "t.tsv", [("P103", "\n".join(TEXTS))]), choice.relations)
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"P103": TEXTS}), encoding="utf-8")
    other = read_templates(path, choice.relations)
    assert [template.text for template in one.all()] == TEXTS == [t.text for t in other.all()]
    assert len(one.sha256) == 64
    assert one.sha256 != other.sha256


HEADER = b"relation\ttemplate\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\n", "line 1: the header"),
        (HEADER + b"P103\t[X] says [Y]\n\tin [X] says [Y]\n", r"t\.tsv: .*P103 has 2 templates"),
        (HEADER + b"P999\t[X] says [Y]\n", "P999 is none of the relations"),
        (HEADER + b"\t[X] says [Y]\n", "row 2: no relation"),
        (HEADER + b"native\t[X] says [Y]\n", "'native' is no relation"),
        (HEADER + b'P103\t"[X] [Y]\nThe tongue is [Y]\n[X] is [Y]"\n', "P103-2: the template .* cannot be"),
        (HEADER + b'P103\t"[X] [Y]\n[X] says [Y] .\n[X] is [Y]"\n', "P103-2: the template .* cannot be"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "no JSON"),
        (b'{"P103": [1, 2, 3]}', "P103: a list of 3"),
        (HEADER + b"P103\tx\ty\n", "row 2: 3 cells"),
        (b"pid\tn\ttemplate\tverb\tcues\nQ1\t1\t[X] is [Y]\tis\tx\n", "line 2: 'Q1' is no property id"),
        (None, "no such file"),
    ],
)
def test_files_that_are_no_tables(tmp_path, choice, content, message):
    path = tmp_path / "t.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_templates(path, choice.relations)


def test_noun_phrases():
    phrases = read_noun_phrases()
    assert phrases[17].with_ordinal == "the {ord} country in which {x} is located"
    assert {entry.wh for entry in phrases.values()} == {"Who", "What"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["Q6", "l", "Who", "the head of {x}", ""], "line 2: 'Q6' is no property id"),
        (["P6", "l", "Where", "the head of {x}", ""], "line 2: wh is 'Where'"),
        (["P6", "l", "Who", "the {ord} head of {x}", ""], "line 2: the phrase"),
        (["P6", "l", "Who", "the head of {x}", "the head of {x}"], r"must have \{ord\}"),
    ],
)
def test_noun_phrases_that_cannot_be_used(row, message, tmp_path):
    good = ["P6", "l", "Who", "the head of {x}", ""]
    for name, rows, said in (("a", [row], message), ("b", [good] * 2, "line 3: P6 has a row already")):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join("\t".join(each) + "\n" for each in (COLUMNS, *rows)))
        with pytest.raises(InputError, match=said):
            read_noun_phrases(path)
