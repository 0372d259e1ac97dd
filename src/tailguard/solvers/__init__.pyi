from tailguard.solvers.hard_thresholding import HardThresholding as HardThresholding
from tailguard.solvers.newton.solver import WhitenedNewton as WhitenedNewton
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent as NoisyGradientDescent
from tailguard.solvers.oracles import Oracle as Oracle
from tailguard.solvers.oracles import make_oracle as make_oracle
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate as SampleAndAggregate
