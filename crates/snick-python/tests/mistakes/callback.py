"""A callback takes one argument."""

import snick

model = snick.load("model.xml")
inference = model.infer(progress=lambda done, total: print(done, total))  # mistake
