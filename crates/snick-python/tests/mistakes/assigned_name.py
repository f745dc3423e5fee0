"""The name of a layer is assigned, which changes nothing."""

import snick

model = snick.load("model.xml")
model.layers["conv1"].name = "conv2"  # mistake
