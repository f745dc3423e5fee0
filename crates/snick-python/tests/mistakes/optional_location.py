"""A layer that was added by a rewrite has no location."""

import snick

model = snick.load("model.xml")
line: int = int(model.layers[0].loc.split(":")[0])  # mistake
