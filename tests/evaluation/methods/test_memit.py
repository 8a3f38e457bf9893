"""MEMIT: its solve, its layers; and the prefixes that it and ROME take."""

import json

import pytest
import torch
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import rounding, tiny_model

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.methods import shared
from factdrift.evaluation.methods.memit import memit, solve, together
from factdrift.evaluation.methods.optimise import contexts_of, hidden_states, optimise
from factdrift.evaluation.methods.shared import draw_prefixes, read_prefixes, write_prefixes
from factdrift.evaluation.states.edited import edited
from factdrift.models.deltas import applied
from factdrift.models.loading import load
from factdrift.models.moments import Moments

pytestmark = pytest.mark.filterwarnings("ignore:second moments")
REFUSED = ("olmo2", "qwen2_moe")


def some_moments(inner=56, tokens=400, ridge=1e-6):
    torch.manual_seed(0)
    keys = torch.randn(tokens, inner, dtype=torch.float64) @ torch.randn(inner, inner, dtype=torch.float64)
    return Moments(keys.T @ keys, tokens, "model", 0, "corpus", ridge)


def some_facts(groups, facts, inner=56, hidden=24):
    torch.manual_seed(1)
    return (torch.randn(groups, facts, width, dtype=torch.float64) for width in (inner, hidden))


def direct(keys, residuals, weight, moments):
    """R K^T (lambda C + K K^T)^-1 by LU, one group; without moments C is the identity."""
    matrix = torch.eye(keys.shape[1], dtype=keys.dtype) if moments is None else moments.matrix
    return residuals.T @ keys @ torch.linalg.inv(weight * matrix + keys.T @ keys)


@pytest.mark.parametrize(("facts", "weight", "counted"), [(1, 15000, True), (7, 0.1, True), (7, 0.1, False)])
def test_the_solve_is_that_of_the_paper(facts, weight, counted):
    """Sherman and Morrison for one fact, Woodbury for several, against LU of the whole matrix."""
    moments = some_moments() if counted else None
    keys, residuals = some_facts(3, facts)
    read, write = solve(keys, residuals, tiny_hyper("memit", moment_weight=weight), moments)
    for group in range(3):
        expected = direct(keys[group], residuals[group], weight, moments)
        found = write[group].T @ read[group]
        assert (found - expected).norm() < 1e-9 * expected.norm()


def test_all_facts_at_once_are_one_change_and_one_fact_is_that_fact_alone():
    loaded = tiny_model("llama")
    hyper, artefacts = tiny_hyper("memit", moment_weight=1e-9), tiny_artefacts(loaded)
    for delta in together(loaded, EDITS, hyper, artefacts).deltas.values():
        assert len(delta) == 1
        assert torch.linalg.matrix_rank(delta.dense(0)[0]) == len(EDITS)
    one, other = memit(loaded, EDITS[:1], hyper, artefacts), together(loaded, EDITS[:1], hyper, artefacts)
    for name, delta in one.deltas.items():
        assert torch.allclose(delta.dense(0)[0], other.deltas[name].dense(0)[0], rtol=1e-9, atol=1e-12)


def test_small_weights_come_to_equality_and_large_ones_to_nothing():
    moments = some_moments()
    keys, residuals = some_facts(1, 3)

    def change(weight, how="least_squares"):
        read, write = solve(keys, residuals, tiny_hyper("memit", moment_weight=weight, solve=how), moments)
        return write[0].T @ read[0]

    equal = change(1, "constrained")
    assert torch.allclose(equal @ keys[0].T, residuals[0].T, rtol=0, atol=1e-10)
    assert (change(1e-9) - equal).norm() < 1e-6 * equal.norm()
    # Of facts with one key, which cannot all be met, each gets the mean.
    keys[0, 1] = keys[0, 0] * (1 + 1e-9)
    met = change(1, "constrained") @ keys[0].T
    mean = residuals[0, :2].mean(0)
    assert torch.allclose(met.T, torch.stack([mean, mean, residuals[0, 2]]), rtol=0, atol=1e-7)
    norms = [float(change(weight).norm()) for weight in (1e-3, 1e-1, 1e1, 1e3, 1e5, 1e9)]
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < 1e-6 * norms[0]


