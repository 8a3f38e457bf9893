"""What the page shows besides the dataset: what has been built, or is built in the same run."""

from factdrift.core.paths import PACKAGE

OPTIONAL = [
    *("klob_meta.json", "edit_scores.parquet", "locate_scores.parquet", "locate_vs_edit.parquet"),
    *("answer_scores.parquet", "answer_clozes.parquet", "tempripple.stats.json", "audit.json"),
]


GOES_WITH = {"audit.json": "audit.parquet"}
"""Product -> the table that it belongs to: whoever has or asks for the table gets both."""


def built_or_asked(names):
    """The products among these that are there or are asked for in the same command, by name or by a rule."""
    asked = {str(file) for file in workflow.dag.targetfiles}
    asked |= {str(file) for rule in workflow.dag.targetrules for file in rule.input}
    there = lambda name: name and (Path("results", name).is_file() or f"results/{name}" in asked)
    return [f"results/{name}" for name in names if there(name) or there(GOES_WITH.get(name))]


def shown_products(wildcards):
    """The products that the page shows besides the dataset: what was not built is left out."""
    judged = Path(PAIR, "audit", "judged.json")
    # Of the configured pair alone a stream says nothing that the page does not.
    names = [*OPTIONAL, "stream.parquet"] if config["stream"] else OPTIONAL
    return [*built_or_asked(names), *([str(judged)] if judged.is_file() else [])]


def shown_stream(wildcards):
    """The table of a sequence of dates, if the page shows one."""
    return [path for path in shown_products(wildcards) if path == "results/stream.parquet"]


def page_layout():
    """The templates, styles and script of the page, which no fingerprint covers."""
    folder = PACKAGE / "pages" / "report" / "templates"
    return sorted(str(path) for path in (*folder.iterdir(), PACKAGE / "pages" / "palette.css"))


CATEGORIES = {
    "wfd_repl": "Dataset",
    "wikifactdiff": "Dataset",
    "funnel": "Accounts",
    "manifest": "Accounts",
    "audit": "Accounts",
    "templates": "Sentences",
    "verbalization": "Sentences",
    "stream_scores": "Editing",
    "stream": "Streams",
    "asof": "Streams",
    "klob": "KLoB and locating",
    "KLoB": "KLoB and locating",
    "locate": "KLoB and locating",
    "tempripple": "TempRIPPLE and answering",
    "answer": "TempRIPPLE and answering",
    "edit": "Editing",
}
"""Beginning of a product's name -> category in Snakemake's own report."""


def category(wildcards):
    """The category of a product in Snakemake's own report."""
    return next(name for start, name in CATEGORIES.items() if wildcards.name.startswith(start))


CAPTIONS = {
    "wfd_repl.parquet": "Updates that replace exactly one object by one other.",
    "wfd_repl.jsonl": "The replacements in the layout of the published dataset.",
    "wikifactdiff.parquet": "All updates between the two dates, in six scenarios.",
    "wikifactdiff.jsonl": "All updates in the layout of the published dataset.",
    "wikifactdiff.stats.json": "Triples, subjects, relations, objects and scenarios: the paper's Table 2.",
    "funnel.parquet": "How many triples each filter and each rule dropped or labelled, by relation.",
    "audit.parquet": "What the audit of the datasets checked, row by row, with the reason of each failure.",
    "audit.json": "Error rates of the datasets by kind of check, with intervals.",
    "manifest.json": "Dumps with checksums, configuration, versions and row counts.",
    "templates.parquet": "The sentence templates of every relation, with their source.",
    "verbalizations.parquet": "Every sentence of the chat model with its template or why it was dropped.",
    "verbalization_report.parquet": "Sentences that each step dropped, by relation.",
    "verbalization_report.txt": "Sentences that each step dropped, by relation, as text.",
    "klob_meta.json": "Counts of KLoB: the paper's Tables 1 and 2 for this build.",
    "tempripple.parquet": "TempRIPPLE: questions about what changed in a period.",
    "tempripple.stats.json": "Counts of TempRIPPLE, and why candidates were dropped.",
    "edit_scores.parquet": "Scores of editing methods, one row per update, method and model.",
    "locate_scores.parquet": "Locating methods, judged by KLoB.",
    "locate_vs_edit.parquet": "Whether editing works best where locating methods point to.",
    "answer_scores.parquet": "Accuracies of models on TempRIPPLE, with intervals.",
    "stream.parquet": "All updates between consecutive dates of a sequence, linked to chains.",
    "stream_scores.parquet": "Scores of edits made in the order of the changes, after each interval.",
    "stream.svg": "Updates of a sequence of dates by month and scenario.",
    "asof.parquet": "Questions about what held on a date, at three precisions.",
    "asof_scores.parquet": "Accuracies of models on questions with a date.",
    "answer_clozes.parquet": "What models complete in cloze tests.",
}
"""Product -> its caption in Snakemake's own report."""


def caption(wildcards):
    """The caption of a product; the parts of KLoB and templates in other languages share one each."""
    if wildcards.name.lower().startswith("klob_") or wildcards.name.startswith("KLoB-"):
        return CAPTIONS.get(wildcards.name, "Sentences of one subtask of KLoB.")
    if wildcards.name.startswith("templates."):
        return CAPTIONS["templates.parquet"]
    return CAPTIONS[wildcards.name]
