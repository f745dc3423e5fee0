"""An output is an array, not a list."""

import snick

model = snick.load("model.xml")
first: list[float] = model.run({})["scores"]  # mistake
