"""The run as a whole: prints the estimate before it, the progress during it and the summary after it.

Outputs: logs/progress.txt, a line a stage.
"""


include: "inputs/run.smk"


if workflow.modifier.is_main_snakefile():
    quieten(workflow.logger_manager.logger, workflow.output_settings)
    if workflow.is_main_process:
        warn_of_sample()


onstart:
    begin_run()


onsuccess:
    end_run()
    print_summary()


onerror:
    end_run()
