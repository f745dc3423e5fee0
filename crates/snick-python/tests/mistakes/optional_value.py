"""Not all values are known."""

import snick

model = snick.load("model.xml")
print(model.layers[0].outputs[0].value.sum())  # mistake
