"""The sets by name. A new set needs one file and one line here; contract tests then run it."""

SETS = {
    "box": "tailguard.sets.box:Box",
    "intersection": "tailguard.sets.intersection:Intersection",
    "intersection_with_ball": "tailguard.sets.intersection_with_ball:IntersectionWithBall",
    "l1_ball": "tailguard.sets.l1_ball:L1Ball",
    "l2_ball": "tailguard.sets.l2_ball:L2Ball",
    "simplex": "tailguard.sets.simplex:Simplex",
    "sparse_ball": "tailguard.sets.sparse_ball:SparseBall",
    "whole_space": "tailguard.sets.whole_space:WholeSpace",
}
