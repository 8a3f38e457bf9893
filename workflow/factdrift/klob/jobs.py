"""Jobs that make the sentences on which locating methods are judged (KLoB), and score these methods."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from factdrift.core.errors import InputError
from factdrift.core.jobs import Day, Flag, Job, Key, Output, Paths, Place
from factdrift.core.paths import KLOB_TEMPLATES
from factdrift.klob.settings import Settings, recall_model

if TYPE_CHECKING:
    from factdrift.klob.sentences import Plan

SWEEP = ("0.1", "0.5", "1", "2", "5", "10", "20")
"""k in percent."""

CONTROLLED = ("all", "permuted")
"""The populations of the reference locators."""

REFERENCE_UNITS = 10_000
"""The most units of the reference locators in the table; their RSim hardly depends on it."""

Table = Annotated[Output, Flag("PARQUET")]
Memory = Annotated[int, "for the tables"]


class OfSnapshot(Job, implied_inputs="resources"):
    """Fields of jobs that read the tables of one snapshot."""

    facts: Annotated[Paths, "tables that `facts` wrote"]
    entities: Annotated[Paths, "tables of the snapshot's items"]
    classes: Annotated[Path, "the snapshot's classes"]
    properties: Annotated[Path, "the snapshot's properties"]
    labels: Annotated[Paths, "tables `id label` of entities that it lacks"] = ()
    threads: int = 1


class OfChoice(OfSnapshot):
    """Fields of jobs that choose examples and word them."""

    candidates: Annotated[Path, "facts that `candidates` wrote"]
    chains: Annotated[Path, "chains that `candidates` or `mquake` wrote"]
    templates: Annotated[Path, Flag("TABLE")] = KLOB_TEMPLATES
    date: Annotated[Day, "the snapshot's date"]
    settings: Annotated[Settings, Key("klob")]

    def plan(self) -> Plan:
        """How examples are worded, and how many there are."""
        from factdrift.klob.relations import check_properties, read_method
        from factdrift.klob.sentences import Plan
        from factdrift.klob.templates import read_templates, read_word_lists
        from factdrift.words.names import read_names

        method = read_method()
        labels = check_properties(self.properties, method, self.settings.slice)
        stop = read_word_lists()["stop"]
        templates = read_templates(self.templates, method.relations)
        # A user's table is filled in byte for byte.
        used = read_names() if templates.are_own and self.settings.chosen_grammar != "plain" else None
        quotas: dict[int, int | None] = {}
        for number, relation in method.relations.items():
            if number in templates.of:
                quota = self.settings.c_quota
                quotas[number] = (
                    relation.examples if quota == "table2" else None if quota == "all" else int(quota)
                )
        return Plan(self, templates, method, labels, stop, used, quotas)


class Facts(Job, command="klob facts", implied_inputs="resources"):
    """The statements of KLoB's relations in one bucket of a snapshot."""

    statements: Annotated[Path, "the statements of one bucket"]
    date: Annotated[Day, "the snapshot's date; facts hold on that day"]
    settings: Annotated[Settings, Key("klob", "second_hop")]
    output: Table
    memory_mb: Memory = 2000
    threads: int = 1

    def run(self) -> str:
        from factdrift.klob.facts import write_facts

        return f"{write_facts(self):,} statements"


class Candidates(OfSnapshot, command="klob candidates"):
    """Facts and chains that can be examples."""

    settings: Annotated[
        Settings,
        Key(
            "klob",
            "second_hop method_page_classes single_valued object_words max_object_words min_sitelinks filter "
            "min_pair_support slice seed",
        ),
    ]
    out_facts: Table
    out_chains: Table
    memory_mb: Memory = 6000

    def run(self) -> None:
        from factdrift.klob.facts import write_candidates
        from factdrift.klob.relations import check_properties, read_method

        method = read_method()
        check_properties(self.properties, method, self.settings.slice)
        write_candidates(self, method)


class Mquake(Job, command="klob mquake", implied_inputs="resources"):
    """Chains from a file in MQuAKE's format."""

    cases: Annotated[Path, Flag("FILE.json", positional=True)]
    settings: Annotated[Settings, Key("klob", "chain_text seed")]
    output: Table

    def run(self) -> str:
        from factdrift.klob.mquake import write_mquake
        from factdrift.klob.relations import read_method

        chain_text, seed = self.settings.chain_text, self.settings.seed
        return f"{write_mquake(self.cases, read_method(), chain_text, seed, self.output):,} chains"


