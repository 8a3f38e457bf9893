"""The bundled sample: its tables, the facts that held at a date, and the dump written from them."""
