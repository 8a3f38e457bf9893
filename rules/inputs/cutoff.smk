"""The answers from which the dates of models come."""


def cutoff_files():
    """A table of each model and way: likelihoods, letters of the chat model, and names if they are asked for."""
    written = ["written"] if "written" in config["answer"]["scoring"] else []
    own = [
        f"{STREAM}/cutoff/{way}/{folder}.parquet"
        for folder in edited_models()
        for way in ["likelihood", *written]
    ]
    chat = [f"{PAIR}/cutoff/{way}/read.parquet" for way in ["letter", *written]]
    return own + (chat if config["answer"]["chat"] else [])
