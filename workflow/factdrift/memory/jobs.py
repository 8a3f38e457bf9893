"""Jobs that score retrievers and memories by what changed."""

from pathlib import Path
from typing import Annotated

from factdrift.core.errors import InputError
from factdrift.core.jobs import Job, Key, Output, Paths


class OfCorpus(Job):
    corpus: Annotated[Path, "what `streams corpus` wrote"]
    questions: Annotated[Path, "what `streams corpus-questions` wrote"]


class Retrieve(OfCorpus, command="memory retrieve"):
    """Rank the documents of a corpus for each question, and score the rankings."""

    runs: Annotated[Paths, "TREC run files of other retrievers"] = ()
    names: Annotated[tuple[str, ...], "of these retrievers"] = ()
    seed: Annotated[int, Key("seed")]
    retrieved: Annotated[Output, "documents of each retriever and question, the best first"]
    report: Annotated[Output, "the scores as tables"]
    output: Annotated[Output, "scores by kind of question"]

    def run(self) -> str:
        from factdrift.memory.retrieval import Sources, write_retrieval

        if len(self.names) != len(self.runs):
            raise InputError("--names: give one name for each file of --runs")
        runs = dict(zip(self.names, self.runs, strict=True))
        sources = Sources(self.corpus, self.questions, runs)
        return write_retrieval(sources, self.seed, self.retrieved, self.report, self.output)
