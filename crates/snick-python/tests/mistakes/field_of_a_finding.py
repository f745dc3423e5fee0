"""A finding has no such field."""

import snick

model = snick.load("model.xml")
print(model.check()[0].line)  # mistake