class Recall(OfChoice, command="klob recall", implied_inputs="demos model"):
    """Which candidates a language model knows."""

    models: Annotated[Place, "the bundled models", Flag("FOLDER")] = Path("results/models")
    settings: Annotated[
        Settings,
        Key(
            "klob",
            "source c_quota r_quota max_pair_share max_answer_share max_answer_share_revised variant grammar "
            "chain_text model revision dtype device budget need demos slice seed",
        ),
    ]
    out_recall: Table
    out_passes: Table
    memory_mb: Memory = 4000

    def run(self) -> None:
        from factdrift.klob.recall import CausalModel, read_demonstrations, write_recall

        settings = self.settings
        name, revision, dtype = recall_model(settings)
        demonstrations = read_demonstrations(Path(settings.demos) if settings.demos else None)
        plan = self.plan()

        import torch

        from factdrift.models.devices import held
        from factdrift.models.loading import load

        torch.set_num_threads(self.threads)
        with held(settings.device) as device:
            loaded = load(name, revision=revision, device=device, dtype=dtype, folder=self.models)
            model, outputs = CausalModel(loaded, settings.budget), (self.out_recall, self.out_passes)
            write_recall(plan, demonstrations, model, outputs, self.memory_mb)


class Examples(OfChoice, command="klob examples", implied_inputs="words"):
    """klob_examples, klob_sentences and klob_meta.json."""

    passes: Annotated[Path | None, "what `recall` wrote, if it ran"] = None
    snapshot: Annotated[Path, "snapshot.json", Flag("JSON")]
    out_examples: Table
    out_sentences: Table
    out_meta: Annotated[Output, Flag("JSON")]
    memory_mb: Memory = 5000

    def run(self) -> None:
        from factdrift.klob.build import build
        from factdrift.klob.random_words import read_words

        settings = self.settings
        words = read_words(settings.words, settings.words_sha256)
        build(self, self.plan(), words)


class Subtask(Job, command="klob subtask"):
    """klob_c, klob_r or klob_u: examples with their sentences."""

    examples: Path
    sentences: Path
    subtask: Literal["c", "r", "u"]
    output: Table

    def run(self) -> str:
        from factdrift.klob.build import write_subtask

        rows = write_subtask(self.examples, self.sentences, self.subtask, self.output)
        return f"{rows:,} examples of KLoB-{self.subtask}"


class Export(Job, command="klob export"):
    """A subtask in the published layout."""

    dataset: Annotated[Path, Flag("klob_c.parquet", positional=True)]
    output: Annotated[Output, Flag("JSONL")]

    def run(self) -> str:
        from factdrift.klob.published import export

        return f"{export(self.dataset, self.output):,} lines"


