"""Jobs that make the sentences on which locating methods are judged (KLoB)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from factdrift.core.jobs import Day, Flag, Job, Key, Output, Paths, Place
from factdrift.core.paths import KLOB_TEMPLATES
from factdrift.klob.settings import Settings, recall_model

if TYPE_CHECKING:
    from factdrift.klob.facts import SnapshotTables
    from factdrift.klob.sentences import Plan

Table = Annotated[Output, Flag("PARQUET")]


class OfSnapshot(Job, implied_inputs="resources"):
    """Fields of jobs that read the tables of one snapshot."""

    facts: Annotated[Paths, "tables that `facts` wrote"]
    entities: Annotated[Paths, "tables of the snapshot's items"]
    classes: Annotated[Path, "the snapshot's classes"]
    properties: Annotated[Path, "the snapshot's properties"]
    labels: Annotated[Paths, "tables `id label` of entities that it lacks"] = ()
    threads: int = 1

    def tables(self) -> SnapshotTables:
        from factdrift.klob.facts import SnapshotTables

        return SnapshotTables(self.facts, self.entities, self.classes, self.properties, self.labels)


class OfChoice(OfSnapshot):
    """Fields of jobs that choose examples and word them."""

    candidates: Annotated[Path, "facts that `candidates` wrote"]
    chains: Annotated[Path, "chains that `candidates` wrote"]
    templates: Annotated[Path, Flag("TABLE")] = KLOB_TEMPLATES
    date: Annotated[Day, "the snapshot's date"]
    settings: Annotated[Settings, Key("klob")]

    def plan(self) -> Plan:
        from factdrift.klob.sentences import plan_of

        files = self.candidates, self.chains
        return plan_of(self.tables(), *files, self.date, self.settings, self.templates)


class Facts(Job, command="klob facts", implied_inputs="resources"):
    """Select the statements of KLoB's relations in one bucket of a snapshot."""

    statements: Annotated[Path, "the statements of one bucket"]
    date: Annotated[Day, "the snapshot's date; facts hold on that day"]
    settings: Annotated[Settings, Key("klob", "second_hop")]
    output: Table
    threads: int = 1

    def run(self) -> str:
        from factdrift.klob.facts import write_facts
        from factdrift.klob.relations import read_choice, second_hops

        choice = read_choice()
        relations = {*choice.relations, *second_hops(choice, self.settings.second_hop)}
        size = 2000, self.threads
        return f"{write_facts(self.statements, self.date, relations, self.output, *size):,} statements"


class Candidates(OfSnapshot, command="klob candidates"):
    """Find the facts and chains that can be examples."""

    cases: Annotated[Path | None, "in MQuAKE's format: take the chains from it", Flag("FILE.json")] = None
    settings: Annotated[
        Settings,
        Key(
            "klob",
            "second_hop method_page_classes single_valued object_words max_object_words min_sitelinks filter "
            "min_pair_support chain_text slice seed",
        ),
    ]
    out_facts: Table
    out_chains: Table

    def run(self) -> None:
        from factdrift.klob.facts import write_candidates
        from factdrift.klob.mquake import write_mquake
        from factdrift.klob.relations import check_properties, read_choice

        choice, settings = read_choice(), self.settings
        check_properties(self.properties, choice, settings.slice)
        outputs = self.out_facts, None if self.cases else self.out_chains
        write_candidates(self.tables(), choice, settings, outputs, 6000, self.threads)
        if self.cases:
            write_mquake(self.cases, choice, settings.chain_text, settings.seed, self.out_chains)


class Recall(OfChoice, command="klob recall", implied_inputs="demos model"):
    """Test which candidates a language model knows."""

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

    def run(self) -> None:
        from factdrift.klob.recall import CausalModel, read_demonstrations, write_recall

        settings = self.settings
        name, revision, dtype = recall_model(settings)
        demonstrations = read_demonstrations(Path(settings.demos) if settings.demos else None)
        plan = self.plan()

        import torch

        from factdrift.models.devices import reserved_device
        from factdrift.models.loading import load

        torch.set_num_threads(self.threads)
        with reserved_device(settings.device) as device:
            loaded = load(name, revision=revision, device=device, dtype=dtype, folder=self.models)
            model, outputs = CausalModel(loaded, settings.budget), (self.out_recall, self.out_passes)
            write_recall(plan, demonstrations, model, outputs, 4000, self.threads)


class Examples(OfChoice, command="klob examples", implied_inputs="words"):
    """Choose the examples: klob_examples, klob_sentences and klob_meta.json."""

    passes: Annotated[Path | None, "what `recall` wrote, if it ran"] = None
    snapshot: Annotated[Path, "snapshot.json", Flag("JSON")]
    out_examples: Table
    out_sentences: Table
    out_meta: Annotated[Output, Flag("JSON")]

    def run(self) -> None:
        from factdrift.klob.build import build
        from factdrift.klob.random_words import read_words
        from factdrift.klob.templates import report

        words = read_words(self.settings.words, self.settings.words_sha256)
        plan = self.plan()
        report(plan.templates, plan.choice.relations)
        outputs = self.out_examples, self.out_sentences, self.out_meta
        build(plan, words, self.passes, self.snapshot, outputs, 5000, self.threads)


class Subtask(Job, command="klob subtask"):
    """Write klob_c, klob_r or klob_u: examples with their sentences; also in the published layout."""

    examples: Path
    sentences: Path
    subtask: Literal["c", "r", "u"]
    output: Table
    published: Annotated[Output, Flag("JSONL")]

    def run(self) -> str:
        from factdrift.klob.build import export, write_subtask

        rows = write_subtask(self.examples, self.sentences, self.subtask, self.output)
        export(self.output, self.published)
        return f"{rows:,} examples of KLoB-{self.subtask}"
