"""No rewrite has this status."""

import snick

model = snick.load("model.xml")
print([rewrite for rewrite in model.certify().rewrites if rewrite.status == "undecided"])  # mistake
