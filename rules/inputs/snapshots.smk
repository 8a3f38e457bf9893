"""Where the dumps of a date come from."""

from factdrift.core.addresses import is_url


def fetched_entities(date):
    """What `dumps` says of a date whose entities are fetched one by one."""
    source = config["dumps"][date] if isinstance(config["dumps"], dict) else {}
    return source if isinstance(source, dict) else {}


def own_address(source):
    """The user's own address of a dump or of page views; none where a path or one of our words is given."""
    return source if is_url(source) else []
