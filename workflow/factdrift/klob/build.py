"""Chooses the examples and writes klob_examples, klob_sentences and klob_meta.json.

klob_meta.json counts what the paper's Tables 1 and 2 do, dropped candidates, and the balance of answers.
"""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import Row
from factdrift.core.files import write_json
from factdrift.core.owned import atomic_path
from factdrift.core.tables import database, sql, write_parquet, write_query
from factdrift.klob.choice import Drops, choose_chains, choose_facts
from factdrift.klob.facts import DEATH, create_names
from factdrift.klob.random_words import WordList, WordSource, pool, random_sentences, stratified
from factdrift.klob.schemas import EXAMPLES, SENTENCES, SUBTASK, SUBTASKS
from factdrift.klob.sentences import Plan, create_examples, define_wording, sentences_query
from factdrift.wikidata.ids import property_id

_BATCH = 10_000


def build(
    plan: Plan,
    words: WordList,
    passes: Path | None,
    snapshot: Path,
    outputs: tuple[Path, Path, Path],
    memory_mb: int,
    threads: int,
) -> None:
    """Writes EXAMPLES, SENTENCES and klob_meta.json.

    `passes`: what the recall filter wrote, if it ran. `snapshot`: the account of the dump, snapshot.json.
    """
    settings, share = plan.settings, plan.settings.answer_share
    pairs = settings.max_pair_share if settings.source == "snapshot" else 1
    with database(memory_mb, threads) as db:
        facts, chains = (passed(path, passes, plan.quotas) for path in (plan.candidates, plan.chains))
        drops = {
            "c": choose_facts(db, facts, plan.quotas, share),
            "r": choose_chains(db, chains, settings.r_quota, pairs, share),
        }
        both = "FROM chosen_facts UNION ALL SELECT s, o1, o2 FROM chosen_chains"
        wanted = f"SELECT DISTINCT unnest([s, o1, o2]) AS id FROM (SELECT s, o1, o2 {both})"
        create_names(db, wanted, plan.tables)
        # Hops of chains are stated, too; those of a chain from MQuAKE only if the snapshot states them.
        db.execute(
            f"""CREATE TEMP TABLE stated AS
            SELECT subject, property, object, statement, revision
            FROM read_parquet({sql(plan.tables.facts)})
            WHERE dropped_by IS NULL AND (subject, property, object) IN (
                SELECT (s, p1, o1) FROM chosen_facts UNION ALL SELECT (s, p1, o1) FROM chosen_chains
                UNION ALL SELECT (o1, p2, o2) FROM chosen_chains)"""
        )
        define_wording(db, plan)
        create_examples(db, chosen(settings.source), settings.source, plan.date)
        if passes is not None:
            db.execute("UPDATE examples SET recall_pass = true")
        db.execute(f"CREATE TEMP TABLE sentences AS {sentences_query(settings.chain_text)}")
        _add_random(db, words, plan)
        for name, schema, output in (("example", EXAMPLES, outputs[0]), ("sentence", SENTENCES, outputs[1])):
            write_query(db, f"SELECT {', '.join(schema.names)} FROM {name}s ORDER BY {name}_id", output)
        counts = _account(db, plan, drops)
    dump = json.loads(snapshot.read_text(encoding="utf-8"))
    dated = {"id": plan.date, "date": plan.date, "dump": dump.get("dump"), "scope": dump.get("scope")}
    origin = {
        "snapshot": dated,
        "seed": settings.seed,
        "configuration": settings.resolved(),
        "words": words._asdict() | {"entries": len(words.entries)},
        "templates": {"table": plan.templates.name, "sha256": plan.templates.sha256},
    }
    write_json({**origin, **counts}, outputs[2], indent=2)


def passed(path: Path, passes: Path | None, worded: Collection[int]) -> str:
    """SQL: the candidates of a table, with the drops `no_template`, `recall` and `quota` added.

    `no_template`: the relation is not in `worded`. If the recall filter ran (`passes`), candidates that it
    rejected are dropped by `recall`, and those that it was not asked about, behind a full quota, by `quota`.
    """
    asked, reason = "", ""
    if passes is not None:
        asked = f"""LEFT JOIN read_parquet({sql(passes)}) p ON p.s = c.s AND p.p1 = c.p1 AND p.o1 = c.o1
            AND p.p2 IS NOT DISTINCT FROM c.p2 AND p.o2 IS NOT DISTINCT FROM c.o2"""
        reason = "WHEN p.recall_pass IS NULL THEN 'quota' WHEN NOT p.recall_pass THEN 'recall'"
    return f"""
        SELECT c.* REPLACE (CASE
            WHEN c.dropped_by IS NOT NULL THEN c.dropped_by
            WHEN c.p1 NOT IN (SELECT unnest({sql(sorted(worded))})) THEN 'no_template'
            {reason} END AS dropped_by)
        FROM read_parquet({sql(path)}) c {asked}"""


