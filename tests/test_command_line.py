"""What the command line says to words that it does not know."""

import pytest

from factdrift.cli import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shwo"], "factdrift: there is no command shwo; did you mean show?"),
        (["updates", "classfy"], "factdrift updates: there is no verb classfy; did you mean classify?"),
        (["klob", "qqqq"], "factdrift klob: there is no verb qqqq; there are "),
    ],
)
def test_an_unknown_word_is_answered_with_the_most_similar_one(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
