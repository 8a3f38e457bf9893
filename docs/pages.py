"""What mkdocs needs besides mkdocs.yml: the pages of the repository in one folder, notebooks as pages.

Links between pages are as they stand in the repository. What a page links to is copied with it.
"""

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from nbconvert import MarkdownExporter

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/RESULTS.md"]
BUILT = {"The sample's report": "report.html", "The sample's explorer": "explorer/index.html"}
"""What `make site` adds to the pages, from the folder that FACTDRIFT_RESULTS names."""

GLOSSARY = "resources/glossary.tsv"
"""Term and meaning of each line; on the site it is a page, docs/glossary.md."""

_LINK = re.compile(r"""(?:\]\(|(?:src|srcset|href)=")([^)\s"#]+)""")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Gathers the pages and what they link to, and turns notebooks into pages."""
    folder = Path(tempfile.mkdtemp(prefix="factdrift-docs-"))
    atexit.register(shutil.rmtree, folder)
    wanted = [*PAGES, *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
    gathered: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in gathered:
            continue
        gathered.add(name)
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text("utf-8") if name.endswith((".md", ".ipynb")) else ""
        if name.endswith(".ipynb"):
            text, _ = MarkdownExporter().from_notebook_node(nbformat.reads(text, as_version=4))
            target = target.with_suffix(".md")
        if text:
            page = text.replace(".ipynb)", ".md)").replace(f"../{GLOSSARY})", "glossary.md)")
            target.write_text(page, "utf-8")
        else:
            shutil.copyfile(ROOT / name, target)
        wanted += linked(name, text)
    for name in [*config.extra_css, *config.extra_javascript]:
        shutil.copyfile(ROOT / str(name), folder / str(name))
    (folder / "docs" / "glossary.md").write_text(glossary(), "utf-8")
    built = os.environ.get("FACTDRIFT_RESULTS")
    if built:
        for path in BUILT.values():
            if not Path(built, path).is_file():
                raise PluginError(f"{Path(built, path)} is not there; run `make site`")
        shutil.copyfile(Path(built, "report.html"), folder / "report.html")
        shutil.copytree(Path(built, "explorer"), folder / "explorer")
        config.nav[1:1] = [{"The sample": [{title: path} for title, path in BUILT.items()]}]
    config.docs_dir = str(folder)
    return config


def glossary() -> str:
    """The glossary as a page: a table of terms and meanings."""
    header, *rows = (line.split("\t") for line in (ROOT / GLOSSARY).read_text("utf-8").splitlines())
    lines = (f"| {term} | {meaning} |" for term, _, meaning in (header, ["---"] * 3, *rows))
    return "\n".join(["# Glossary", "", *lines, ""])


def linked(name: str, text: str) -> list[str]:
    """The files of the repository to which a page links, as paths from its root."""
    found = []
    for target in _LINK.findall(text):
        path = Path(os.path.normpath(Path(name).parent / target))
        inside = "://" not in target and not path.is_absolute() and path.parts[:1] != ("..",)
        if inside and (ROOT / path).is_file():
            found.append(path.as_posix())
    return found
