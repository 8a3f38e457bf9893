"""One list of the files of all buckets, for jobs that need them all.

Inputs: a table of which each bucket has a file.
Outputs: by name only: {table}/every.files.
"""


rule every_bucket:
    """The names of a table's files, which all buckets have, and when they were there.

    By the names alone, which are always the same, Snakemake would take what was made of an earlier table for new.
    """
    input:
        lambda wildcards: buckets(f"results/{wildcards.table}/{{bucket}}.parquet"),
    output:
        f"results/{{table}}/every{LIST_OF_FILES}",
    log:
        "logs/{table}/every.txt",
    benchmark:
        "logs/{table}/every.tsv"
    localrule: True
    shell:
        "(date '+# made %s' > {output} && printf '%s\n' {input} | sed 's#.*/##' >> {output}) 2> >(tee {log:q} >&2)"
