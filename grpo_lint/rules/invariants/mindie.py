"""INV760 to INV767: what MindIE's service refuses in its config.json."""

from __future__ import annotations

from grpo_lint.frameworks.mindie import DEPLOY, MODEL
from grpo_lint.rules.invariants.relation import Operands, number, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

BACKEND, SCHEDULE, SERVER = "BackendConfig", "BackendConfig.ScheduleConfig", "ServerConfig"
READ = "MindIE-LLM, main of 2026-04-23, `src/config_manager/"
SCHEDULED = f"{READ}schedule_config.cpp`"


def _config(devices: str = "[[0, 1]]", model: str = "", deploy: str = "", schedule: str = "", backend: str = "") -> str:
    """A service's config with what an example is about, and little else."""
    return f"""{{
  "ServerConfig": {{"ipAddress": "127.0.0.1", "port": 1025, "httpsEnabled": true}},
  "BackendConfig": {{
    "npuDeviceIds": {devices}{backend},
    "ModelDeployConfig": {{
      "maxSeqLen": 4096{deploy},
      "ModelConfig": [{{"modelName": "qwen", "modelWeightPath": "/data/qwen", "worldSize": 2{model}}}]
    }},
    "ScheduleConfig": {{"templateType": "Standard", "templateName": "Standard_LLM"{schedule}}}
  }}
}}"""


@relation(
    "INV760", "devices-are-not-the-world", "mindie",
    devices=value(f"{BACKEND}.npuDeviceIds"), world=value(f"{MODEL}.worldSize"),
    count=value(f"{BACKEND}.modelInstanceNumber"),
    topics=("parallel",),
    bad=_config(devices="[[0, 1, 2, 3]]"),
    good=_config(devices="[[0, 1]]"),
    source=f"{READ}backend_config.cpp`: `InitFromJson`, `CheckParam`; `param_checker.cpp`: `CheckNpuRange`.",
)  # fmt: skip
def devices(o: Operands) -> Iterator[Finding]:
    """Each instance of a model has a set of devices, as many as its world size, each once."""
    if not isinstance(o.devices, list) or not all(isinstance(each, list) for each in o.devices):
        return
    if type(o.count) is int and len(o.devices) != o.count:
        yield o.fault("devices", f"npuDeviceIds names devices for {len(o.devices)}, but {o('count')}: MindIE "
            f"refuses it", "count",
                      help=f"set modelInstanceNumber to {len(o.devices)}")  # fmt: skip
    for each in o.devices:
        if any(type(id) is not int or id < 0 for id in each):
            yield o.fault("devices", f"{each} holds what is no number of a device, which MindIE refuses")
            return
        if len(set(each)) != len(each):
            yield o.fault("devices", f"{each} names a device twice, which MindIE refuses", help="name each device once")
            return
        if type(o.world) is int and len(each) != o.world:
            yield o.fault("devices", f"{len(each)} devices, but {o('world')}: MindIE refuses to start", "world",
                          help=f"name {o.world} devices, or set worldSize to {len(each)}")  # fmt: skip
            return


@relation(
    "INV761", "prompts-longer-than-a-prefill", "mindie",
    tokens=number(f"{SCHEDULE}.maxPrefillTokens"), prompt=number(f"{DEPLOY}.maxInputTokenLen"),
    template=value(f"{SCHEDULE}.templateType"),
    topics=("length",),
    bad=_config(deploy=', "maxInputTokenLen": 16384', schedule=', "maxPrefillTokens": 8192'),
    good=_config(deploy=', "maxInputTokenLen": 8192', schedule=', "maxPrefillTokens": 8192'),
    unless="With the template Mix a prompt is prefilled in parts.",
    source=f"{READ}config_manager_impl.cpp`: `CheckAllParam`.",
)  # fmt: skip
def prefill(o: Operands) -> Iterator[Finding]:
    """Without splitting, a prefill has to hold the longest prompt."""
    if o.tokens < o.prompt and o.template != "Mix":
        yield o.fault("tokens", f"{o('tokens')} < {o('prompt')}, which MindIE refuses", "prompt",
                      help=f"set maxPrefillTokens to {o.prompt}")  # fmt: skip


