"""Each rule as a `libcst.codemod` command, for projects that run their codemods with `python -m libcst.tool`.

libcst takes a few hundred milliseconds to import: nothing that starts with graphfix may import this module.
"""

from __future__ import annotations

from graphfix.rewrite.command import RuleCommand


class AccumulatedGraph(RuleCommand):
    CODE = "GF101"
    DESCRIPTION = "Cut the graph of what a running total, mean or moving average adds up."


class StoredGraph(RuleCommand):
    CODE = "GF102"
    DESCRIPTION = "Cut the graph of what a list, dict or history keeps."


class GraphInEvaluation(RuleCommand):
    CODE = "GF103"
    DESCRIPTION = "Run evaluations under torch.no_grad()."


class CarriedState(RuleCommand):
    CODE = "GF201"
    DESCRIPTION = "Detach state that enters the next iteration with its graph."


class ModuleState(RuleCommand):
    CODE = "GF202"
    DESCRIPTION = "Detach state that a module keeps from one iteration to the next."


class ExternalGraph(RuleCommand):
    CODE = "GF203"
    DESCRIPTION = "Move a graph that is built before a loop to where the loop walks it."


class ExternalAccumulator(RuleCommand):
    CODE = "GF204"
    DESCRIPTION = "Initialise a loss accumulator in the loop that walks it."


class NonLeafParameter(RuleCommand):
    CODE = "GF205"
    DESCRIPTION = "Make what is trained a leaf."


class SequentialBackward(RuleCommand):
    CODE = "GF301"
    DESCRIPTION = "Walk the sum of several losses that share a graph."


class RepeatedBackward(RuleCommand):
    CODE = "GF302"
    DESCRIPTION = "Remove the second walk of one loss."


class MissingDetach(RuleCommand):
    CODE = "GF303"
    DESCRIPTION = "Detach what leads a loss into a network that it does not train."


class StepBetweenBackwards(RuleCommand):
    CODE = "GF304"
    DESCRIPTION = "Walk each loss only to its own parameters, and step behind the last walk."


class NeedlessRetain(RuleCommand):
    CODE = "GF305"
    DESCRIPTION = "Remove retain_graph=True from the last walk of a graph."


class RetainAsSilencer(RuleCommand):
    CODE = "GF306"
    DESCRIPTION = "Detach what retain_graph=True carries on, and free each graph."


class NeedlessCreateGraph(RuleCommand):
    CODE = "GF307"
    DESCRIPTION = "Remove create_graph=True where nobody walks the graph of the gradients."


class BackwardInThreads(RuleCommand):
    CODE = "GF308"
    DESCRIPTION = "Keep a graph that several threads walk."


class InplaceOnSaved(RuleCommand):
    CODE = "GF401"
    DESCRIPTION = "Write out of place to tensors that a backward pass still needs."


class LegacyScalar(RuleCommand):
    CODE = "GF901"
    DESCRIPTION = "Read the number of a one-element tensor with .item()."


class LegacyData(RuleCommand):
    CODE = "GF902"
    DESCRIPTION = "Cut tensors from their graph with .detach() in the place of .data."


class LegacyVariable(RuleCommand):
    CODE = "GF903"
    DESCRIPTION = "Replace Variable, volatile and retain_variables by what they are today."


class ImplicitScalar(RuleCommand):
    CODE = "GF904"
    DESCRIPTION = "Read the number of a tensor that requires grad with .item()."
