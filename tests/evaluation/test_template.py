"""Edits and probes as turns of a chat: against transformers one by one, and what does not fit together."""

from __future__ import annotations

import copy
import json
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from factdrift.evaluation.baseline import write_baseline  # noqa: E402
from factdrift.evaluation.questions.probes import read_aligned, read_updates, write_aligned  # noqa: E402
from support.tiny_edits import tiny_artefacts, tiny_hyper  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402
from support.updates import edits  # noqa: E402

from factdrift.cli import main, parser  # noqa: E402
from factdrift.core.jobs import record  # noqa: E402
from factdrift.core.keys import read_settings  # noqa: E402
from factdrift.core.yaml_files import read_yaml  # noqa: E402
from factdrift.evaluation import run  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts  # noqa: E402
from factdrift.evaluation.scores.table import CHAT, Group, lines  # noqa: E402
from factdrift.evaluation.session import Job  # noqa: E402
from factdrift.evaluation.settings import Settings  # noqa: E402
from factdrift.evaluation.states.edited import maker  # noqa: E402
from factdrift.evaluation.tool_jobs import Tune  # noqa: E402
from factdrift.evaluation.tools.tuned import write  # noqa: E402
from factdrift.evaluation.tools.tuning import Trial  # noqa: E402
from factdrift.models.deltas import written  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402

TEMPLATE = "{% for turn in messages %}Q\n{{ turn.content }}\n{% endfor %}"
TEMPLATE += "{% if add_generation_prompt %}A{{ '\n' }}{% endif %}"
SETTINGS = read_settings('{"batch": 2, "length": 24}', Settings, "edit")
CPU = ("--settings", '{"device": "cpu", "dtype": "float32", "batch": 2, "length": 20}')
PROMPT = "The head of government of Atlantis is"


