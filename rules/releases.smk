"""Releases: products under the newest date of the sequence, which a later run does not overwrite (docs/releases.md).

Inputs: products of the newest pair and of the sequence.
"""

from factdrift.publish.releases.release import RELEASED


rule release:
    """Copies of the products with a list of them; a released folder never changes."""
    input:
        files=[made(name) for name in RELEASED],
    output:
        directory(f"results/releases/{STREAM_DATES[-1]}"),
    params:
        code=None,
        dates=STREAM_DATES,
        dumps=json.dumps({date: str(dump_source(config, date)) for date in STREAM_DATES}),
        configuration=lambda wildcards: json.dumps(configuration(config)),
    shell:
        job("release")


rule latest:
    """The release of the newest configured date; `factdrift refresh` configures the dates and builds it."""
    input:
        rules.release.output,
