"""There is no such limit."""

import snick

model = snick.load("model.xml")
small = snick.load("model.xml", limits={"layer": 1000})  # mistake
