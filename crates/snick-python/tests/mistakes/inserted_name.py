"""An edit returns the name of the layer, not the layer."""

import snick

model = snick.load("model.xml")
with model.edit() as e:
    print(e.insert_after("relu", "Clamp", min=0.0, max=6.0).op)  # mistake
