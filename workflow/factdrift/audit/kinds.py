"""The kinds of check: what each asks of a row, of which dataset, and of which columns."""

from typing import NamedTuple

UPDATES, REPLACEMENTS, QUESTIONS, KLOB = "wikifactdiff", "wfd_repl", "tempripple", "klob"
STREAM, ASOF, LAYOUTS, FOLDERS = "stream", "asof", "layouts", "publish"
DATASETS = (UPDATES, REPLACEMENTS, QUESTIONS, KLOB, STREAM, ASOF, LAYOUTS, FOLDERS)


class Kind(NamedTuple):
    """`datasets`: those whose rows are checked; `role`: whether a failure means that the fact is wrong.

    `note`: why some rows of a right build fail; empty if none do. `whole`: all rows are checked.
    """

    datasets: tuple[str, ...]
    role: bool
    description: str
    note: str = ""
    whole: bool = False


_BOTH = (UPDATES, QUESTIONS)

KINDS = {
    "missing": Kind(
        (UPDATES, QUESTIONS),
        True,
        "what the dumps and the rules make a row of has one (of subjects drawn from the dump)",
    ),
    "twice": Kind(
        (UPDATES, QUESTIONS, KLOB, STREAM, ASOF),
        True,
        "no row and no object of a row occurs twice",
        whole=True,
    ),
    "rules": Kind(
        (UPDATES,),
        True,
        "the row has the objects that the rules give, with their statements, decisions, rules and marks",
    ),
    "scenario": Kind(
        (UPDATES,),
        True,
        "scenario, is_replace, subject_is_ph_new and relation_is_temp_func are those that the rules give",
    ),
    "statement": Kind(
        _BOTH,
        True,
        "the statements that the row names are in the dump, of that subject and relation, in tr_facts and "
        "tr_related with the timeline's order, dates and values",
    ),
    "main_snak": Kind(
        (UPDATES,), True, "the value is the main snak of its statement, not a qualifier or a reference"
    ),
    "rank": Kind((UPDATES,), True, "no statement has the rank `deprecated`"),
    "dates": Kind((UPDATES,), True, "start, end and point in time are those of the statement's qualifiers"),
    "labels": Kind(
        _BOTH,
        True,
        "labels and descriptions are those of the dumps; numbers, units and dates are those of the value",
    ),
    "gone": Kind((UPDATES,), True, "what is called obsolete has ended, or the new dump does not state it"),
    "new": Kind((UPDATES,), True, "what is called new became true between the dates and was not so before"),
    "static": Kind((UPDATES,), True, "what is called static held before T_old and still holds at T_new"),
    "order": Kind(
        (QUESTIONS,), True, "the holder has the place in the dump's timeline that the question asks for"
    ),
    "chain": Kind(
        (QUESTIONS,),
        True,
        "each hop begins where the one before ends, and its value is the only one that held all the time",
    ),
    "answer": Kind(
        (QUESTIONS,), True, "the answer and its aliases are those of the fact at the end of the chain"
    ),
    "single": Kind((UPDATES,), False, "a replacement's relation has no second value that holds at T_new"),
    "leak": Kind(_BOTH, False, "the prompt, or the context of another question, does not contain the answer"),
    "template": Kind(
        (UPDATES,),
        False,
        "no other relation has the same sentence template",
        "two pairs of the bundled templates share a sentence (owner and membership, two kinds of director)",
    ),
    "prompt": Kind((UPDATES,), False, "each prompt is a template of the relation, about the subject"),
    "drawn": Kind((UPDATES,), False, "the split is the one that the seeded hash of the subject gives"),
    "popularity": Kind((UPDATES,), False, "the popularity is that of the subject's sitelinks"),
    "split": Kind((UPDATES,), False, "no subject is in both splits", whole=True),
    "ambiguous": Kind(
        (UPDATES,),
        False,
        "`subject_is_ambiguous` says whether another subject of the dataset's prompts has the label",
        whole=True,
    ),
    "neighbour": Kind(
        (UPDATES,),
        False,
        "nearest facts have the update's relation; no neighbour occurs twice, is the subject or a new or "
        "obsolete object",
    ),
    "neighbour_fact": Kind((UPDATES,), False, "neighbour facts are statements that hold at T_old"),
    "neighbour_words": Kind(
        (UPDATES,), False, "labels, popularity and prompts of the neighbours are theirs, as of the update"
    ),
    "neighbour_answer": Kind(
        (UPDATES,),
        False,
        "no nearest fact has the update's new object as its answer",
        "the method keeps such facts: many countries have the euro; leave them out by their `raw`",
    ),
    "distance": Kind((UPDATES,), False, "distances are those of the TF-IDF vectors, nearest first"),
    "nearest": Kind((UPDATES,), False, "no entity that plainly states the relation is nearer and left out"),
    "random": Kind((UPDATES,), False, "random facts are nearest facts of WFD_repl; no list is too long"),
    "unique": Kind(_BOTH, False, "no other row asks the same question about something else"),
    "options": Kind((QUESTIONS, ASOF), False, "wrong options differ, and none is a value of what is asked"),
    "key": Kind((QUESTIONS,), False, "the option that is marked as the answer is the answer"),
    "wording": Kind(
        (QUESTIONS,), False, "question and context are those of the phrases, about the first subject only"
    ),
    "marks": Kind(
        (QUESTIONS, ASOF), False, "task, hop, ids, date, flags and `discriminates` are those of the fact"
    ),
    "surface": Kind(_BOTH, False, "the answer cannot be guessed from the form of the options"),
    "replacements": Kind(
        (REPLACEMENTS,),
        True,
        "the rows are the replacements of wikifactdiff, unchanged, without those that undersampling drops",
        whole=True,
    ),
    "fact": Kind(
        (KLOB,), True, "each fact is the only one of the dump, of best rank, and holds on the snapshot's day"
    ),
    "sentence": Kind((KLOB,), False, "each sentence is its template with the labels of the dump"),
    "words": Kind((KLOB,), False, "random words are as many as in the sentence whose length they copy"),
    "pair": Kind(
        (STREAM,), True, "the rows of an interval are those of its pair's dataset, unchanged", whole=True
    ),
    "link": Kind(
        (STREAM,),
        True,
        "links are numbered in the order of the intervals; what comes back and what supersedes is theirs",
        whole=True,
    ),
    "dated": Kind(
        (STREAM,),
        True,
        "the date of a change is one that its objects have; an update has that of its deciding object",
    ),
    "held": Kind(
        (ASOF,), True, "the dumps say that the answer held on the whole date, and no other statement may have"
    ),
    "asked": Kind(
        (ASOF,), False, "question and context are one sentence about subject and date; aliases are the dump's"
    ),
    "layout": Kind((LAYOUTS,), True, "each record says what the row says from which it is made", whole=True),
    "folder": Kind(
        (FOLDERS,), True, "checksums, rows, schema and card of the folder fit the products", whole=True
    ),
}

PASSED, FAILED, DECLARED, UNCHECKED = "passed", "failed", "declared", "unchecked"
"""Outcomes: `declared` is a failure that the row itself reports, in a field such as `leaks`."""
