"""Tests of the recipes in deploy/cluster against the program that they start."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "deploy/cluster"
KUBERNETES = CLUSTER / "kubernetes"


def exit_codes() -> dict[str, int]:
    """The program's exit codes by their names."""
    found = re.findall(r"Self::(\w+) => (\d+),", (ROOT / "batch/src/exit.rs").read_text())
    return {name: int(code) for name, code in found}


def options() -> set[str]:
    """The options that the program's help has."""
    usage = (ROOT / "batch/src/arguments.rs").read_text().partition("USAGE")[2].partition('";')[0]
    return set(re.findall(r"--[a-z]+", usage))


class Recipes(unittest.TestCase):
    def test_every_exit_code_is_handled_as_it_is_meant(self):
        codes = exit_codes()
        self.assertEqual(set(codes.values()), {0, 65, 70, 71, 75, 78})
        job = (KUBERNETES / "job.yaml").read_text()
        rules = [(rule.split()[0], re.search(r"values: \[([\d, ]+)\]", rule)) for rule in job.split("- action: ")[1:]]
        actions = {int(code): action for action, listed in rules if listed for code in listed[1].split(",")}
        expected = {
            "BadInput": "FailIndex",
            "GpuFault": "Count",
            "Sick": "Count",
            "Interrupted": "Ignore",
            "Configuration": "FailJob",
        }
        self.assertEqual(actions, {codes[name]: action for name, action in expected.items()})
        script = (CLUSTER / "slurm.sbatch").read_text()
        cases = script.partition("case $code in")[2]
        self.assertEqual({int(code) for code in re.findall(r"\b(\d\d)\b(?=[\s|)])", cases.partition("esac")[0])}, {70, 71, 75, 78})
        self.assertIn(f"|| [ $? = {codes['BadInput']} ]", (CLUSTER / "Snakefile").read_text())

    def test_options_and_pipelines_exist(self):
        known = options()
        self.assertIn("--pipeline", known)
        for name in ["slurm.sbatch", "Snakefile", "kubernetes/job.yaml"]:
            text = (CLUSTER / name).read_text()
            command = re.search(r"--pipeline[ ,]+([\w-]+)", text)
            self.assertIsNotNone(command, name)
            self.assertTrue((ROOT / f"pipelines/{command[1]}.launch").is_file(), name)
            if name != "slurm.sbatch":
                started = text.partition("cudainfer-batch")[2]
                self.assertLessEqual(set(re.findall(r"--[a-z]+", started.partition("env:")[0])), known, name)

    def test_the_counts_of_the_indexed_job_agree(self):
        job = (KUBERNETES / "job.yaml").read_text()
        completions = re.search(r"completions: (\d+)", job)
        environment = re.search(r'name: JOB_COMPLETIONS\n\s+value: "(\d+)"', job)
        self.assertIsNotNone(completions)
        self.assertIsNotNone(environment)
        self.assertEqual(completions[1], environment[1])
        self.assertIn(environment[0].split("\n")[0].split()[1], (ROOT / "batch/src/share.rs").read_text())

    def test_the_kustomization_names_files_that_are_there(self):
        text = (KUBERNETES / "kustomization.yaml").read_text()
        names = re.findall(r"^\s+- ([\w.]+\.(?:yaml|txt))$", text, re.MULTILINE)
        self.assertEqual(set(names), {path.name for path in KUBERNETES.iterdir()} - {"kustomization.yaml"})

    def test_the_script_of_slurm_is_one_of_the_shell(self):
        subprocess.run(["bash", "-n", CLUSTER / "slurm.sbatch"], check=True)


if __name__ == "__main__":
    unittest.main()