def chosen(origin: str) -> str:
    """SQL: the chosen facts and chains, in the columns that `create_examples` needs."""
    own = "s, p1, o1, p2, o2, draw"
    from_mquake = "s_label, o1_label, o2_label, o1_aliases, o2_aliases, question"
    none = ", ".join(
        f"NULL::{'VARCHAR[]' if name.endswith('aliases') else 'VARCHAR'} AS {name}"
        for name in from_mquake.split(", ")
    )
    chains = from_mquake if origin == "mquake" else none
    return f"""
        SELECT 'c' AS subtask, {own}, {none} FROM chosen_facts
        UNION ALL SELECT 'r', {own}, {chains} FROM chosen_chains"""


def _add_random(db: Connection, words: WordList, plan: Plan) -> None:
    """Adds KLoB-u to the tables `examples` and `sentences`: a sentence for each different text of c and r.

    With a number as `size` it is a sample of them.
    """
    rows = db.sql(
        """SELECT first(sentence_id ORDER BY subtask, sentence_id) AS id, any_value(n_tokens)
        FROM sentences GROUP BY text ORDER BY id"""
    ).fetchall()
    sources = [WordSource(identifier, tokens) for identifier, tokens in rows]
    size, seed = plan.settings.size, plan.settings.seed
    if size != "per_sentence":
        sources = stratified(sources, size, seed)
    drawn = random_sentences(sources, pool(words), seed)
    random_rows = (_random_row(text, source.sentence_id) for source, text in drawn)
    while batch := list(itertools.islice(random_rows, _BATCH)):
        db.register("batch", pa.Table.from_pylist(batch, schema=SENTENCES))
        db.execute(
            f"""INSERT INTO sentences BY NAME SELECT * FROM batch;
            INSERT INTO examples BY NAME
            SELECT example_id, 'u' AS subtask, 'snapshot' AS origin, '{plan.date}' AS snapshot_id
            FROM batch"""
        )
        db.unregister("batch")


def _random_row(text: str, source: str) -> Row:
    """A row of SENTENCES for a random text, which copies the length of the sentence `source`."""
    example, blank = _short_id(f"u|{text}"), f"{text} _"
    return dict.fromkeys(SENTENCES.names) | {
        "sentence_id": _short_id(f"{example}|random|1"),
        "example_id": example,
        "subtask": "u",
        "role": "random",
        "place": 1,
        "text": text,
        "text_blank": blank,
        "n_tokens": len(blank.split()),
        "source_sentence_id": source,
    }