class Import(Job, command="klob import"):
    """The published files (KLoB-c.jsonl, ...) as tables."""

    folder: Annotated[Path, Flag("DIR", positional=True)]
    output: Annotated[Output, Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.klob.published import import_published

        examples = import_published(self.folder, self.output)
        return "\n".join(f"{rows:,} examples of KLoB-{subtask}" for subtask, rows in examples.items())


class Templates(Job, command="klob templates"):
    """Check a table of templates, the project's own or a user's."""

    table: Annotated[Path, Flag("TABLE", positional=True)] = KLOB_TEMPLATES
    words: Annotated[str, "web2, nltk, or a path"] = "web2"

    def run(self) -> None:
        from factdrift.klob.random_words import read_words
        from factdrift.klob.relations import read_method
        from factdrift.klob.templates import check_templates, read_golden, read_templates, read_word_lists

        relations = read_method().relations
        own = read_templates(KLOB_TEMPLATES, relations)
        table = read_templates(self.table, relations)
        words = {word.lower() for word in read_words(self.words).entries}
        golden = read_golden() if table.sha256 == own.sha256 else {}
        findings = check_templates(table.all(), own.all(), relations, words, read_word_lists(), golden)
        errors = sum(finding.error for finding in findings)
        summary = f"{len(table.all())} templates, {errors} defects, {len(findings) - errors} warnings"
        print(*findings, summary, sep="\n")
        if errors and self.table == KLOB_TEMPLATES:
            raise InputError(f"{self.table}: {errors} defects; fix them")


class Score(Job, command="klob score"):
    """RSim and RSD of locating methods that are given as files."""

    scores: Annotated[tuple[Path, ...], "folders: docs/klob_scores.md", Flag("SCORES", positional=True)]
    examples: Annotated[Place, "of klob_c, _r and _u.parquet", Flag("FOLDER")] = Path("results")
    seed: int = 0
    k: Annotated[tuple[str, ...], "of the units, each a row of the tables", Flag("PERCENT")] = SWEEP
    headline: Annotated[str, "k of the printed table", Flag("PERCENT")] = "1"
    ties: Literal["index", "fractional"] = "index"
    sim_all: Literal["exact", "paper_approx"] = "exact"
    exclude: Literal["fact", "example", "none"] = "fact"
    unit: Annotated[Literal["results", "examples"], "of the population"] = "results"
    normalise: Annotated[Literal["none", "l2", "rank"], "for paper_approx"] = "none"
    rsd_pool: Literal["sentences", "subtasks"] = "sentences"
    device: Annotated[str | None, "where PyTorch sorts the scores, such as cuda (NumPy does otherwise)"] = (
        None
    )
    no_references: Annotated[bool, "leave out the reference locators"] = False
    output: Annotated[Output, Flag("FOLDER")] = Path("results/klob_scores")

    def run(self) -> str:
        import pyarrow as pa

        from factdrift.core.owned import claim, scratch
        from factdrift.core.tables import write_parquet
        from factdrift.klob.scoring import evaluate as scoring
        from factdrift.klob.scoring import report
        from factdrift.klob.scoring.inputs import read_examples, read_scores

        headline = _percent("--headline", self.headline)
        percents = tuple(sorted({_percent("--k", text) for text in self.k} | {headline}))
        methods = [read_scores(folder) for folder in self.scores]
        first = methods[0]
        for other in methods[1:]:
            for key in ("granularity", "units", "model", "revision"):
                mine, its = getattr(first, key), getattr(other, key)
                if mine != its:
                    raise InputError(
                        f"{first.name} and {other.name} cannot be compared: {key} is {mine!r} and {its!r}, "
                        "and RSim means something only where the same units are chosen from; score them apart"
                    )
        subtasks = read_examples(self.examples)
        claim(self.output, ("measures.parquet", "examples.parquet", "rsim.svg"))
        with scratch() as folder:
            names = ("ties", "sim_all", "exclude", "unit", "normalise", "seed", "device")
            switches = {name: getattr(self, name) for name in names}
            choices = scoring.Choices(percents, pool=self.rsd_pool, scratch=folder, **switches)
            found = [scoring.evaluate(method, subtasks, choices) for method in methods]
            compared = []
            if not self.no_references:
                plain = choices._replace(ties="index", sim_all="exact", unit="results", device=None)
                units = min(first.units, REFERENCE_UNITS)
                compared = [
                    *scoring.references(subtasks, plain, units, CONTROLLED),
                    scoring.lexical(subtasks, self.exclude, self.seed),
                ]
        group = report.Group(f"{first.model}, {first.units:,} {first.granularity}s", found, compared)
        for subtask in subtasks:
            said = [*report.lines([group], subtask, float(headline))]
            for method in found:
                said += report.details(method, subtask, float(headline))
            print(*said, "", sep="\n")
        print(
            "RSD is unchanged by a constant that is added to a sentence's scores and by one factor for all "
            "scores, not by a factor of each sentence's own."
        )
        every = [*found, *compared]
        rows = [row for one in every for row in one.measures]
        write_parquet(pa.Table.from_pylist(rows, schema=scoring.MEASURES), self.output / "measures.parquet")
        tables = [table for one in every for table in one.examples]
        of_examples = pa.concat_tables([scoring.EXAMPLES.empty_table(), *tables])
        write_parquet(of_examples, self.output / "examples.parquet")
        pieces = [("KLoB-c, consistency", group, "c"), ("KLoB-r, relevance", group, "r")]
        report.draw_rsim(pieces, max(min(4, len(found)), 2), self.output / "rsim.svg")
        return f"{self.output}: measures.parquet, examples.parquet, rsim.svg"


def _percent(flag: str, text: str) -> Fraction:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value <= 100:
        raise InputError(f"{flag}: {text!r} is no percentage above 0 and up to 100")
    return value
