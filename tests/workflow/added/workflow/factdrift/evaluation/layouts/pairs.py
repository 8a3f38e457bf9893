from factdrift.evaluation.layouts.rows import Fields


def write(fields, row):
    return {"who": fields.subject, "what": fields.prompt, "new": fields.new}


def read(record, number):
    return Fields(f"pairs-{number}", record["who"], record["what"], record["new"])
