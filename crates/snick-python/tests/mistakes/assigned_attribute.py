"""An attribute of a layer is assigned, which changes nothing."""

import snick

model = snick.load("model.xml")
model.layers["conv1"].attrs["strides"] = [1, 1]  # mistake
