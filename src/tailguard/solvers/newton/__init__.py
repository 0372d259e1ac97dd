"""The default method, a part a file: ``solver`` tells it in order, as ``fits``.

Before a record is read: ``allocation`` shares the budget out, ``schedule`` lays the releases out,
``outlook`` says what they can reach. On the way: ``fit_session`` knows what a stage may spend by
now, ``state`` is what is known. ``start`` whitens (``whitening``), ``phase_start`` begins each
phase and chooses clip levels (``clipping``), ``newton`` takes its rounds, ``choices`` has the
contests, ``debiasing`` and ``correction`` correct, ``covariance`` ends in the user's units.
``constant`` is where likelihoods start, and all that is left where nothing can be seen.
"""
