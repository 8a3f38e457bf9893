"""What earlier releases of a series have fixed: its intervals, which no rule makes again, and its configuration."""

from itertools import pairwise

from factdrift.publish.releases.release import check_unchanged, configuration, last_release, read_account

RELEASED_DATES = config["refresh"]["released"]
RELEASED_PAIRS = [f"{old}_{new}" for old, new in pairwise(RELEASED_DATES)]


def none_of(names):
    """The beginning of a wildcard's pattern that matches none of these names."""
    return "".join(f"(?!{name})" for name in names)


# Also here, because a run may be given keys that `factdrift refresh` does not see.
if RELEASED_DATES:
    try:
        folder = last_release(Path("results/releases"))
        if folder is not None:
            recorded = read_account(folder)[0].configuration
            now = configuration(config)
            check_unchanged(recorded, now, folder)
    except InputError as error:
        raise WorkflowError(str(error)) from None
