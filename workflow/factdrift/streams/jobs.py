"""Jobs that link the updates of a sequence of dates to chains."""

import datetime
from pathlib import Path
from typing import Annotated, Literal

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths


class OfDates(Job):
    dates: Annotated[tuple[datetime.date, ...], "of the dumps, ascending"]
    output: Output

    def days(self) -> list[str]:
        """The dates, as 2021-01-04. Raises InputError unless they ascend."""
        if list(self.dates) != sorted(set(self.dates)) or len(self.dates) < 2:
            raise InputError("--dates: give two dates or more, each later than the one before")
        return [day.isoformat() for day in self.dates]

    def packed_days(self) -> list[int]:
        """The dates as packed days (20210104)."""
        from factdrift.wikidata.time import pack_date

        return [pack_date(day) for day in self.dates]

    def days_around(self, tables: Paths) -> list[str]:
        """The dates, with a table for each interval. Raises InputError unless the two fit."""
        dates = self.days()
        if len(tables) != len(dates) - 1:
            raise InputError(
                f"--dates: {len(dates)} dates have {len(dates) - 1} intervals, but {len(tables)} tables are "
                "given; give one for each interval"
            )
        return dates


class Chains(OfDates, command="streams chains", implied_inputs="filters"):
    """Link the updates of a bucket over all intervals."""

    updates: Annotated[Paths, "a table per interval"]
    new_entities: Annotated[Paths, "a table per interval"]
    statements: Annotated[Paths, "all statements of a dump with the filter that drops them; a table per date"]
    timelines: Annotated[Output, "when their values held"]
    known: Annotated[Output, "the same by the dumps up to any date"]

    def run(self) -> str:
        from factdrift.streams.chains import write_chains

        dates = self.days_around(self.updates)
        if len(self.new_entities) != len(self.updates):
            raise InputError("--new-entities: give one table for each interval, as for --updates")
        if len(self.statements) != len(dates):
            raise InputError(f"--statements: give one table for each of the {len(dates)} dates")
        inputs = self.updates, self.new_entities, self.statements
        outputs = self.output, self.timelines, self.known
        return f"{write_chains(*inputs, self.packed_days(), *outputs):,} updates linked"


class Assemble(OfDates, command="streams assemble"):
    """Write the updates of all intervals in one table, and draw those of each month by scenario."""

    datasets: Annotated[Paths, "a table per interval"]
    chains: Annotated[Paths, "the tables of all buckets"]
    figure: Output

    def run(self) -> str:
        from factdrift.streams.assemble import assemble
        from factdrift.streams.figure import draw

        rows = assemble(self.datasets, self.chains, self.days_around(self.datasets), self.output)
        draw(self.output, self.days(), self.figure)
        return f"{rows:,} updates of {len(self.datasets)} intervals"


class AsOf(OfDates, command="streams asof", implied_inputs="words"):
    """Write questions about facts on a date."""

    stream: Annotated[Path, "what `assemble` wrote"]
    timelines: Annotated[Paths, "of all buckets"]
    rows: Annotated[Paths, "what TempRIPPLE asks of the last snapshot (`tempripple rows`), of all buckets"]
    classes: Annotated[Paths, "of `tempripple rows`, last date"]
    entities: Annotated[Paths, "of the last date"]
    properties: Annotated[Path, "of the last date"]
    alike: Annotated[tuple[str, ...], Key("tempripple.distractors.alike"), Flag("PID")]
    seed: Annotated[int, Key("seed")]

    def run(self) -> str:
        from factdrift.streams.asof import Inputs, write_questions

        self.days()
        of_snapshot = self.rows, self.classes, self.entities, self.properties
        inputs = Inputs(self.stream, self.timelines, *of_snapshot)
        lacking, unsaid = write_questions(inputs, self.packed_days(), self.alike, self.seed, self.output)
        lines = [f"{lacking.total():,} questions with a date"]
        if few := lacking["options"]:
            lines.append(f"{few:,} of them have too few options, so they are only asked openly")
        if alone := lacking["wrong"]:
            lines.append(
                f"{alone:,} of them have no option that held at another time: of their subject and relation "
                "the dumps name no other value that can be one"
            )
        why = "resources/words/grammar.tsv has no past of the verb of its template"
        for relation, chains in sorted(unsaid.items()):
            lines.append(f"{relation}: {chains:,} subjects are not asked about: {why}")
        return "\n".join(lines)


