"""The Python that the commands in scripts/ run; `python3 tools MODULE` starts a module.

What several subpackages use lies here: `pipeline` reads pipelines/ and starts pipelines, `machine` is the machine's name,
`repository` finds files and modules.
"""
