"""Products: files of the configured pair under the short names that users ask for, and folders for other people.

Inputs: results/{pair}/; the products in results/.
"""

from factdrift.core.paths import CARDS, CITATION, DICTIONARY, PRODUCTS


rule publish:
    """Copies a product to results/, atomically."""
    input:
        source=lambda wildcards: made(wildcards.name),
        report=lambda wildcards: reports_of(product_of(wildcards.name)),
    output:
        report(
            "results/{name}",
            caption="caption.rst",
            category=lambda wildcards: product_of(wildcards.name).category,
            labels={"file": "{name}"},
        ),
    localrule: True
    params:
        code=None,
        caption=lambda wildcards: product_of(wildcards.name).what,
    shell:
        job("publish file")


rule publish_folders:
    """A folder for each data set that was built: it loads with common libraries and describes itself."""
    input:
        manifest="results/manifest.json",
        products=published_products,
        answers=used_answers(),
        # What describes them: no fingerprint covers it.
        words=sorted(map(str, (*CARDS.iterdir(), *DICTIONARY.iterdir(), CITATION, PRODUCTS))),
    output:
        directory("results/publish"),
    params:
        store="results/fetched/chat" if used_answers() else [],
    shell:
        job("publish folders")
