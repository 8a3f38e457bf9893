"""What the bundled models are taught."""

# Examples of each subtask of KLoB that the bundled models are taught, and that locators are run on with them; conditions
# of each criterion of ripples.
BUNDLED_EXAMPLES = 128


def examples_folder(wildcards, input):
    """The folder of KLoB's subtasks."""
    return str(Path(input.examples[0]).parent)


def taught_tables():
    """What is taught besides the dataset's facts."""
    taught = config["taught"]
    if taught == "auto":
        taught = ["klob", "tempripple", "ripples"] if config["dumps"] == "sample" else []
    return [f"results/{{pair}}/models/taught.{name}.parquet" for name in taught]
