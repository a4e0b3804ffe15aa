"""Measuring rankings by judgments: readers of the field's formats, measures, and paired tests.

Start with :func:`hybridrank.evaluation.compare.evaluate` for an index and queries of your own, or with
:func:`hybridrank.evaluation.compare.compare` for runs that exist already.
"""
