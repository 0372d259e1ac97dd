"""The default method, one part per file; ``solver.fits`` runs the parts in order.

Before a record is read, ``allocation`` divides the budget, ``schedule`` plans the releases, and
``outlook`` predicts the error. During the run, ``fit_session`` holds the budget and ``state`` the
released numbers. ``start`` whitens (``whitening``), begins each phase and chooses clip levels
(``clipping``), ``newton`` takes the rounds, ``choices`` compares losses, ``debiasing``
and ``correction`` correct, and ``covariance`` computes the result in the user's units. ``constant``
is the start of likelihoods, and the whole fit if noise hides all columns.
"""