@relation(
    "INV762", "preemption-without-host-memory", "mindie",
    count=number(f"{SCHEDULE}.maxPreemptCount"), memory=value(f"{MODEL}.cpuMemSize"),
    batch=value(f"{SCHEDULE}.maxBatchSize"),
    topics=("memory",),
    bad=_config(model=', "cpuMemSize": 0', schedule=', "maxPreemptCount": 8, "maxBatchSize": 200'),
    good=_config(model=', "cpuMemSize": 5', schedule=', "maxPreemptCount": 8, "maxBatchSize": 200'),
    source=f"{READ}config_manager_impl.cpp`: `CheckAllParam`; `schedule_config.cpp`: `CheckParam`.",
)  # fmt: skip
def preemption(o: Operands) -> Iterator[Finding]:
    """Requests that are put aside wait in the host's memory, and no more of them than a batch holds."""
    if o.count != 0 and o.memory == 0:
        yield o.fault("count", f"{o('count')} with {o('memory')}, which MindIE refuses", "memory",
                      help="set cpuMemSize to 5, or maxPreemptCount to 0")  # fmt: skip
    elif type(o.batch) is int and o.count > o.batch:
        yield o.fault("count", f"{o('count')} > {o('batch')}, which MindIE refuses", "batch")


@relation(
    "INV763", "batches-in-a-batch", "mindie",
    batch=number(f"{SCHEDULE}.maxBatchSize"), prefill=value(f"{SCHEDULE}.maxPrefillBatchSize"),
    beams=value(f"{SCHEDULE}.maxN"), parts=value(f"{SCHEDULE}.maxNumPartialPrefills"),
    long=value(f"{SCHEDULE}.maxLongPartialPrefills"),
    topics=("batch",),
    bad=_config(schedule=', "maxBatchSize": 32, "maxPrefillBatchSize": 50'),
    good=_config(schedule=', "maxBatchSize": 64, "maxPrefillBatchSize": 50'),
    source=f"{SCHEDULED}: `CheckParam`, `CheckBeamSearchParam`.",
)  # fmt: skip
def batches(o: Operands) -> Iterator[Finding]:
    """What is prefilled at a time, and the sequences of one request, are a part of a batch."""
    for name in ("prefill", "beams"):
        if type(o[name].value) is int and o[name].value > o.batch:
            yield o.fault(name, f"{o(name)} > {o('batch')}, which MindIE refuses", "batch",
                          help=f"set it to {o.batch} at most")  # fmt: skip
    if type(o.parts) is int and type(o.long) is int and o.long > o.parts:
        yield o.fault("long", f"{o('long')} > {o('parts')}, which MindIE refuses", "parts")


@relation(
    "INV764", "template-and-mode", "mindie",
    template=value(f"{SCHEDULE}.templateType"), name=value(f"{SCHEDULE}.templateName"),
    mode=value(f"{SERVER}.inferMode"),
    backend=value(f"{MODEL}.backendType"), models=value(MODEL),
    topics=("options",),
    bad=_config(schedule=', "maxBatchSize": 64').replace('"Standard"', '"Mixed"'),
    good=_config(schedule=', "maxBatchSize": 64').replace('"Standard"', '"Mix"'),
    source=f"{SCHEDULED}: `CheckParam`; `param_checker.cpp`: `CheckInferMode`; `model_deploy_config.cpp`: "
    f"`CheckParam`.",
)  # fmt: skip
def template(o: Operands) -> Iterator[Finding]:
    """A few options take one of a few words, and the template Standard one model."""
    words = {
        "template": ("Standard", "Mix"), "name": ("Standard_LLM",), "mode": ("standard", "dmi"),
        "backend": ("atb", "ms", "torch"),
    }  # fmt: skip
    for operand, known in words.items():
        text = o[operand].value
        if isinstance(text, str) and text not in known:
            yield o.fault(operand, f"MindIE knows no {o(operand)}", help=f"use {' or '.join(known)}")
    if o.template == "Standard" and isinstance(o.models, list) and len(o.models) > 1:
        yield o.fault("template", f"{o('template')} with {len(o.models)} models: MindIE takes one", "models")


RANGES = {
    # operand: (least, most), as config_manager checks them
    "instances": (1, 10),
    "tokenizers": (1, 32),
    "nodes_port": (1024, 65535),
    "block": (1, 128),
    "batch": (1, 819200),
    "beams": (1, 8192),
    "prefill": (1, 4194304),
    "delay": (500, 1000000),
    "steps": (1, 4294967295),
    "prompt": (1, 4194304),
    "length": (1, 4294967295),
    "world": (1, 4294967295),
    "port": (1024, 65535),
    "management": (1024, 65535),
    "metrics": (1024, 65535),
    "timeout": (1, 65535),
}


