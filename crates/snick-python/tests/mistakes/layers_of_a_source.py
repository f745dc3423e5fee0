"""The source of an input is no layer."""

import snick

model = snick.load("model.xml")
print([source.op for source in model.layers[0].inputs if source is not None])  # mistake
