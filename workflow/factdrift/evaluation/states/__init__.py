"""What a model has been told before it is asked: nothing, a text, changes of its weights."""
