"""The rank may be unknown."""

import snick

model = snick.load("model.xml")
last: int = model.inputs[0].shape.rank - 1  # mistake
