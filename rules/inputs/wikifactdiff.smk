"""Months of page views, and what is known of the sample."""

import datetime

from factdrift.core.settings import month_files, months_before


def pageview_months(date):
    """The months of page views that count as of a date: tables to download, or the user's own files."""
    if config["pageviews"] == "none":
        return []
    day, count = datetime.date.fromisoformat(date), config["method"]["popularity_months"]
    if config["pageviews"] == "wikidata" or is_url(config["pageviews"]):
        return [f"results/fetched/pageviews/{month}.parquet" for month in months_before(day, count)]
    return [str(path) for path in month_files(Path(config["pageviews"]), day, count)]


def pageview_folder(wildcards, input):
    """The folder of these months; `none` if popularity is the number of sitelinks."""
    return os.path.dirname(input.pageviews[0]) if input.pageviews else "none"


def sample_dates(wildcards):
    """The dates of the pair whose dumps are rendered from the bundled sample."""
    return [date for date in wildcards.pair.split("_") if dump_source(config, date) == "sample"]
