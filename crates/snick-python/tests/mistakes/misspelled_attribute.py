"""An attribute of a layer is misspelled."""

import snick

model = snick.load("model.xml")
print([layer.outptus for layer in model.layers])  # mistake
