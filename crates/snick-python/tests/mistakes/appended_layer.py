"""A layer is appended to an answer."""

import snick

model = snick.load("model.xml")
model.layers.append(model.layers[0])  # mistake
