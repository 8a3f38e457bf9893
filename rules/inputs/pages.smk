"""What the pages about a build show, and what they are made of."""


def page_layout(pages):
    """The templates, styles, scripts and explanations of pages, which no fingerprint covers."""
    files = (*Path(PACKAGE, "pages", pages, "templates").iterdir(), PACKAGE / "pages" / "palette.css")
    return sorted(map(str, (*files, *map(resource, ("rules.tsv", "steps.tsv", "glossary.tsv")))))


def shown_products(wildcards):
    """The products that the page shows besides the dataset."""
    beside = (Path(PAIR, "audit", "judged.json"), Path("results/compare/compare.svg"))
    names = [name for product in products() if product.section for name in product.names]
    return [*built_or_asked(names), *(str(path) for path in beside if path.is_file())]
