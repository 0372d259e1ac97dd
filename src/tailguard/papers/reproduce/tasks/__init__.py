"""What experiments on optimisation share: fits that are planned once, public sets, optima."""
