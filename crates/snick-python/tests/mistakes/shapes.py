"""A shape has no fractions."""

import snick

model = snick.load("model.xml")
inference = model.infer(shapes=0.5)  # mistake
