"""Jobs that word facts: sentence templates, the project's own or a chat model's, and literals."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from factdrift.chat.settings import Form
from factdrift.core.jobs import Flag, Job, Key, Output, Paths
from factdrift.core.paths import PROMPTS, TEMPLATES
from factdrift.core.switches import Variant

Neighbors = Annotated[Paths, "nearest and random facts", Flag("TABLE")]
Labels = Annotated[Paths, "id, label: of what the dumps lack", Flag("TSV")]
Table = Annotated[Path, Flag("TABLE")]
Updates = Annotated[Paths, "all buckets", Flag("TABLE")]
Written = Annotated[Output, Flag("PARQUET")]


class SampleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `verbalize sample` draws: keys of `verbalization`, and `languages` and `seed` beside it."""

    languages: tuple[str, ...]
    entities: int
    triples: int
    seed: int


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How `verbalize count` and `published` judge templates."""

    quality: Literal["strict", "paper"] = "strict"
    min_subjects: int = 3
    general_subjects: int = 4
    general_share: float = 0.25


class WriteTemplates(Job, command="verbalize templates"):
    """Write templates.parquet for the relations of a build."""

    updates: Updates
    neighbors: Neighbors = ()
    output: Written
    new: Annotated[Path, "properties of the new dump", Flag("PROPERTIES")]
    old: Annotated[Path, "properties of the old dump", Flag("PROPERTIES")]
    templates: Annotated[Path, "property, label, template", Flag("TSV")] = TEMPLATES
    no_fallback: Annotated[bool, "the candidates alone"] = False
    candidates: Annotated[Paths, "from sentences or a file", Flag("TABLE")] = ()
    source: Annotated[Literal["chat", "file"], "of the candidates"] = "chat"
    kept: Annotated[int, Key("verbalization.templates")]
    labels: Labels = ()

    def run(self) -> None:
        from factdrift.verbalize.templates import write_templates

        write_templates(self)


class Literals(Job, command="verbalize literals"):
    """Write literals.parquet for the literals of a build."""

    updates: Updates
    neighbors: Neighbors = ()
    output: Written
    new: Annotated[Paths, "entities tables of the new dump (units)", Flag("ENTITIES")] = ()
    old: Annotated[Paths, "entities tables of the old dump (units)", Flag("ENTITIES")] = ()
    labels: Labels = ()
    variant: Annotated[Variant, Key("variant")]

    def run(self) -> None:
        from factdrift.verbalize.literals import write_literals

        write_literals(self)


class OfPrompts(Job):
    """Fields of jobs that read the files of a language."""

    prompts: Annotated[Path, "a file a language", Flag("FOLDER")] = PROMPTS
    output: Written


class Sample(OfPrompts, command="verbalize sample"):
    """Draw the triples that are put into sentences."""

    filtered: Annotated[Paths, "the old dump's filtered statements, all buckets", Flag("TABLE")]
    entities: Annotated[Paths, "the old dump's items, all buckets", Flag("TABLE")]
    properties: Annotated[Table, "of the old dump"]
    classes: Annotated[Table, "of the old dump"]
    popularity: Annotated[Table, "as of the old dump"]
    translations: Annotated[Paths, "labels in other languages", Flag("TABLE")] = ()
    labels: Labels = ()
    memory_mb: Annotated[int, "for the tables"] = 3000
    threads: int = 1
    settings: Annotated[SampleSettings, Key("verbalization")]

    def run(self) -> str:
        from factdrift.verbalize.language import read_language
        from factdrift.verbalize.sample import draw

        for code in self.settings.languages:
            read_language(self.prompts, code)
        return f"{draw(self):,} triples to put into sentences"


class OfSentences(OfPrompts):
    """Fields of jobs that need the number of sentences asked of the model."""

    sample: Table
    number: Annotated[int, Key("verbalization.sentences")]


class Requests(OfSentences, command="verbalize requests"):
    """What the chat model is asked about each triple."""

    settings: Annotated[Form, Key("chat")]

    def run(self) -> str:
        from factdrift.verbalize.sample import write_requests

        rows = write_requests(self.sample, self.prompts, self.settings, self.output, self.number)
        return f"{rows:,} requests"


class Sentences(OfSentences, command="verbalize sentences", implied_inputs="words"):
    """Read and filter the answers."""

    answers: Table
    report: Written
    text: Annotated[Output, "the report for reading", Flag("TXT")]

    def run(self) -> str:
        from factdrift.verbalize.sentences import write_sentences

        totals = write_sentences(self)
        kept = f"{totals.pop('kept'):,} of {totals.pop('asked'):,} sentences kept ({self.text})"
        return "\n".join([kept, *(f"{n:,} dropped: {step}" for step, n in totals.items() if n)])


class Count(OfPrompts, command="verbalize count"):
    """Count the templates of the kept sentences."""

    verbalizations: Table
    sample: Table
    language: Annotated[str, Flag("CODE")] = "en"
    settings: Annotated[Quality, Key("verbalization")]

    def run(self) -> str:
        from factdrift.verbalize.candidates import write_candidates

        return f"{write_candidates(self):,} different templates"


class Published(OfPrompts, command="verbalize published", implied_inputs="words"):
    """Read templates that others have published."""

    file: Annotated[Path, "best_templates.json, triple_verbs, or a templates.parquet", Flag(positional=True)]
    settings: Annotated[Quality, Key("verbalization")]

    def run(self) -> str | None:
        from factdrift.verbalize.candidates import write_published

        dropped = write_published(self.file, self.prompts, self.settings, self.output)
        return "\n".join(f"{number:,} not used: {reason}" for reason, number in dropped.items()) or None