def _short_id(text: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_subtask(examples: Path, sentences: Path, subtask: str, output: Path) -> int:
    """Writes SUBTASK, the examples of one subtask with their sentences; returns the number of examples."""
    fields = SUBTASK.field("sentences").type.value_type
    packed = ", ".join(f"'{field.name}': s.{field.name}" for field in fields)
    with database() as db:
        table = db.sql(
            f"""SELECT {", ".join(EXAMPLES.names)}, sentences FROM read_parquet({sql(examples)}) e JOIN (
                SELECT example_id, list({{{packed}}} ORDER BY place, sentence_id) AS sentences
                FROM read_parquet({sql(sentences)}) s GROUP BY example_id
            ) USING (example_id)
            WHERE subtask = {sql(subtask)} ORDER BY example_id"""
        ).to_arrow_table()
    return write_parquet(table.cast(SUBTASK), output)


def export(dataset: Path, output: Path) -> int:
    """Writes klob_c, klob_r or klob_u.parquet in the published layout, misspelt keys included, by id.

    Returns the number of lines.
    """
    rows = sorted(pq.read_table(dataset).to_pylist(), key=lambda row: str(row["example_id"]))
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for record in _records(rows):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return len(rows)


def _records(rows: Iterable[Row]) -> Iterator[Row | str]:
    for row in rows:
        texts = [sentence["text_blank"] for sentence in row["sentences"]]
        single = [row["s_label"], f"{row['p1_name']}_({row['p1']})", row["o1_label"]]
        match row["subtask"]:
            case "c":
                yield {"prompts": texts, "knowledge": single}
            case "r":
                yield {
                    "single_knowledge": single,
                    "knowledge_chain": [*single, f"{row['p2_name']}_({row['p2']})", row["o2_label"]],
                    "single_knowlege_prompts": texts[:-1],
                    # The published chains begin in lower case.
                    "knowlege_chain_prompt": re.sub(r"^The ", "the ", texts[-1]),
                }
            case _:
                yield texts[0]


def _account(db: Connection, plan: Plan, drops: Mapping[str, Drops]) -> dict[str, Any]:
    """The counts of klob_meta.json, from the tables `examples`, `sentences` and `names`.

    `drops`: subtask -> relation or pair -> reason -> number.
    """
    of_statements: Drops = {}
    statements = db.sql(
        f"SELECT property, dropped_by, count(*) FROM read_parquet({sql(plan.tables.facts)}) "
        f"WHERE property <> {DEATH} AND dropped_by IS NOT NULL GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    for number, reason, count in statements:
        of_statements.setdefault(property_id(number), {})[reason] = count
    dropped = {"statements": of_statements, **drops}
    pairs = db.sql(
        """SELECT p1 || '>' || p2, count(*) FROM examples WHERE subtask = 'r'
        GROUP BY ALL ORDER BY count(*) DESC, 1"""
    ).fetchall()
    query = "SELECT n_p1, count(*) FROM examples WHERE subtask = 'c' GROUP BY ALL"
    examples, table2 = dict(db.sql(query).fetchall()), []
    for number, relation in plan.choice.relations.items():
        quota, count = plan.quotas.get(number, 0), examples.get(number, 0)
        row = {"pid": property_id(number), "label": relation.label, "name": relation.name}
        # No quota: no limit; 0: no templates.
        shortfall = max(quota - count, 0) if quota is not None else None
        table2.append(row | {"quota": quota, "examples": count, "shortfall": shortfall})
    return {
        "table1": _table1(db),
        "table2": table2,
        "klob_r": {
            "quota": plan.settings.r_quota,
            "examples": sum(number for _, number in pairs),
            "pairs": dict(pairs),
        },
        "balance": {f"klob_{subtask}": _balance(db, subtask, plan.stop_words) for subtask in "cr"},
        "dropped": {
            where: dict(sorted(sum(map(Counter, reasons.values()), Counter()).items()))
            for where, reasons in dropped.items()
        },
        "dropped_by_relation": dropped,
        "notes": [
            "The published rule for the number of random sentences is not known: 25,470 is neither the "
            "number of examples of KLoB-c and KLoB-r nor a multiple of it. Here each different sentence of "
            "the two has one, or fewer where klob.u.size says so."
        ],
    }


def _table1(db: Connection) -> dict[str, dict[str, Any]]:
    """Subtask -> `relations`, `mean_length` in words (the `_` is one), `examples`, `sentences` (Table 1).

    The relations of r are those of both hops. Its mean length is that of a single and a chain sentence
    together, as the paper counts it; `mean_length_by_role` separates them. Null without sentences.
    """
    table: dict[str, dict[str, Any]] = {}
    lengths = {
        (subtask, role): (mean, number)
        for subtask, role, mean, number in db.sql(
            "SELECT subtask, role, round(avg(n_tokens), 4), count(*) FROM sentences GROUP BY ALL"
        ).fetchall()
    }
    for subtask in SUBTASKS:
        examples, relations = db.sql(
            f"""SELECT count(*), (SELECT count(DISTINCT p) FROM (
                SELECT unnest([p1, p2]) AS p FROM examples WHERE subtask = '{subtask}'))
            FROM examples WHERE subtask = '{subtask}'"""
        ).fetchall()[0]
        by_role = {role: mean for (of, role), (mean, _) in sorted(lengths.items()) if of == subtask}
        table[f"klob_{subtask}"] = {
            "relations": relations,
            "mean_length": round(sum(by_role.values()), 4) if by_role else None,
            "mean_length_by_role": by_role,
            "examples": examples,
            "sentences": sum(number for (of, _), (_, number) in lengths.items() if of == subtask),
        }
    return table


def _balance(db: Connection, subtask: str, stop_words: Collection[str]) -> dict[str, Any]:
    """How far answers can be guessed without knowledge, from the tables `examples` and `names`.

    `majority_answer_share`: the share of examples with the most frequent answer of their relation (in r of
    their pair of relations). `shared_word_share`: the share of examples whose answer has a word in common
    with the subject, `stop_words` not counted. Both for the subtask and each relation; null without examples.
    """
    rows = db.execute(
        f"""SELECT relation, any_value(answer) AS answer, count(*) AS number, count(*) FILTER (shared) FROM (
            SELECT concat_ws('>', p1, p2) AS relation, coalesce(o2, o1) AS item,
                coalesce(o2_label, o1_label) AS answer, len(list_filter(
                    list_intersect(string_split(folded(s_label), ' '), string_split(folded(answer), ' ')),
                    lambda word: word <> '' AND NOT list_contains($stop, word)
                )) > 0 AS shared
            FROM examples WHERE subtask = '{subtask}'
        ) GROUP BY relation, item ORDER BY relation, number DESC, item""",
        {"stop": sorted(stop_words)},
    ).fetchall()
    groups = itertools.groupby(rows, key=lambda row: row[0])
    relations = {relation: [row[1:] for row in answers] for relation, answers in groups}
    return _shares(relations.values()) | {
        "relations": {
            relation: {
                "examples": sum(number for _, number, _ in answers),
                "answers": len(answers),
                "majority_answer": answers[0][0],
                **_shares([answers]),
            }
            for relation, answers in relations.items()
        }
    }


def _shares(relations: Collection[Sequence[tuple[str, int, int]]]) -> dict[str, float | None]:
    """The two shares of some relations; each is a list of (answer, examples, those with a shared word)."""
    if not (total := sum(number for answers in relations for _, number, _ in answers)):
        return {"majority_answer_share": None, "shared_word_share": None}
    majority = sum(answers[0][1] for answers in relations)
    shared = sum(number for answers in relations for _, _, number in answers)
    return {
        "majority_answer_share": round(majority / total, 4),
        "shared_word_share": round(shared / total, 4),
    }
