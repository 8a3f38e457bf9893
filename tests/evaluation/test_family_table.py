"""The table of families and methods in docs/models.md is that of the records, and what methods do."""

from pathlib import Path

import pytest
import torch
from support.methods_in_few_steps import artefacts, editable, hyper_in
from support.tiny_edits import EDITS
from support.tiny_families import tiny_model

from factdrift.evaluation.methods.record import records
from factdrift.evaluation.states.edited import edited
from factdrift.models.families import read_families

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def family_table() -> str:
    """Markdown: the families of families.yaml, those together that the same methods cannot edit."""
    methods = [name for name, record in records().items() if record.changes != "nothing"]
    families: dict[str, list[str]] = {}
    for family, entry in read_families().items():
        spec = tiny_model(family).spec
        refused = ", ".join(method for method in methods if not editable(spec, method))
        families.setdefault(refused or "-", []).append(f"{entry['title']} (`{family}`)")
    rows = [["families", "cannot be edited by"], ["---"] * 2]
    rows += [["; ".join(titles), refused] for refused, titles in families.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in rows)


@pytest.mark.slow
def test_the_table_on_the_page_is_that_of_the_records():
    text = PAGE.read_text(encoding="utf-8")
    _, _, rest = text.partition("<!-- families: tests/evaluation/test_family_table.py -->\n")
    kept, end, _ = rest.partition("<!-- end of families -->")
    assert end
    assert kept.strip() == family_table()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:second moments", "ignore:.*is trained instead")
@pytest.mark.parametrize("family", read_families())
def test_methods_edit_the_blocks_that_they_do_not_refuse(family):
    """The first and the last one: of each edit something changes, and all of it is finite."""
    loaded = tiny_model(family, dtype=torch.float32)
    for method, record in records().items():
        blocks = editable(loaded.spec, method) if record.changes != "nothing" else []
        for layer in {*blocks[:1], *blocks[-1:]}:
            hyper = hyper_in(loaded, method, layer)
            regime = "batch" if record.not_alone else "independent"
            found = edited(loaded, EDITS[:2], hyper, artefacts(loaded, hyper), regime)
            assert not found.failed, method
            made = [delta.dense(edit)[0] for delta in found.deltas.values() for edit in range(len(delta))]
            made += [book.values[edit] for book in found.codebooks.values() for edit in range(len(book))]
            assert found.contexts or made, method
            assert all(one.isfinite().all() and one.any() for one in made), method