class Known(OfDates, command="streams known"):
    """Write the timelines of all buckets with labels, the lateness of the dumps, and how long values hold."""

    known: Annotated[Paths, "of all buckets"]
    entities: Annotated[Paths, "of all dates, the last date's last"]
    properties: Annotated[Path, "of the last date"]
    labels: Annotated[Paths, "tables of labels of the build"] = ()
    report: Output
    half_life: Output
    figure: Output

    def run(self) -> str:
        from factdrift.streams.half_life import write_half_life
        from factdrift.streams.known_table import Names, write_known_table

        names = Names(self.entities, self.properties, self.labels)
        last = self.packed_days()[-1]
        relations = write_half_life(self.known, self.properties, last, self.half_life, self.figure)
        rows = write_known_table(self.known, names, self.half_life, self.output, self.report)
        return f"{rows:,} rows; half-lives of {relations:,} relations"


class HalfLife(Job, command="half-life"):
    """Print how long an answer about a relation stays right."""

    relation: Annotated[str, Flag("P6", positional=True)]
    table: Annotated[Path, "what `streams known` wrote"] = Path("results/half_life.parquet")

    def run(self) -> str:
        from factdrift.core.tables import records
        from factdrift.streams.half_life import half_life_text

        rows = {row["relation"]: row for row in records(self.table)}
        if self.relation not in rows:
            raise InputError(f"{self.table}: no tenure of {self.relation} ended; it has {', '.join(rows)}")
        return half_life_text(rows[self.relation])


class Subjects(Job, command="streams subjects"):
    """List the subjects of the corpus."""

    stream: Annotated[Path, "what `assemble` wrote"]
    entities: Annotated[Paths, "of the last date"]
    noise: Annotated[int, Key("corpus.noise")]
    namesakes: Annotated[float, Key("corpus.distractors.namesake")]
    seed: Annotated[int, Key("seed")]
    output: Output

    def run(self) -> str:
        from factdrift.streams.subjects import write_subjects

        inputs = self.stream, self.entities
        roles = write_subjects(*inputs, self.noise, self.namesakes, self.seed, self.output)
        return ", ".join(f"{number:,} subjects: {role}" for role, number in roles.items())


class Facts(OfDates, command="streams facts", implied_inputs="filters"):
    """Write the facts about the corpus's subjects in a bucket that the dumps up to a date prove."""

    known: Annotated[Path, "what `chains` wrote"]
    subjects: Annotated[Path, "what `subjects` wrote"]
    statements: Annotated[Paths, "all statements of a dump with the filter that drops them; a table per date"]
    relations: Annotated[Path, "which have a single value at a time, by the last dump"]

    def run(self) -> str:
        from factdrift.streams.subjects import write_facts

        if len(self.statements) != len(self.days()):
            raise InputError(f"--statements: give a table for each of the {len(self.dates)} dates")
        inputs = self.known, self.subjects, self.statements, self.relations
        return f"{write_facts(*inputs, self.packed_days(), self.output):,} rows"


class OfCorpus(OfDates):
    subjects: Annotated[Path, "what `subjects` wrote"]
    facts: Annotated[Paths, "what `facts` wrote, all buckets"]
    entities: Annotated[Paths, "of all dates, the last date's last"]
    labels: Annotated[Paths, "tables of labels of the build"] = ()
    seed: Annotated[int, Key("seed")]


class Corpus(OfCorpus, command="streams corpus", implied_inputs="words"):
    """Write dated documents about the subjects of a stream."""

    history: Annotated[Literal["none", "all"], Key("corpus.history")]
    citing: Annotated[float, Key("corpus.distractors.citing")]

    def run(self) -> str:
        from factdrift.streams.corpus import Options, Tables, write_corpus

        tables = Tables(self.subjects, self.facts, self.entities, self.labels)
        options = Options(self.history == "all", self.citing, self.seed)
        rows, citations = write_corpus(tables, self.days(), options, self.output)
        return f"{rows:,} versions of documents; {citations:,} of them quote an older state"


class CorpusQuestions(OfCorpus, command="streams corpus-questions", implied_inputs="words"):
    """Write questions about the corpus with right and stale answers."""

    corpus: Annotated[Path, "what `corpus` wrote"]

    def run(self) -> str:
        from factdrift.streams.corpus import Tables
        from factdrift.streams.corpus_questions import write_corpus_questions

        tables = Tables(self.subjects, self.facts, self.entities, self.labels)
        counts = write_corpus_questions(tables, self.corpus, self.days(), self.seed, self.output)
        return ", ".join(f"{number:,} questions: {kind}" for kind, number in sorted(counts.items()))
