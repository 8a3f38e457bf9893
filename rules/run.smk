"""The run as a whole: what it will need is told before it begins, how far it is while it lasts.

Outputs: logs/progress.txt, a line a stage.
"""


include: "inputs/run.smk"


onstart:
    begin_run()


onsuccess:
    end_run()


onerror:
    end_run()
