"""A run takes the number of threads as `threads`."""

import snick

model = snick.load("model.xml")
outputs = model.run({}, thread=2)  # mistake
