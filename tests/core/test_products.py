"""Of which pair of dates a product under a short name is."""

from pathlib import Path

import pytest

from factdrift.core.products import pair_of


@pytest.mark.parametrize(
    ("name", "path"),
    [("wfd_repl.parquet", "wfd_repl.parquet"), ("edit_scores.parquet", "edit_scores.parquet")],
)
def test_a_copy_is_of_the_pair_whose_folder_has_the_same_file(name: str, path: str, tmp_path: Path) -> None:
    copy = tmp_path / name
    copy.write_bytes(b"new")
    for pair, content in (("2019-01-01_2021-01-04", b"old"), ("2021-01-04_2023-02-27", b"new")):
        (tmp_path / pair / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / pair / path).write_bytes(content)
    assert pair_of(copy) == "2021-01-04_2023-02-27"
    assert pair_of(tmp_path / "2019-01-01_2021-01-04" / path) == "2019-01-01_2021-01-04"
    copy.write_bytes(b"old")
    assert pair_of(copy) == "2019-01-01_2021-01-04"
    copy.write_bytes(b"another")
    assert pair_of(copy) is None
    copy.unlink()
    assert pair_of(copy) is None
    assert pair_of(tmp_path / "no-product.parquet") is None
