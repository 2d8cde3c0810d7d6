"""What others compute, in NumPy or with their own functions: the numbers that tests and scripts/evaluate compare with.

Each module is started by itself, some in a Python that has the other library.
"""
