"""There is no such edit."""

import snick

model = snick.load("model.xml")
with model.edit() as e:
    e.delete("relu")  # mistake
