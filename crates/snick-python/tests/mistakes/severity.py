"""No finding has this severity."""

import snick

model = snick.load("model.xml")
print([finding for finding in model.check() if finding.severity == "fatal"])  # mistake
