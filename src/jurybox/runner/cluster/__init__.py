"""The same run on a Ray cluster: the runner's own session in every worker, limits and results shared.

Ray is imported inside functions only, and only here. See docs/design/ray.md.
"""
