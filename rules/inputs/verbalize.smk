"""The form of requests to the chat model, facts to put into words, and where sentence templates come from."""

from factdrift.chat.settings import Form


def chat_form():
    """What of the key `chat` shapes a request, as JSON: another price limit or address changes none."""
    return settings_of(config, Form, "chat")


def neighbor_facts():
    """The nearest and the random facts of a pair."""
    return [f"results/{{pair}}/{kind}.parquet" for kind in ("neighbors", "random_neighbors")]


def candidates():
    """The templates that the verbalizer offers besides those of the project."""
    offered = {"chat": "candidates.en", "file": "published"}.get(config["verbalizer"])
    return f"results/{{pair}}/verbalize/{offered}.parquet" if offered else []
