"""The default method, one part per file; ``solver.fits`` runs the parts in order.

Before a record is read, ``allocation`` divides the budget, ``schedule`` plans the releases, and
``outlook`` predicts the error. During the run, ``newton`` takes the rounds and holds their budget,
and ``state`` holds the released numbers. ``start`` whitens (``whitening``), begins each phase and
chooses clip levels (``clipping``), ``choices`` compares losses, ``debiasing`` and ``correction``
correct, and ``covariance`` computes the result in the user's units. ``constant`` is the start of
likelihoods, and the whole fit if noise hides all columns.
"""
