"""The locating methods by name, with the granularity of their units."""

from __future__ import annotations

from factdrift.locate.interface import Locator
from factdrift.locate.methods.causal_tracing import causal_tracing
from factdrift.locate.methods.gradients import activation, attribution_patching, gradient_x_input
from factdrift.locate.methods.knowledge_neurons import knowledge_neurons
from factdrift.locate.methods.layer_choice import edited_layer
from factdrift.locate.methods.projections import projections

LOCATORS: dict[str, Locator] = {
    "causal_tracing": causal_tracing,
    "causal_tracing_mlp": causal_tracing,
    "causal_tracing_attention": causal_tracing,
    "attribution_patching": attribution_patching,
    "attribution_patching_heads": attribution_patching,
    "attribution_patching_modules": attribution_patching,
    "attribution_patching_layers": attribution_patching,
    "knowledge_neurons": knowledge_neurons,
    "knowledge_neurons_refined": knowledge_neurons,
    "gradient_x_input": gradient_x_input,
    "activation": activation,
    "pmet_cosine": projections,
    "pmet_jaccard": projections,
    "pmet_probability": projections,
    "rome_layer": edited_layer,
}
