"""A folder of tasks for Inspect (package `inspect_ai`), docs/answering.md.

Questions are a user's turn, answered in writing and judged by factdrift, which has to be installed where they
run.
"""

import json
import re
from collections.abc import Iterable
from keyword import iskeyword
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.owned import new_folder
from factdrift.evaluation.tools.written_questions import WrittenQuestions

TASKS = "factdrift_tasks.py"
"""The file that Inspect is given."""

_HEAD = '''"""Tasks for Inspect: `inspect eval {file}@NAME --model PROVIDER/MODEL`."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import generate

from factdrift.verdict.files import case_of
from factdrift.verdict.judge import judged


@scorer(
    metrics={{
        "right": [mean(), stderr()],
        "stale": [mean(), stderr()],
        "refused": [mean()],
        "unclear": [mean()],
    }}
)
def verdict():
    async def score(state, target):
        found = judged(case_of({{**state.metadata, "text": state.output.completion}}))
        shares = {{name: float(found.verdict == name) for name in ("stale", "refused", "unclear")}}
        return Score(
            value={{"right": float(found.verdict == "correct"), **shares}},
            answer=found.answer,
            explanation=f"{{found.verdict}}: {{found.reason}}",
        )

    return score


def _task(name):
    with Path(__file__).with_name(f"{{name}}.jsonl").open(encoding="utf-8") as lines:
        samples = [Sample(**json.loads(line)) for line in lines]
    return Task(
        dataset=MemoryDataset(samples, name=name),
        solver=generate(),
        scorer=verdict(),
        config=GenerateConfig(max_tokens={tokens}, temperature=0.0),
    )
'''


def write_inspect(written: Iterable[WrittenQuestions], tokens: int, output: Path) -> dict[str, int]:
    """Writes the folder, in the place of one written before; returns task -> number of questions.

    `tokens`: the configuration's `written.tokens`. Raises InputError if there is no question in words, a task
    has a name that the code of the folder uses, or the folder has other files.
    """
    tables = {f"{asked.group}{asked.kind}": asked.turns for asked in written if len(asked.turns)}
    if not tables:
        raise InputError("no question to write; give --questions or --edits")
    for name in tables:
        if iskeyword(name) or re.search(rf"\b{name}\b", _HEAD):
            raise InputError(f"--questions: {name}: is a word of the code of {TASKS}; give another name")
    functions = "".join(f"\n\n@task\ndef {name}():\n    return _task({name!r})\n" for name in tables)
    with new_folder(output) as folder:
        (folder / TASKS).write_text(_HEAD.format(file=TASKS, tokens=tokens) + functions, encoding="utf-8")
        for name, table in tables.items():
            lines = []
            for row in table.to_pylist():
                sample = {"input": row.pop("prompt"), "target": row.pop("target"), "id": row.pop("id")}
                lines.append(json.dumps({**sample, "metadata": row}, ensure_ascii=False))
            (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {name: len(table) for name, table in tables.items()}
