"""The tables of KLoB (docs/tables/klob_examples.md). Ids are text (`Q42`, `P103`), as users get them."""

import pyarrow as pa

_TEXTS = pa.list_(pa.string())

EXAMPLES = pa.schema(
    [
        ("example_id", pa.string()),
        ("subtask", pa.string()),
        ("s", pa.string()),
        ("p1", pa.string()),
        ("o1", pa.string()),
        ("p2", pa.string()),
        ("o2", pa.string()),
        ("s_label", pa.string()),
        ("o1_label", pa.string()),
        ("o2_label", pa.string()),
        ("o1_aliases", _TEXTS),
        ("o2_aliases", _TEXTS),
        ("stmt1_id", pa.string()),
        ("stmt2_id", pa.string()),
        ("rev_s", pa.int64()),
        ("rev_o1", pa.int64()),
        ("pop_s", pa.int32()),
        ("pop_o", pa.int32()),
        ("recall_pass", pa.bool_()),
        ("origin", pa.string()),
        ("snapshot_id", pa.string()),
        ("p1_name", pa.string()),
        ("p2_name", pa.string()),
        ("line", pa.int32()),
    ]
)
"""One row an example, sorted by `example_id`. `subtask` is `c`, `r` or `u`. A fact is (`s`, `p1`, `o1`), a
chain has (`p2`, `o2`) too; all are null in `u`. `origin` is `snapshot`, `mquake` or `published`; of
published examples only the properties' ids are known. `p1_name`, `p2_name`: what the published files call the
relations. `line`: the line of an imported file, from 1; null for examples that were built."""

SENTENCES = pa.schema(
    [
        ("sentence_id", pa.string()),
        ("example_id", pa.string()),
        ("subtask", pa.string()),
        ("role", pa.string()),
        ("place", pa.int8()),
        ("template_id", pa.string()),
        ("text", pa.string()),
        ("text_blank", pa.string()),
        ("n_tokens", pa.int32()),
        ("target_id", pa.string()),
        ("target_label", pa.string()),
        ("target_aliases", _TEXTS),
        ("source_sentence_id", pa.string()),
    ]
)
"""One row a sentence, by `sentence_id`. `role` is `expr` (in c), `single` or `chain` (in r) or `random` (in
u); `place` its place in the example, from 1, the chain last. `text` ends before the answer, without a blank;
`text_blank` is `text + " _"`, and `n_tokens` counts its words, the `_` among them. The target is what belongs
in the blank: null in `u`, where `source_sentence_id` names the sentence whose length was copied (null if
imported). Two sentences of c and r may have one text (a fact in both); `u` copies it once."""

RECALL = pa.schema(
    [
        ("sentence_id", pa.string()),
        ("model", pa.string()),
        ("revision", pa.string()),
        ("dtype", pa.string()),
        ("prompt_sha256", pa.string()),
        ("demo_ids", _TEXTS),
        ("output", pa.string()),
        ("matched", pa.bool_()),
        ("rule", pa.string()),
    ]
)
"""One row a sentence that the recall filter asked about, sorted by `sentence_id`. `demo_ids`: the sentences
before it in the prompt; `output`: the model's text up to the first newline; `rule`: how it was matched."""

_NESTED = [field for field in SENTENCES if field.name not in ("example_id", "subtask")]

SUBTASK = EXAMPLES.append(pa.field("sentences", pa.list_(pa.struct(_NESTED))))
"""klob_c.parquet, klob_r.parquet, klob_u.parquet: the examples of one subtask, sorted by `example_id`, each
with its sentences in the order of `place`."""

SUBTASKS = ("c", "r", "u")
