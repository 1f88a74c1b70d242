"""vLLM's servers as other descriptions give them: production-stack's values and VLLMRuntime, Ray Serve's configs, and
the tests of vLLM's own benchmarks. Each is the command that its platform makes of it.

Read: production-stack, main of August 2026 (helm/templates/deployment-vllm-multi.yaml, operator/internal/controller/),
Ray 2.49 (llm/_internal/serve/configs/: `engine_kwargs` are vLLM's AsyncEngineArgs), vllm-ascend, main of 2026-08-22
(benchmarks/scripts/: `server_parameters` are flags).
"""

from __future__ import annotations

import re

from grpo_lint.located import Piece, Value, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.source import Span

    Server = tuple[list[Word], Value | None]

_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
CHART = (
    "enableChunkedPrefill", "enablePrefixCaching", "maxModelLen", "dtype", "tensorParallelSize", "maxNumSeqs",
    "gpuMemoryUtilization", "maxLoras", "runner", "convert",
)  # fmt: skip
"""What the chart and the operator make flags of."""
MARKERS = ("servingEngineSpec", "vllmConfig", "VLLMRuntime", "engine_kwargs", "server_parameters")
MAX_SERVERS = 200


def servers(root: Value) -> Iterator[Server]:
    """(the words of the command, what asks for GPUs) of each server that a document describes."""
    for number, server in enumerate(_servers(root)):
        if number >= MAX_SERVERS:
            return
        yield server


def _servers(root: Value) -> Iterator[Server]:
    if root.is_list:
        for test in root.data:
            parameters = test.get("server_parameters")
            if parameters is not None and parameters.is_mapping and "model" in parameters.data:
                yield _from_flags(parameters, parameters.data["model"]), None
        return
    kind, spec = root.get("kind"), root.get("spec")
    if kind is not None and kind.data == "VLLMRuntime" and spec is not None and spec.is_mapping:
        model, config = spec.get("model"), spec.get("vllmConfig") or spec
        url = spec.get("model.modelURL")
        if url is not None and model is not None:
            yield (
                _from_chart([model, config], url),
                spec.get("deploymentConfig.resources.gpu") or spec.get("resources.gpu"),
            )
    specs = root.get("servingEngineSpec.modelSpec")
    for one in specs.data if specs is not None and specs.is_list else ():
        config, url = one.get("vllmConfig"), one.get("modelURL")
        if url is not None and not _is_empty(url):
            yield _from_chart([one, config] if config is not None else [one], url), one.get("requestGPU")
    yield from _of_ray(root)


def _of_ray(root: Value) -> Iterator[Server]:
    """Ray Serve: each application's `llm_configs`."""
    applications = root.get("applications")
    for application in applications.data if applications is not None and applications.is_list else ():
        configs = application.get("args.llm_configs")
        for config in configs.data if configs is not None and configs.is_list else ():
            options = config.get("engine_kwargs")
            model = config.get("model_loading_config.model_source") or config.get("model_loading_config.model_id")
            if model is not None and isinstance(model.data, str):
                yield _from_flags(options, model), None


def _from_chart(sections: list[Value], model: Value) -> list[Word]:
    words = _start(model)
    for section in sections:
        for key in CHART:
            value = section.data.get(key) if section.is_mapping else None
            if value is not None and not _is_empty(value):
                words += _flag(_CAPITAL.sub(r"-\1", key).lower(), value)
    if any(_on(section.get("enableLoRA")) for section in sections):
        words.append(_word("--enable-lora", model.span))
    for section in sections:
        extra = section.data.get("extraArgs") if section.is_mapping else None
        if extra is not None and extra.is_list:
            words += [_word(str(item.data), item.span) for item in extra.data]
    return words


def _from_flags(options: Value | None, model: Value) -> list[Word]:
    words = _start(model)
    for key, value in options.data.items() if options is not None and options.is_mapping else ():
        if key != "model" and not value.is_mapping and not value.is_list:
            words += _flag(str(key).replace("_", "-"), value)
    return words


def _start(model: Value) -> list[Word]:
    return [*(_word(text, model.span) for text in ("vllm", "serve")), _word(str(model.data), _inside(model))]


def _flag(name: str, value: Value) -> list[Word]:
    """A flag and its value; a switch stands alone."""
    place = value.key_span or value.span
    if isinstance(value.data, bool):
        return [_word(f"--{name}" if value.data else f"--no-{name}", place)]
    if value.data in ("", None):
        return [_word(f"--{name}", place)]
    return [_word(f"--{name}", place), _word(str(value.data), _inside(value))]


def _inside(value: Value) -> Span:
    """A scalar's place, within its quotes."""
    span = value.span
    return span.file.span(span.start + 1, span.end - 1) if span.text[:1] in ("'", '"') else span


def _word(text: str, span: Span) -> Word:
    return Word((Piece(text, span),), span)


def _is_empty(value: Value) -> bool:
    return value.data in ("", None) or value.is_mapping or value.is_list


def _on(value: Value | None) -> bool:
    return value is not None and value.data is True
