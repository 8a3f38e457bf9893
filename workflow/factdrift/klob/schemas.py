"""The tables of KLoB (docs/tables/klob_examples.md). Ids are text (`Q42`, `P103`), as users get them."""

import pyarrow as pa

from factdrift.core.columns import schema_of

EXAMPLES = schema_of(
    "example_id subtask s p1 o1 p2 o2 s_label o1_label o2_label: string, o1_aliases o2_aliases: [string]",
    "stmt1_id stmt2_id: string, rev_s rev_o1: int64, pop_s pop_o: int32, recall_pass: bool",
    "origin snapshot_id p1_name p2_name: string",
)
"""One row an example, sorted by `example_id`. `subtask` is `c`, `r` or `u`. A fact is (`s`, `p1`, `o1`), a
chain has (`p2`, `o2`) too; all are null in `u`. `origin` is `snapshot` or `mquake`. `p1_name`, `p2_name`:
what the published files call the relations."""

SENTENCES = schema_of(
    "sentence_id example_id subtask role: string, place: int8, template_id text text_blank: string",
    "n_tokens: int32, target_id target_label: string, target_aliases: [string]",
    "source_sentence_id: string",
)
"""One row a sentence, by `sentence_id`. `role` is `expr` (in c), `single` or `chain` (in r) or `random` (in
u); `place` its place in the example, from 1, the chain last. `text` ends before the answer, without a blank;
`text_blank` is `text + " _"`, and `n_tokens` counts its words, the `_` among them. The target is what belongs
in the blank: null in `u`, where `source_sentence_id` names the sentence whose length was copied. Two
sentences of c and r may have one text (a fact in both); `u` copies it once."""

RECALL = schema_of(
    "sentence_id model revision dtype prompt_sha256: string, demo_ids: [string], output: string",
    "matched: bool, rule: string",
)
"""One row a sentence that the recall filter asked about, sorted by `sentence_id`. `demo_ids`: the sentences
before it in the prompt; `output`: the model's text up to the first newline; `rule`: how it was matched."""

_NESTED = [field for field in SENTENCES if field.name not in ("example_id", "subtask")]

SUBTASK = EXAMPLES.append(pa.field("sentences", pa.list_(pa.struct(_NESTED))))
"""klob_c.parquet, klob_r.parquet, klob_u.parquet: the examples of one subtask, sorted by `example_id`, each
with its sentences in the order of `place`."""

SUBTASKS = ("c", "r", "u")
