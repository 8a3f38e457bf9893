"""The tables of KLoB (docs/tables/klob_examples.md). Ids are text (`Q42`, `P103`), as users get them."""

import pyarrow as pa

from factdrift.core.columns import schema_of

EXAMPLES = schema_of(
    "example_id subtask s p1 o1 p2 o2 s_label o1_label o2_label: string, o1_aliases o2_aliases: [string]",
    "stmt1_id stmt2_id: string, rev_s rev_o1: int64, pop_s pop_o: int32, recall_pass: bool",
    "origin snapshot_id p1_name p2_name: string",
)
"""One row an example (docs/tables/klob_examples.md)."""

SENTENCES = schema_of(
    "sentence_id example_id subtask role: string, place: int8, template_id text text_blank: string",
    "n_tokens: int32, target_id target_label: string, target_aliases: [string]",
    "source_sentence_id: string",
)
"""One row a sentence (docs/tables/klob_sentences.md)."""

RECALL = schema_of(
    "sentence_id model revision dtype prompt_sha256: string, demo_ids: [string], output: string",
    "matched: bool, rule: string",
)
"""One row a sentence that the recall filter asked about (docs/tables/klob_recall.md)."""

_NESTED = [field for field in SENTENCES if field.name not in ("example_id", "subtask")]

SUBTASK = EXAMPLES.append(pa.field("sentences", pa.list_(pa.struct(_NESTED))))
"""klob_c.parquet, klob_r.parquet, klob_u.parquet: the examples of one subtask, sorted by `example_id`, each
with its sentences in the order of `place`."""

SUBTASKS = ("c", "r", "u")