@relation(
    "INV765", "numbers-out-of-range", "mindie",
    instances=value(f"{BACKEND}.modelInstanceNumber"), tokenizers=value(f"{BACKEND}.tokenizerProcessNumber"),
    nodes_port=value(f"{BACKEND}.multiNodesInferPort"), block=value(f"{SCHEDULE}.cacheBlockSize"),
    batch=value(f"{SCHEDULE}.maxBatchSize"), beams=value(f"{SCHEDULE}.maxN"),
    prefill=value(f"{SCHEDULE}.maxPrefillTokens"), delay=value(f"{SCHEDULE}.maxQueueDelayMicroseconds"),
    steps=value(f"{SCHEDULE}.maxIterTimes"), prompt=value(f"{DEPLOY}.maxInputTokenLen"),
    length=value(f"{DEPLOY}.maxSeqLen"), world=value(f"{MODEL}.worldSize"), port=value(f"{SERVER}.port"),
    management=value(f"{SERVER}.managementPort"), metrics=value(f"{SERVER}.metricsPort"),
    timeout=value(f"{SERVER}.e2eTimeout"),
    memory=value(f"{MODEL}.npuMemSize"),
    topics=("options",),
    bad=_config(schedule=', "cacheBlockSize": 256'),
    good=_config(schedule=', "cacheBlockSize": 128'),
    source=f"{SCHEDULED}, `backend_config.cpp`, `model_deploy_config.cpp`, `server_config.cpp`: `CheckParam`; "
    "`config_manager_impl.cpp`: `CheckAllParam`.",
)  # fmt: skip
def ranges(o: Operands) -> Iterator[Finding]:
    """The service checks each number of its config, and starts only where all of them are in range."""
    for name, (least, most) in RANGES.items():
        count = o[name].value
        if type(count) is int and not least <= count <= most:
            limit = f"{least} at least" if count < least else f"{most} at most"
            yield o.fault(
                name, f"{o(name)}: MindIE takes {limit}", help=f"set it to {least if count < least else most}"
            )
    if type(o.memory) is int and (o.memory == 0 or o.memory < -1):
        yield o.fault(
            "memory", f"{o('memory')}: MindIE takes a number of GB, or -1 for what is left", help="set it to -1"
        )


@relation(
    "INV767", "number-in-quotes-for-mindie", "mindie",
    port=value(f"{SERVER}.port"), links=value(f"{SERVER}.maxLinkNum"), length=value(f"{DEPLOY}.maxSeqLen"),
    prompt=value(f"{DEPLOY}.maxInputTokenLen"), world=value(f"{MODEL}.worldSize"), host=value(f"{MODEL}.cpuMemSize"),
    memory=value(f"{MODEL}.npuMemSize"), batch=value(f"{SCHEDULE}.maxBatchSize"),
    prefill=value(f"{SCHEDULE}.maxPrefillTokens"), steps=value(f"{SCHEDULE}.maxIterTimes"),
    block=value(f"{SCHEDULE}.cacheBlockSize"), preempt=value(f"{SCHEDULE}.maxPreemptCount"),
    topics=("options",),
    bad=_config(deploy=', "maxInputTokenLen": "2048"'),
    good=_config(deploy=', "maxInputTokenLen": 2048'),
    source=f"{READ}param_checker.cpp`: `CheckJsonParamType`.",
)  # fmt: skip
def quoted(o: Operands) -> Iterator[Finding]:
    """The service takes whole numbers as they stand: in quotes they are text, and with a point they are "
    "something else."""
    for name in ("port", "links", "length", "prompt", "world", "host", "memory", "batch", "prefill", "steps", "block",
                 "preempt"):  # fmt: skip
        given = o[name].value
        if isinstance(given, (str, float, bool)):
            kind = "a bool" if isinstance(given, bool) else "text" if isinstance(given, str) else "no whole number"
            yield o.fault(name, f"{o(name)} is {kind}: MindIE wants a whole number", help="write the number alone")


@relation(
    "INV766", "one-port-for-two", "mindie",
    port=number(f"{SERVER}.port"), nodes=value(f"{BACKEND}.multiNodesInferPort"),
    topics=("options",),
    bad=_config(backend=', "multiNodesInferPort": 1025'),
    good=_config(backend=', "multiNodesInferPort": 1120'),
    source=f"{READ}config_manager_impl.cpp`: \"Endpoint port cannot be equal to multiNodesInferPort\".",
)  # fmt: skip
def ports(o: Operands) -> Iterator[Finding]:
    """The port for clients is not the one between nodes, whether or not there are several nodes."""
    if o.nodes == o.port:
        yield o.fault("nodes", f"{o('nodes')} is the {o('port')} of the endpoint as well, which MindIE refuses", "port",
                      help="choose another port")  # fmt: skip


RULES: tuple[Rule, ...] = tuple(relations(globals()))