def chatting(template: str = "chat") -> Loaded:
    """A tiny model whose tokenizer has a chat template."""
    loaded = tiny_model("llama", dtype=torch.float32, positions=160)
    tokenizer = copy.deepcopy(loaded.tokenizer)
    tokenizer.chat_template = TEMPLATE
    object.__setattr__(loaded, "tokenizer", tokenizer)
    return loaded.with_template(template)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with edits, aligned in the template, and a tiny model in the layout of transformers."""
    folder = tmp_path_factory.mktemp("world")
    edits(folder, fluency_sample=0.5)
    loaded = chatting()
    tables = (folder / f"{name}.parquet" for name in ("edits", "aligned", "unaligned"))
    assert write_aligned(loaded.tokenizer, "m", *tables)[1] == 0
    loaded.model.save_pretrained(folder / "model")
    loaded.tokenizer.save_pretrained(folder / "model")
    return folder


def job_of(world: Path, template: str = "chat") -> Job:
    return Job(chatting(template), read_aligned(world / "aligned.parquet"), SETTINGS)


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def asked(loaded: Loaded, content: str) -> list[int]:
    """The tokens of a conversation up to the answer."""
    ids: list[int] = loaded.tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, return_dict=False
    )
    return ids


def chance(loaded: Loaded, content: str, answer: str) -> float:
    """The mean log-probability of an answer to a user, by transformers."""
    ids = asked(loaded, content)
    target = loaded.tokenizer(answer, add_special_tokens=False)["input_ids"]
    logits = loaded.model(torch.tensor([ids + target])).logits[0].log_softmax(-1)
    return logits[len(ids) - 1 : -1].gather(1, torch.tensor(target)[:, None]).mean().item()


def test_the_unedited_model_answers_a_user(world: Path, tmp_path: Path) -> None:
    job, updates = job_of(world), read_updates(world / "edits.parquet")
    files = (tmp_path / "probes.parquet", tmp_path / "clozes.parquet")
    write_baseline(job, updates, tmp_path / "parts", *files)
    found = rows(files[0])
    assert {(row["prompt"], row["target"]) for row in found} == {
        (probe["prompt"], probe["target"]) for one in updates for probe in one.probes
    }
    for row in found:
        assert row["logprob"] == pytest.approx(chance(job.loaded, row["prompt"], row["target"]), abs=1e-4)
    clozes = rows(files[1])
    assert {row["template"] for row in clozes} == {"chat"}
    for row in clozes:
        ids = torch.tensor([asked(job.loaded, row["prompt"])])
        said = job.loaded.model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :]
        assert row["said"]
        assert job.loaded.tokenizer.decode(said, skip_special_tokens=True).startswith(row["said"])


def test_a_template_takes_nothing_of_a_long_continuation(world: Path) -> None:
    for prompt, target in (job := job_of(world)).sentences:
        if not target:
            content = len(job.loaded.tokenizer(prompt)["input_ids"])
            assert abs(job.room(prompt) - (SETTINGS.length - content)) <= 1


def test_probes_of_an_edit_are_those_of_the_changed_model_that_a_user_asks(
    world: Path, tmp_path: Path
) -> None:
    job, updates = job_of(world), read_updates(world / "edits.parquet")[:2]
    hyper, artefacts = tiny_hyper("rome", steps=25, lr=0.5), tiny_artefacts(job.loaded)
    out = (tmp_path / "probes.parquet", tmp_path / "edits.parquet")
    run.write_run(job, updates, run.Prepared(hyper, artefacts), run.Files(tmp_path / "parts", *out))
    assert [(row["template"], row["failed"]) for row in rows(out[1])] == [("chat", None)] * 2
    with maker(job.loaded, hyper, artefacts).made([one.edit for one in updates]) as (_, made):
        for owner, update in enumerate(updates):
            mine = [row for row in rows(out[0]) if row["edit"] == update.edit.id]
            with written(job.loaded.model, made.deltas, owner):
                for row, probe in zip(mine, update.probes, strict=True):
                    wanted = chance(job.loaded, probe["prompt"], probe["target"])
                    assert row["logprob"] == pytest.approx(wanted, abs=1e-3)
            # The edit raises its object as the answer to the user.
            before = chance(job.loaded, update.edit.prompt, update.edit.target)
            new = next(
                row for row, probe in zip(mine, update.probes, strict=True) if probe["object"] == "new"
            )
            assert new["logprob"] > before + 0.1


def test_the_prompt_method_puts_its_text_into_the_turn(world: Path, tmp_path: Path) -> None:
    job, updates = job_of(world), read_updates(world / "edits.parquet")[:1]
    hyper = Hyper("prompt", "m", "", {"text": "{prompt} {target}. "})
    out = (tmp_path / "probes.parquet", tmp_path / "edits.parquet")
    run.write_run(job, updates, run.Prepared(hyper, Artefacts()), run.Files(tmp_path / "parts", *out))
    edit = updates[0].edit
    for row, probe in zip(rows(out[0]), updates[0].probes, strict=True):
        content = f"{edit.prompt} {edit.target}. {probe['prompt']}"
        assert row["logprob"] == pytest.approx(chance(job.loaded, content, probe["target"]), abs=1e-4)


def test_batches_of_another_template_are_not_taken_up(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, begun = run._batch, []

    def killed(*arguments: Any) -> Any:
        begun.append(arguments)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(run, "_batch", killed)
    updates = read_updates(world / "edits.parquet")
    hyper = Hyper("prompt", "m", "", {"text": "{prompt} {target}. "})
    files = run.Files(tmp_path / "parts", tmp_path / "p", tmp_path / "e")
    rest = (updates, run.Prepared(hyper), files)
    with pytest.raises(KeyboardInterrupt):
        run.write_run(job_of(world, "none"), *rest)
    run.write_run(job_of(world), *rest)
    assert len(begun) == 2 + 3
    assert {row["template"] for row in rows(tmp_path / "e")} == {"chat"}


def test_the_tables_say_so() -> None:
    row = {"failed": None, "template": "chat"} | dict.fromkeys(("efficacy_d", "fluency"), 0.5)
    empty = Group("n", "replace", "ft", [], {})
    mine = Group("m", "replace", "ft", [_Row(row)], {})
    text = list(lines([mine, empty], "Title"))
    assert f"m, 1 replacements; {CHAT}" in text
    assert "n, 0 replacements" in text


class _Row(dict[str, Any]):
    """A row whose other columns are null."""

    def __missing__(self, key: str) -> None:
        return None


def command(world: Path, verb: str, out: Path, *options: str) -> int:
    line = ["edit", verb, "--model", str(world / "model"), "--edits", str(world / "edits.parquet"), *options]
    if verb == "align":
        names = ("aligned", "unaligned")
    else:
        names = ("probes", "clozes")
        line += ["--aligned", str(out / "aligned.parquet"), "--unaligned", str(out / "unaligned.parquet")]
        line += ["--parts", str(out / "parts"), *CPU]
    return main(
        [*line, *(word for name in names for word in (f"--out-{name}", str(out / f"{name}.parquet")))]
    )


def test_the_commands_agree_on_the_template(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(world, "align", tmp_path, "--template", "chat") == 0
    assert (tmp_path / "aligned.parquet").read_bytes() == (world / "aligned.parquet").read_bytes()
    assert command(world, "baseline", tmp_path) == 1
    said = capsys.readouterr().err
    assert "aligned.parquet: not made with the tokens of" in said
    assert "--template none; make it again with `factdrift edit align`" in said
    assert command(world, "baseline", tmp_path, "--template", "chat") == 0
    assert {row["template"] for row in rows(tmp_path / "clozes.parquet")} == {"chat"}


def test_a_model_without_a_template_is_refused(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in world.joinpath("model").iterdir():
        if "chat_template" not in path.name:
            tmp_path.joinpath("model").mkdir(exist_ok=True)
            (tmp_path / "model" / path.name).write_bytes(path.read_bytes())
    edits(tmp_path, fluency_sample=0)
    assert command(tmp_path, "align", tmp_path, "--template", "chat") == 1
    said = capsys.readouterr().err
    assert "edit.template: the tokenizer of" in said
    assert "has no chat template" in said


def test_one_edit_to_look_at(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["edit", "try", PROMPT, "Joe Biden", "--subject", "Atlantis", "--model", str(world / "model")]
    line += ["--method", "prompt", "--old-object", "Marta", "--dataset", str(world / "none.parquet")]
    assert main([*line, *CPU[:1], '{"device": "cpu", "dtype": "float32"}', "--template", "chat"]) == 0
    shown = next(row for row in capsys.readouterr().out.splitlines() if "new object" in row)
    percent = [float(word.rstrip("%")) / 100 for word in shown.split() if word.endswith("%")]
    contents = (PROMPT, f"{PROMPT} Joe Biden. {PROMPT}")
    wanted = [torch.tensor(chance(chatting(), content, "Joe Biden")).exp().item() for content in contents]
    assert percent == pytest.approx(wanted, abs=1e-4)


def test_what_is_missing_is_made_with_the_template(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["edit", "try", PROMPT, "Joe", "--subject", "Atlantis", "--model", str(world / "model")]
    line += ["--method", "mend", "--results", str(tmp_path), "--template", "chat"]
    assert main([*line, *CPU[:1], '{"device": "cpu"}']) == 1
    command = shlex.split(capsys.readouterr().err.split("`")[1])
    given = dict(each.split("=", 1) for each in command[command.index("--config") + 1 :])
    assert json.loads(given["edit"]) == {"template": "chat"}


@pytest.mark.parametrize(
    ("split", "edit"), [("train", {"split": "test", "template": "chat"}), ("all", {"template": "chat"})]
)
def test_tuned_values_come_with_the_template(split: str, edit: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "tuned.yaml"
    line = ["edit", "tune", "m", "--method", "rome", "--template", "chat", "--split", split]
    line += ["--dataset", "d", "-o", str(output)]
    options = parser("edit").parse_args(line)
    write(record(Tune, options), "m", Trial(tiny_hyper("rome"), 1.0, 1.0, 1.0, 1.0), 1, 1)
    assert read_yaml(output)["edit"] == edit


def test_a_checkpoint_is_probed_in_the_template(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["edit", "probe", "--model", str(world / "model"), "--base", str(world / "model"), *CPU]
    line += ["--edits", str(world / "edits.parquet"), "--limit", "1", "--name", "same"]
    assert main([*line, "--template", "chat", "--output", str(tmp_path / "one")]) == 0
    assert CHAT in capsys.readouterr().out
    found = rows(tmp_path / "one" / "edit_scores.parquet")
    assert {row["template"] for row in found} == {"chat"}
    none, same = found
    assert same["p_new"] == pytest.approx(none["p_new"], abs=1e-6)
    probe = next(one for one in rows(tmp_path / "one" / "probes.parquet") if one["object"] == "new")
    assert probe["logprob"] == pytest.approx(chance(chatting(), probe["prompt"], probe["target"]), abs=1e-4)
    again = [*line, "--output", str(tmp_path / "two"), "--baseline", str(tmp_path / "one")]
    assert main(again) == 1
    assert "clozes.parquet is of --template chat" in capsys.readouterr().err
