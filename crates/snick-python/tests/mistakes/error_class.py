"""There is no such error."""

import snick

model = snick.load("model.xml")
caught = (snick.ReadError, snick.WriteError)  # mistake
