"""A field of an answer is misspelled."""

import snick

model = snick.load("model.xml")
print(model.cost().flosp)  # mistake
