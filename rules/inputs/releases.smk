"""What a series of releases keeps: its configuration."""

from factdrift.releases.release import last_release, read_account
from factdrift.releases.series import check_unchanged, configuration

# Also here, because a run may be given keys that `factdrift refresh` does not see. A key that the release lacks is
# one of a newer version.
if RELEASED_DATES:
    try:
        folder = last_release(Path("results/releases"))
        if folder is not None:
            recorded = read_account(folder)[0].configuration
            now = configuration(config)
            check_unchanged(recorded, now, now, folder)
    except InputError as error:
        raise WorkflowError(str(error)) from None
