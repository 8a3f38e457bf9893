"""Settings of the chat model, and where sentence templates come from."""

import json


def chat_form():
    """What of the key `chat` shapes a request, as JSON: another price limit or address changes none."""
    shaping = ("model", "temperature", "answer_tokens", "limit_param", "structured", "extra")
    return json.dumps({key: config["chat"][key] for key in shaping if key in config["chat"]}, sort_keys=True)


def candidates():
    """The templates that the verbalizer offers besides those of the project."""
    offered = {"chat": "candidates.en", "file": "published"}.get(config["verbalizer"])
    return f"results/{{pair}}/verbalize/{offered}.parquet" if offered else []
