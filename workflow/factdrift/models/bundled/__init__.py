"""The bundled sample models: training sentences, training, and recall."""
