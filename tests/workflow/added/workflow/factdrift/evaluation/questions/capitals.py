import pyarrow.parquet as pq

from factdrift.evaluation.questions.question import Benchmark, Question


def read(tables):
    rows = pq.read_table(tables.questions[0]).to_pylist()
    own = {"form": "{context} Name the letter. {question} {options}", "exact": False}
    own |= {"ways": ("loglik", "letter"), "unedited": True}
    of = ("id", "prompt", "targets")
    asked = [Question(**{name: row[name] for name in of}, **own) for row in rows]
    return Benchmark("capitals2", asked)
