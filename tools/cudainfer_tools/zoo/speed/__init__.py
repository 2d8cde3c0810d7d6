"""How fast the models of the zoo run: their pipelines on the CPU, and the models alone on a GPU.

`cpu` measures what lies in out/evaluate/zoo. `pack` packs those models for a GPU machine, where `gpu` measures them. The rows of both
are in benches/results/zoo-speed.json (`rows`), and from there in docs/models.md (`table`).
"""
