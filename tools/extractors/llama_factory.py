"""LLaMA-Factory: the dataclasses that `llamafactory-cli train` parses, which are flags and flat keys alike."""

from __future__ import annotations

from pathlib import Path

from extractors.declared import Classes, Option, package, unique

CLASSES = ("ModelArguments", "DataArguments", "TrainingArguments", "FinetuningArguments", "GeneratingArguments")
SEQ2SEQ = {
    "sortish_sampler": ("bool", False),
    "predict_with_generate": ("bool", False),
    "generation_max_length": ("Optional[int]", None),
    "generation_num_beams": ("Optional[int]", None),
    "generation_config": ("Optional[Union[str, Path, GenerationConfig]]", None),
}
"""What transformers.Seq2SeqTrainingArguments adds to TrainingArguments (4.40 to 5.24: the same five)."""


def options(root: Path) -> list[Option]:
    """The options that LLaMA-Factory declares itself; those of transformers.TrainingArguments are inherited."""
    classes = Classes(sorted((package(root, "llamafactory") / "hparams").glob("*_args.py")))
    found = [
        {**classes.option(field, f"--{name}"), "config_class": owner}
        for owner in CLASSES
        for name, field in classes.fields(owner).items()
        if not name.startswith("_")
    ]
    for name, (kind, default) in SEQ2SEQ.items():
        found.append({"name": f"--{name}", "type": kind, "default": default, "config_class": "TrainingArguments"})
    return unique(found)
