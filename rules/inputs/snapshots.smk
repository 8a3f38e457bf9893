"""Where the dumps of a date come from."""

from factdrift.core.addresses import is_url
from factdrift.core.settings import derived_from


def fetched_entities(date):
    """What `dumps` says of a date whose entities are fetched one by one."""
    source = config["dumps"][date] if isinstance(config["dumps"], dict) else {}
    return source if isinstance(source, dict) else {}


def url_option(date):
    """The option that names the user's own address of a dump."""
    source = dump_source(config, date)
    return [f"--url={source}"] if is_url(source) else []


def other_dump(wildcards):
    """The dump from which this date's is derived."""
    return dump_file(derived_from(config, wildcards.date))
