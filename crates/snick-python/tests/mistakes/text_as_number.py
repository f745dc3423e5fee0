"""The text form is no number."""

import snick

model = snick.load("model.xml")
count: int = model.text()  # mistake
