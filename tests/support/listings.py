"""A server's listing of dumps, in the form of nginx, which Wikimedia's servers use."""

from .server import Server

PAGE = """<html><head><title>Index of {path}</title></head><body><h1>Index of {path}</h1><hr><pre>
<a href="../">../</a>
{links}
</pre><hr></body></html>"""
HOME = "/wikidatawiki/entities/"


def add_page(server: Server, path: str, names: list[str]) -> None:
    links = "\n".join(f'<a href="{name}">{name}</a>   05-May-2026 12:00   -' for name in names)
    server.files[path] = PAGE.format(path=path, links=links).encode()


def add_dump(server: Server, day: str, kinds: tuple[str, ...] = ("gz", "bz2"), sums: bool = True) -> None:
    names = [f"wikidata-{day}-all.json.{kind}" for kind in kinds]
    text = "".join(f"{index:040x}  {name}\n" for index, name in enumerate(names, start=1))
    others = [f"wikidata-{day}-all-BETA.ttl.gz", *([f"wikidata-{day}-sha1sums.txt"] if sums else [])]
    add_page(server, f"{HOME}{day}/", [*names, *others])
    if sums:
        server.files[f"{HOME}{day}/wikidata-{day}-sha1sums.txt"] = text.encode()
