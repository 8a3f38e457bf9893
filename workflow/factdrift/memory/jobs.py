"""Jobs that score retrievers and memories by what changed."""

from pathlib import Path
from typing import Annotated

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths


class OfCorpus(Job):
    corpus: Annotated[Path, "what `streams corpus` wrote"]
    questions: Annotated[Path, "what `streams corpus-questions` wrote"]


class Retrieve(OfCorpus, command="memory retrieve"):
    """Rank the documents of a corpus for all questions, and score the rankings."""

    runs: Annotated[Paths, "TREC run files of other retrievers"] = ()
    names: Annotated[tuple[str, ...], "of these retrievers"] = ()
    dates: Annotated[bool, Key("corpus.dates_shown")]
    seed: Annotated[int, Key("seed")]
    retrieved: Annotated[Output, "documents of every retriever and question, the best first"]
    report: Annotated[Output, "the scores as tables"]
    output: Annotated[Output, "scores by kind of question"]

    def run(self) -> str:
        from factdrift.memory.retrieval import Sources, write_retrieval

        if len(self.names) != len(self.runs):
            raise InputError("--names: give a name for every file of --runs")
        runs = dict(zip(self.names, self.runs, strict=True))
        sources = Sources(self.corpus, self.questions, runs, self.dates)
        return write_retrieval(sources, self.seed, self.retrieved, self.report, self.output)


class Export(Job, command="memory export"):
    """Write the events that a memory reads, in the order in which they became known, and its questions.

    factdrift memory export memory/
    """

    folder: Annotated[Output, "made anew", Flag(positional=True)]
    corpus: Annotated[Path, "dated documents"] = Path("results/corpus.parquet")
    questions: Annotated[Path, "questions about them"] = Path("results/corpus_questions.parquet")
    known: Annotated[Path, "timelines with both axes"] = Path("results/known.parquet")
    layouts: Annotated[bool, "in the forms of BEIR, TREC and LongMemEval, and facts with both times"] = False
    retrieved: Annotated[Path, "documents of retrievers, for --layouts"] = Path("results/retrieved.parquet")

    def run(self) -> str:
        from factdrift.memory import folder, layouts

        inputs = folder.Inputs(self.corpus, self.questions, self.known)
        if self.layouts:
            names = layouts.write_layouts(inputs, self.retrieved, self.folder)
            return "\n".join(f"{self.folder / name}" for name in names)
        lines = folder.export(inputs, self.folder)
        return "\n".join(f"{self.folder / name}: {number:,} lines" for name, number in lines.items())


class Score(Job, command="memory score"):
    """Judge the answers of a memory: right, stale, wrong, both or refused, by kind of question.

    factdrift memory score memory/ answers.jsonl
    """

    folder: Annotated[Path, "what `memory export` wrote", Flag(positional=True)]
    answers: Annotated[Path, 'JSON Lines: {"id": ..., "text": ...}', Flag(positional=True)]
    output: Annotated[Output | None, "the scores as a table", Flag("PARQUET")] = None

    def run(self) -> str:
        from factdrift.memory.folder import read_key
        from factdrift.memory.score import score

        return score(read_key(self.folder), self.answers, self.output)
