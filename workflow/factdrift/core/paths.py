"""The data files that ship with the package: tables (`resources/`), schema and hyper-parameters (`config/`).

A checkout holds both folders at its top, a wheel inside the package. Nothing else in the package looks for a
data file of its own, so that no command depends on the working directory.
"""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The user's folder for what commands keep because it takes long to make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "factdrift"


PACKAGE = Path(__file__).parents[1]
"""The folder of the package's modules."""

_TOP = PACKAGE if (PACKAGE / "resources").is_dir() else PACKAGE.parents[1]

RESOURCES = (_TOP / "resources").resolve()
CARDS = RESOURCES / "cards"
"""What is published, and the templates of the cards."""
COSTS = RESOURCES / "costs"
CUTOFF_CHAINS = RESOURCES / "cutoff" / "chains.parquet"
"""Chains of the bundled sample as questions (docs/cutoff.md)."""
"""Later holders of these chains, by hand."""
CUTOFF_MAKERS = RESOURCES / "cutoff" / "makers.tsv"
DUMPS = RESOURCES / "dumps.tsv"
FILTERS = RESOURCES / "filters.tsv"
KLOB = RESOURCES / "klob"
KLOB_TEMPLATES = KLOB / "klob_templates.tsv"
WORDS = RESOURCES / "words"
GRAMMAR = WORDS / "grammar.tsv"
NAMES = WORDS / "names.tsv"
PLURALS = WORDS / "plurals.tsv"
NOUN_PHRASES = WORDS / "noun_phrases.tsv"
REASONING = WORDS / "reasoning.tsv"
"""Marks of reasoning and of answers in what models write."""
PRODUCTS = RESOURCES / "products.yaml"
PROMPTS = RESOURCES / "prompts"
RIPPLES = RESOURCES / "ripples"
"""Relations with a sentence from object to subject, inverses, and rules."""
SAMPLE = RESOURCES / "sample"
SHIPPED_MODELS = RESOURCES / "models"
"""The bundled models as they were trained, a folder each."""
REAL_MODEL = Path(sys.prefix, "share", "factdrift", "smollm2")
"""The folder of the real model, beside the packages of the environment (`make real`)."""
TEMPLATES = RESOURCES / "templates" / "templates.tsv"
CUES = RESOURCES / "verdict" / "cues.tsv"
"""Words by which verdicts on answers are decided."""
REMARKS = RESOURCES / "verdict" / "remarks.tsv"
"""Words by which an answer doubts, denies or calls fictional what it has read, or does not know a future."""
JUDGE = RESOURCES / "verdict" / "judge.txt"
"""What a chat model reads that gives a verdict."""
TEMPRIPPLE = RESOURCES / "tempripple"
"""The tables that define TempRIPPLE: mutable.tsv, immutable.tsv, types.tsv and others."""

SNAKEFILE = _TOP / "Snakefile"
"""The workflow, which a wheel does not hold."""

CONFIG = (_TOP / "config").resolve()
FAMILIES = CONFIG / "models" / "families.yaml"
LOCATORS = CONFIG / "locators"
"""Hyper-parameters of the locating methods, a YAML file each."""
METHODS = CONFIG / "methods"
"""Hyper-parameters of the editing methods, a YAML file each."""
PRICES = CONFIG / "prices.yaml"
SCHEMA = CONFIG / "config.schema.yaml"

DICTIONARY = (_TOP / "docs" / "tables").resolve()
"""The data dictionary, the one place where columns are described."""
CITATION = (_TOP / "CITATION.cff").resolve()
