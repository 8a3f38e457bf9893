"""Jobs that make the sentences on which locating methods are judged (KLoB)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.paths import KLOB, KLOB_TEMPLATES, NOUN_PHRASES
from factdrift.klob.settings import Settings, recall_model

if TYPE_CHECKING:
    from factdrift.klob.build import Plan
    from factdrift.klob.candidates import Inputs
    from factdrift.klob.relations import Method

Table = Annotated[Output, Flag("PARQUET")]
Memory = Annotated[int, "for the tables"]


class OfTables(Job, beside="resources"):
    """Fields of jobs that read the project's own tables, which can be replaced."""

    resources: Annotated[Path, "relations and words", Flag("FOLDER")] = KLOB
    phrases: Annotated[Path, "noun phrases", Flag("TSV")] = NOUN_PHRASES

    def method(self) -> Method:
        """The relations with their words."""
        from factdrift.klob.relations import read_method

        return read_method(self.resources, self.phrases)


class OfSnapshot(OfTables):
    """Fields of jobs that read the tables of one snapshot."""

    facts: Annotated[Paths, "tables that `facts` wrote"]
    entities: Annotated[Paths, "tables of the snapshot's items"]
    classes: Annotated[Path, "the snapshot's classes"]
    properties: Annotated[Path, "the snapshot's properties"]
    labels: Annotated[Paths, "tables `id label` of entities that it lacks"] = ()
    threads: int = 1

    def inputs(self) -> Inputs:
        """The tables that name items."""
        from factdrift.klob.candidates import Inputs

        return Inputs(self.facts, self.entities, self.classes, self.labels)


class OfChoice(OfSnapshot):
    """Fields of jobs that choose examples and word them."""

    candidates: Annotated[Path, "facts that `candidates` wrote"]
    chains: Annotated[Path, "chains that `candidates` or `mquake` wrote"]
    templates: Annotated[Path, Flag("TABLE")] = KLOB_TEMPLATES
    date: Annotated[str, "the snapshot's date"]
    settings: Annotated[Settings, Key("klob")]

    def plan(self, passes: Path | None = None) -> Plan:
        """Where examples come from and how many there are; `passes`: what the recall filter wrote."""
        from factdrift.klob.build import Plan
        from factdrift.klob.relations import check_properties, quotas
        from factdrift.klob.sentences import Wording
        from factdrift.klob.template_checks import read_word_lists
        from factdrift.klob.templates import read_templates
        from factdrift.words.names import read_names

        method = self.method()
        labels = check_properties(self.properties, method, self.settings.slice)
        stop = read_word_lists(self.resources / "template_words.tsv").stop
        templates = read_templates(self.templates, method.relations)
        # A user's table is filled in byte for byte.
        used = read_names() if templates.are_own and self.settings.chosen_grammar != "plain" else None
        wording = Wording(templates, method, labels, stop, used)
        wanted = quotas(method, self.settings.c_quota)
        worded = {relation: wanted[relation] for relation in wanted if relation in templates.of}
        files = self.candidates, self.chains, passes
        return Plan(self.inputs(), *files, wording, worded, self.settings, self.date)


class Facts(OfTables, command="klob facts"):
    """The statements of KLoB's relations in one bucket of a snapshot."""

    statements: Annotated[Path, "the statements of one bucket"]
    date: Annotated[str, "the snapshot's date; facts hold on that day"]
    settings: Annotated[Settings, Key("klob", "second_hop")]
    output: Table
    memory_mb: Memory = 2000
    threads: int = 1

    def run(self) -> str:
        from factdrift.klob.facts import DEATH, write_facts
        from factdrift.klob.relations import second_hops

        method = self.method()
        wanted = sorted({*method.relations, *second_hops(method, self.settings.second_hop)})
        day = int(self.date.replace("-", ""))
        rows = write_facts(self.statements, [*wanted, DEATH], day, self.output, self.memory_mb, self.threads)
        return f"{rows:,} statements of {len(wanted)} relations"


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
        from factdrift.klob.candidates import Hops, write_candidates
        from factdrift.klob.relations import check_properties, inverses_of, second_hops

        settings, method = self.settings, self.method()
        check_properties(self.properties, method, settings.slice)
        seconds = second_hops(method, settings.second_hop)
        hops = Hops(method.relations, seconds, inverses_of(self.properties, method))
        outputs = self.out_facts, self.out_chains
        write_candidates(self.inputs(), hops, settings, outputs, self.memory_mb, self.threads)


class Mquake(OfTables, command="klob mquake"):
    """Chains from a file in MQuAKE's format."""

    cases: Annotated[Path, Flag("FILE.json", by_place=True)]
    settings: Annotated[Settings, Key("klob", "chain_text seed")]
    output: Table

    def run(self) -> str:
        from factdrift.klob.mquake import write_mquake

        settings, method = self.settings, self.method()
        rows = write_mquake(
            self.cases, method.shared, method.second_hops, settings.chain_text, settings.seed, self.output
        )
        return f"{rows:,} chains"


class Recall(OfChoice, command="klob recall", beside="demos model weights"):
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
            write_recall(plan, demonstrations, model, outputs, self.memory_mb, self.threads)


class Examples(OfChoice, command="klob examples", beside="words"):
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

        settings, plan = self.settings, self.plan(self.passes)
        words = read_words(settings.words, self.resources / "word_lists.tsv", settings.words_sha256)
        dump = json.loads(self.snapshot.read_text(encoding="utf-8"))
        origin = {
            "snapshot": {
                "id": self.date,
                "date": self.date,
                "dump": dump.get("dump"),
                "scope": dump.get("scope"),
            },
            "seed": settings.seed,
            "configuration": settings.resolved(),
            "words": {
                "name": words.name,
                "entries": len(words.entries),
                "sha256": words.sha256,
                "source": words.source,
            },
            "templates": {"table": self.templates.name, "sha256": plan.wording.templates.sha256},
        }
        outputs = (self.out_examples, self.out_sentences, self.out_meta)
        build(plan, words, origin, outputs, self.memory_mb, self.threads)


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

    dataset: Annotated[Path, Flag("klob_c.parquet", by_place=True)]
    ascii: Annotated[bool, "escape what is not ASCII (default: as imported)"] = False
    output: Annotated[Output, Flag("JSONL")]

    def run(self) -> str:
        from factdrift.klob.published import escapes, export

        return f"{export(self.dataset, self.output, self.ascii or escapes(self.dataset)):,} lines"
