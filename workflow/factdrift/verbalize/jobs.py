"""Jobs that word facts: sentence templates, the project's own or a chat model's, and literals."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from factdrift.chat.settings import Form
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths
from factdrift.core.paths import PROMPTS, TEMPLATES
from factdrift.core.switches import Variant
from factdrift.verbalize.settings import Quality

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
        from factdrift.verbalize.templates import Inputs, write_templates
        from factdrift.words.templates import read_templates

        inputs = Inputs(self.updates, self.neighbors, (self.new, self.old), self.labels, self.candidates)
        own = None if self.no_fallback else read_templates(self.templates)
        write_templates(inputs, own, self.source, self.kept, self.output)


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

        facts, as_raw = (self.updates, self.neighbors), self.variant == "reference"
        write_literals(*facts, (self.new, self.old), self.labels, self.output, as_raw)


class OfPrompts(Job):
    """Fields of jobs that read the files of a language."""

    prompts: Annotated[Path, "a file a language", Flag("FOLDER")] = PROMPTS
    output: Written


class Sample(OfPrompts, command="verbalize sample"):
    """Draw the triples for the chat model's sentences."""

    filtered: Annotated[Paths, "the old dump's filtered statements, all buckets", Flag("TABLE")]
    entities: Annotated[Paths, "the old dump's items, all buckets", Flag("TABLE")]
    properties: Annotated[Table, "of the old dump"]
    classes: Annotated[Table, "of the old dump"]
    popularity: Annotated[Table, "as of the old dump"]
    translations: Annotated[Paths, "labels in other languages", Flag("TABLE")] = ()
    labels: Labels = ()
    threads: int = 1
    settings: Annotated[SampleSettings, Key("verbalization")]

    def run(self) -> str:
        from factdrift.core.tables import database
        from factdrift.verbalize.language import read_language
        from factdrift.verbalize.sample import Inputs, draw

        for code in self.settings.languages:
            read_language(self.prompts, code)
        inputs = Inputs(*(getattr(self, name) for name in Inputs._fields))
        with database(3000, self.threads) as db:
            rows = draw(db, inputs, **msgspec.structs.asdict(self.settings), output=self.output)
        return f"{rows:,} triples to put into sentences"


class OfSentences(OfPrompts):
    """Fields of jobs that need the number of sentences asked of the model."""

    sample: Table
    number: Annotated[int, Key("verbalization.sentences")]


class Requests(OfSentences, command="verbalize requests"):
    """Write the request to the chat model about each triple."""

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

        inputs = self.sample, self.answers, self.prompts
        totals = write_sentences(*inputs, self.number, self.output, self.report, self.text)
        kept = f"{totals.pop('kept'):,} of {totals.pop('asked'):,} sentences kept ({self.text})"
        return "\n".join([kept, *(f"{n:,} dropped: {step}" for step, n in totals.items() if n)])


class Count(OfPrompts, command="verbalize count", implied_inputs="words"):
    """Count the templates of the kept sentences; or read those that others have published."""

    verbalizations: Table | None = None
    sample: Table | None = None
    published: Annotated[
        Path | None, "instead: best_templates.json, triple_verbs, or a templates.parquet", Flag("FILE")
    ] = None
    language: Annotated[str, Flag("CODE")] = "en"
    settings: Annotated[Quality, Key("verbalization")]

    def run(self) -> str | None:
        from factdrift.verbalize.candidates import write_candidates, write_published
        from factdrift.verbalize.language import read_language

        if self.published:
            dropped = write_published(self.published, self.prompts, self.settings, self.output)
            return "\n".join(f"{number:,} not used: {reason}" for reason, number in dropped.items()) or None
        if self.verbalizations is None or self.sample is None:
            raise InputError("give --verbalizations and --sample, or --published")
        language = read_language(self.prompts, self.language)
        rows = write_candidates(self.verbalizations, self.sample, language, self.settings, self.output)
        return f"{rows:,} different templates"
