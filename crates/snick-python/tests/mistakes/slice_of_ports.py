"""A slice is a list."""

import snick

model = snick.load("model.xml")
print(model.inputs[0:2].dtype)  # mistake
