"""A step of an explanation has no such field."""

import snick

model = snick.load("model.xml")
print(model.why("conv1:0:0").tree.children)  # mistake
