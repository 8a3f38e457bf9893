"""Which questions show whether the new or an old fact was used."""

from support.ripples import COUNTRY, HUMAN, kinds, ripple
from support.worlds import Date, Fact, World

OLDEST, OLD, NEW = 10, 11, 12
ANSWERS = {
    # Relation: the answers of the three holders, and whether they discriminate. The old facts are not
    # compared with each other.
    103: ((50, 51, 50), (False, True, False)),
    735: ((50, 51, 51), (True, False, False)),
    19: ((50, 50, 51), (True, True, True)),
    # Without a parallel nothing is claimed.
    21: ((50, 51, None), (None, None, None)),
    1340: ((None, None, 50), (None, None, None)),
    # Labels that read the same are the same answer.
    734: ((60, 62, 61), (False, True, False)),
    # Dates are compared by year.
    569: (("1950-02-03", "1951-02-03", "1950-07-01"), (False, True, False)),
}


def test_answers_of_both_roles_discriminate_if_they_differ(tmp_path):
    """A chain is compared with those along the same properties; a cap does not change the mark."""
    holders = (OLDEST, OLD, NEW)
    facts = [
        Fact(holder, relation, Date(answer) if isinstance(answer, str) else answer)
        for relation, (answers, _) in ANSWERS.items()
        for holder, answer in zip(holders, answers, strict=True)
        if answer is not None
    ]
    # Other mothers, two of them with the same native language.
    mothers = [Fact(holder, 25, holder + 60) for holder in holders]
    mothers += [Fact(70, 103, 50), Fact(71, 103, 51), Fact(72, 103, 50)]
    world = World(
        new=[
            *kinds(Q1=(COUNTRY,), Q2=(COUNTRY,), **{f"Q{item}": (HUMAN,) for item in (*holders, 70, 71, 72)}),
            Fact(1, 6, OLDEST, "2010", "2018"),
            *(Fact(1, 6, OLD, "2018", "2025-03-14"), Fact(1, 6, NEW, "2025-03-14")),
            # A holder who comes back.
            *(Fact(2, 6, 20, "2010", "2018"), Fact(2, 6, 21, "2018", "2025-03-14")),
            Fact(2, 6, 20, "2025-03-14"),
            *facts,
            *mothers,
        ],
        labels={60: "Anna Berg", 61: "anna  berg"},
    )
    found = ripple(world, tmp_path / "a")
    holder_of = {fact["fact_id"]: (fact["s"], fact["o"], fact["role"]) for fact in found.facts}
    marked = {
        (*holder_of[row["fact_id"]][:2], " ".join(step["p"] for step in row["path"])): row["discriminates"]
        for row in found.related
    }
    expected = {f"P{relation}": marks for relation, (_, marks) in ANSWERS.items()}
    expected |= {"P25": (True, True, True), "P25 P103": (False, True, False)}
    for path, marks in expected.items():
        assert [marked.pop(("Q1", f"Q{holder}", path), None) for holder in holders] == [*marks], path
    assert not marked
    assert {holder_of[fact["fact_id"]]: fact["discriminates"] for fact in found.facts} == {
        **{("Q1", "Q12", "new"): True, ("Q1", "Q11", "old"): True, ("Q1", "Q10", "old"): True},
        **{("Q2", "Q20", "new"): False, ("Q2", "Q21", "old"): True, ("Q2", "Q20", "old"): False},
    }
    marks_of = {item["item_id"]: item["discriminates"] for item in found.items}
    cut = ripple(world, tmp_path / "b", cap_per_fact=1).items
    assert len(cut) < len(marks_of)
    assert all(item["discriminates"] is marks_of[item["item_id"]] for item in cut)