def test_equality_for_one_fact_is_rome_with_the_averaged_key():
    """EMMET: (v* - W k) (k^T C^-1 k)^-1 k^T C^-1 = ROME's right u^T with both of one key."""
    moments = some_moments()
    keys, residuals = some_facts(4, 1)
    read, write = solve(keys, residuals, tiny_hyper("memit", solve="constrained"), moments)
    u = moments.solve(keys[:, 0])
    u = u / u.norm(dim=1, keepdim=True)
    for group in range(4):
        right = residuals[group, 0] / (keys[group, 0] @ u[group])
        rome = right[:, None] @ u[group][None]
        assert (write[group].T @ read[group] - rome).norm() < 1e-10 * rome.norm()


@pytest.mark.parametrize("family", ["gpt2", "gptj", "llama", "qwen3_5_text", "deepseek_v2"])
def test_layers_together_bring_the_state_to_where_it_should_be(family):
    """With exact keys and no weight on C, what each layer leaves out the next makes up."""
    loaded = tiny_model(family)
    artefacts = tiny_artefacts(loaded, prefixes=("",))
    hyper = tiny_hyper("memit", moment_weight=1e-12)
    found = memit(loaded, EDITS, hyper, artefacts)
    contexts, _ = contexts_of(loaded, EDITS, hyper, artefacts)
    block = loaded.spec.module(1, "")
    start = hidden_states(loaded, contexts, block, block)[1][:, 0]
    wanted = start + optimise(loaded, contexts, hyper, 1, at="block").change
    with applied(loaded.model, found.deltas, torch.tensor([one.index for one in contexts])):
        reached = hidden_states(loaded, contexts, block, block)[1][:, 0]
    miss = (reached - wanted).norm(dim=1) / (wanted - start).norm(dim=1)
    # What is left comes from the small weight on C.
    assert miss.max() < max(1e-6, 1000 * rounding(family))


@pytest.mark.parametrize(
    ("family", "reason"), zip(REFUSED, ("normalised", "weighted for each token"), strict=True)
)
def test_families_in_which_a_missing_state_is_no_target_are_refused(family, reason):
    loaded = tiny_model(family)
    for regime in ("independent", "batch"):
        with pytest.raises(InputError, match=rf"memit on tiny-{family}: .*{reason}.*; use ft.* rome,"):
            edited(loaded, EDITS, tiny_hyper("memit"), tiny_artefacts(loaded), regime)


def test_the_reference_has_twenty_one_for_rome_and_six_for_memit():
    loaded = tiny_model("gpt2")
    rome = draw_prefixes(loaded, tiny_hyper("rome"), 0)
    assert (len(rome), rome[0]) == (21, "")
    assert all(prefix.endswith(". ") for prefix in rome[1:])
    memit = draw_prefixes(loaded, tiny_hyper("memit"), 0)
    assert [prefix.split()[0][:3] for prefix in memit[1:4]] == ["The", "The", "Bec"]
    assert len(memit) == 6


def test_braces_are_no_part_of_a_prefix(monkeypatch):
    monkeypatch.setattr(shared, "sampled", lambda *more, **others: ["a {b} c"])
    assert draw_prefixes(tiny_model("gpt2"), tiny_hyper("rome"), 0)[1] == "a  b  c. "


def test_a_file_keeps_them_and_fits_one_model(tmp_path):
    loaded = tiny_model("gpt2")
    path = tmp_path / "prefixes.json"
    write_prefixes(path, loaded, tiny_hyper("memit"), 7)
    assert read_prefixes(path, loaded) == draw_prefixes(loaded, tiny_hyper("memit"), 7)
    assert read_prefixes(path, loaded) != draw_prefixes(loaded, tiny_hyper("memit"), 8)
    assert json.loads(path.read_text(encoding="utf-8"))["seed"] == 7
    with pytest.raises(InputError, match="another model than tiny-llama"):
        read_prefixes(path, tiny_model("llama"))
    with pytest.raises(InputError, match="no such file"):
        read_prefixes(tmp_path / "none.json", loaded)


def test_the_command_writes_them_for_a_model_of_ones_own(tmp_path, monkeypatch):
    loaded = tiny_model("gpt2", dtype=torch.float32)
    folder = tmp_path / "model"
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    line = ["--model", folder, "--method", "memit", "--set", '{"layers": [0, 1]}', "--seed", 7]
    line += ["--settings", '{"device": "cpu"}', "--threads", 2, "-o", tmp_path / "p.json"]
    assert main(["edit", "prefixes", *map(str, line)]) == 0
    model = load(str(folder), device="cpu")
    assert len(read_prefixes(tmp_path / "p.json", model)) == 6
    assert threads == [2]
