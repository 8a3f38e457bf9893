"""The interface through which the stage reads rows, implemented over tables and over SPARQL.

A source only fetches rows. Ranks, dates, types, filters and labels are decided by the stage, in one
implementation for every source, so that two sources with the same content lead to the same benchmark. Every
answer is therefore defined exactly: its rows are distinct and in the stated order.
"""

from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from factdrift.core.columns import schema_of, struct_of

Ids = NDArray[np.int32]
"""Numbers of items (42 is Q42) or of properties (31 is P31); ascending, each once. May be empty."""

DATE = struct_of("day: int64, precision: int8")
"""A date as Wikidata's RDF export gives it.

`day` is year * 10000 + month * 100 + day, the year counted historically (-1 is 1 BCE, there is no year 0, so
the shift of RDF is undone). Precision 11 and finer: the Gregorian day, converted from a Julian one. Precision
10: the day is 1; 9 and coarser: month and day are 1; neither is converted. Month and day 00 are 1, a month
beyond 12 is 12, a day beyond its month the last of it. `precision` is as written, 0 to 14."""

CANDIDATES = schema_of("property subject: int32, statement: string")
"""One row a statement, not deprecated, with a start (P580) or end (P582) whose `day` is in the period."""

STATEMENTS = schema_of(
    "subject property: int32, statement: string, preferred: bool, snak: string, object: int32",
    "text language: string, day: int64, precision: int8, julian: bool",
    ("starts", pa.list_(DATE)),
    ("ends", pa.list_(DATE)),
    "end_unknown restricted: bool",
)
"""One row a statement that is not deprecated.

`statement`: its id as in the dump's JSON (`Q30$6112F63B-...`), the item's letter in upper case, the rest as
it is. `preferred`: its rank is preferred, else normal. `snak`: `value`, `somevalue` or `novalue` of the main
snak; a value that is neither item, date nor text (an entity that is no item, an unreadable date) counts as
`somevalue`. Of the value, by its kind, one of: `object`, an item's number; `text`, a string or external id,
or the text of a monolingual text, and then `language`; `day` and `precision`, a date as in DATE, and
`julian`: it was written in the Julian calendar. All are null without a value. `starts` and `ends`: the dates
of P580 and P582, ascending by day and precision, each once, empty lists if none; `end_unknown`: some P582 is
`somevalue` or a date that cannot be read, and `ends` is empty (if there is a date, `somevalue` is ignored; an
unknown start or `novalue` counts as absent). `restricted`: it has one of the qualifiers asked about."""

INSTANCE, SUBCLASS = 31, 279
"""`instance of` and `subclass of`."""

CLASSES = schema_of("id class: int32")
"""One row an item and a class that it is said to be an instance of (P31) or a subclass of (P279), by
statements of the best rank (`wdt:`): of the preferred ones, and where none is preferred of the normal
ones."""

TERMS = schema_of("id: int32, label: string, aliases: [string]")
"""One row an item that has an English label or one for all languages (`mul`); the English one goes before.
`aliases` are those in English and for all languages, ascending by code point, each once; an empty list if
none."""

DECLARATIONS = schema_of("id: int32, label datatype: string")
"""One row a property that is declared.

`label` as in TERMS, null without one; `datatype` as in the dump's JSON (`wikibase-item`, ...)."""


class StatementSource(Protocol):
    """The questions of the stage. Answers have exactly the schemas above."""

    def candidates(self, properties: Ids, first: int, until: int) -> pa.Table:
        """CANDIDATES of the properties, in the days from `first` up to, not including, `until` (as in DATE).

        Order: property, subject, statement.
        """

    def statements(self, subjects: Ids, properties: Ids, restrictive: Ids) -> pa.Table:
        """STATEMENTS of these subjects and properties. Order: subject, property, statement.

        `restrictive`: the qualifier properties that make a statement `restricted`.
        """

    def classes(self, items: Ids, relation: int) -> pa.Table:
        """CLASSES of these items by `relation`: INSTANCE, or SUBCLASS for one step. Order: id, class."""

    def terms(self, items: Ids) -> pa.Table:
        """TERMS of these items. Order: id."""

    def declarations(self, properties: Ids) -> pa.Table:
        """DECLARATIONS of these properties. Order: id."""
