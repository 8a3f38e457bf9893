"""AlphaEdit against the equation of its paper, by LU of whole matrices, and its memory in turns."""

from dataclasses import replace

import pytest
import torch
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import tiny_model
from torch import Tensor

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.memit import solve
from factdrift.evaluation.methods.optimise import contexts_of, hidden_states
from factdrift.evaluation.states.edited import edited
from factdrift.models.deltas import applied
from factdrift.models.loaded import Loaded
from factdrift.models.moments import Moments

pytestmark = pytest.mark.filterwarnings("ignore:second moments")
WIDTH, NULL, OUT = 56, 30, 24


def some_moments() -> tuple[Moments, Tensor]:
    """Moments of which 30 eigenvalues count as zero, and the eigenvectors, those first."""
    torch.manual_seed(0)
    basis = torch.linalg.qr(torch.randn(WIDTH, WIDTH, dtype=torch.float64)).Q
    values = torch.cat([torch.full((NULL,), 1e-4), torch.full((WIDTH - NULL,), 5.0)]).double()
    return Moments(basis @ values.diag() @ basis.T, 1, "model", 0, "corpus", 0), basis


def by_equation(keys: Tensor, residuals: Tensor, earlier: Tensor, null: Tensor, l2: float) -> Tensor:
    """R K^T P (K_p K_p^T P + K K^T P + L2 I)^-1 with rows for facts, by LU."""
    project = null @ null.T
    inner = (earlier.T @ earlier + keys.T @ keys) @ project + l2 * torch.eye(WIDTH, dtype=torch.float64)
    return residuals.T @ keys @ project @ torch.linalg.inv(inner)


@pytest.mark.parametrize(("facts", "remembered"), [(4, 0), (1, 9), (4, 80)])
def test_the_solve_is_that_of_the_paper(facts, remembered):
    moments, basis = some_moments()
    keys, earlier = (torch.randn(count, WIDTH, dtype=torch.float64) for count in (facts, remembered))
    residuals = torch.randn(facts, OUT, dtype=torch.float64)
    hyper = tiny_hyper("alphaedit", l2=10)
    read, write = solve(keys[None], residuals[None], hyper, moments, earlier if remembered else None)
    found = write[0].T @ read[0]
    expected = by_equation(keys, residuals, earlier, basis[:, :NULL], 10)
    assert read.shape == (1, facts, WIDTH)
    assert (found - expected).norm() < 1e-10 * expected.norm()
    assert (found @ basis[:, NULL:]).norm() < 1e-10


def test_without_null_space_it_says_so():
    moments, _ = some_moments()
    hyper = tiny_hyper("alphaedit", null_space_below=1e-5)
    keys, residuals = torch.randn(1, 1, WIDTH), torch.randn(1, 1, OUT)
    with pytest.raises(CannotEdit, match=r"alphaedit\.null_space_below: .* block 0 .* the least is 0\.0001"):
        solve(keys, residuals, hyper, moments)


def mean_key(loaded: Loaded, edit: Edit, hyper: Hyper, artefacts: Artefacts, layer: int) -> Tensor:
    """The key of one edit on the model as it is now, [width]."""
    down = loaded.spec.module(layer, loaded.spec.down)
    keys = hidden_states(loaded, contexts_of(loaded, [edit], hyper, artefacts)[0], down, down)[0][0]
    return (keys[0] + keys[1:].mean(0)) / 2


def test_in_turn_each_edit_remembers_the_keys_of_those_before_it():
    """The last change of a layer follows from the keys that earlier edits had when they were made."""
    loaded = tiny_model("llama")
    hyper, artefacts = tiny_hyper("alphaedit"), tiny_artefacts(loaded)
    unknown = Edit("x", "No subject here is", "Mu", "Marta")
    found = edited(loaded, [EDITS[0], unknown, *EDITS[1:3]], hyper, artefacts, "sequential")
    assert (found.failed, found.owner) == ({1: "subject_missing"}, [0, -1, 0, 0])
    top = loaded.spec.module(1, loaded.spec.down)
    factors = found.deltas[top]
    keys = []
    for made, edit in enumerate(EDITS[:3]):
        # At the upper layer a key is seen with the lower layer already changed by its own edit.
        below = {name: delta for name, delta in found.deltas.items() if name != top}
        below = {
            name: replace(d, read=d.read[..., : made + 1], write=d.write[..., : made + 1])
            for name, d in below.items()
        }
        with applied(loaded.model, below, 0):
            keys.append(mean_key(loaded, edit, hyper, artefacts, 1))
    values, vectors = artefacts.moments[1].eigen
    null = vectors[:, values < hyper["null_space_below"]]
    assert 0 < null.shape[1] < len(values)
    residual = factors.write[0, :, 2:].T
    expected = by_equation(keys[2][None], residual, torch.stack(keys[:2]), null, hyper["l2"])
    change = factors.write[0, :, 2:] @ factors.read[0, :, 2:].T
    assert (change - expected).norm() < 1e-8 * expected.norm()
    forgetful = by_equation(keys[2][None], residual, torch.zeros(1, len(values)).double(), null, hyper["l2"])
    assert (change - forgetful).norm() > 1e-3 * expected.norm()


def test_a_turn_of_all_edits_is_a_batch_and_single_edits_are_no_batch():
    loaded = tiny_model("gpt2")
    artefacts = tiny_artefacts(loaded)
    batch = edited(loaded, EDITS[:3], tiny_hyper("alphaedit"), artefacts, "batch")
    turn, pairs, single = (
        edited(loaded, EDITS[:3], tiny_hyper("alphaedit", turn=turn), artefacts, "sequential")
        for turn in (3, 2, 1)
    )
    for name, delta in batch.deltas.items():
        whole = delta.dense(0)[0]
        assert torch.equal(turn.deltas[name].dense(0)[0], whole)
        for other in (pairs, single):
            assert (other.deltas[name].dense(0)[0] - whole).norm() > 1e-3 * whole.norm()
    one, alone = (
        edited(loaded, EDITS[:1], tiny_hyper("alphaedit"), artefacts, regime)
        for regime in ("batch", "independent")
    )
    for name, delta in alone.deltas.items():
        assert torch.allclose(one.deltas[name].dense(0)[0], delta.dense(0)[0], rtol=1e-9, atol=1e-12)


def test_the_eigenvectors_of_a_layer_are_computed_once_for_all_edits(monkeypatch):
    """They take minutes for the widest layers; no batch, turn or edit computes them again."""
    loaded = tiny_model("llama")
    hyper, artefacts = tiny_hyper("alphaedit"), tiny_artefacts(loaded)
    real, sizes = torch.linalg.eigh, []
    monkeypatch.setattr(torch.linalg, "eigh", lambda matrix: sizes.append(len(matrix)) or real(matrix))
    for regime in ("independent", "sequential", "batch"):
        edited(loaded, EDITS, hyper, artefacts, regime)
    assert sizes == [56] * len(hyper["layers"])
