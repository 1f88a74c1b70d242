"""Feed mutated inputs to the readers and to whole lintings, and report every crash, hang and place out of bounds.

    python tools/fuzz/fuzz.py [--inputs N] [--seconds S] [--seed TEXT] [--seeds FOLDER]... [--save FOLDER] [TARGET...]

Each input is made from the seed and its number alone, so that what is found can be made again: it is saved, and each
distinct failure is printed once. An input may take 2 seconds, and the process 1.5 GB. Exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
from mutate import TOKENS, mutated
from targets import ROOT, TARGETS, seeds

if TYPE_CHECKING:
    from types import FrameType

SECONDS_FOR_ONE = 2.0
BYTES = 1_500_000_000


class Hang(BaseException):
    """One input took too long. No `except Exception` on the way may swallow it."""


def _stop(signum: int, frame: FrameType | None) -> None:
    raise Hang


def cause(error: BaseException) -> str:
    """What failed and where: failures that agree in it are one."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if "grpo_lint" in f.filename or "targets" in f.filename
    ]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {where}: {str(error)[:160]}"


def fuzz(target: str, options: argparse.Namespace) -> tuple[int, dict[str, str]]:
    """(inputs, {cause: input}) of one target."""
    kind, check = TARGETS[target]
    texts = seeds(kind, options.seeds)
    failures: dict[str, str] = {}
    started, done = time.monotonic(), 0
    while done < options.inputs and time.monotonic() - started < options.seconds:
        text = mutated(Random(f"{options.seed}/{target}/{done}"), texts, TOKENS[kind])
        done += 1
        signal.setitimer(signal.ITIMER_REAL, SECONDS_FOR_ONE)
        try:
            check(text)
        except (Exception, Hang) as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            failures.setdefault(cause(error), text)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    seconds = time.monotonic() - started
    print(
        f"{target}: {done:,} inputs from {len(texts):,} seeds in {seconds:,.0f} s, {len(failures)} failures", flush=True
    )
    return done, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--inputs", type=int, default=10_000, help="for each target (default: 10000)")
    parser.add_argument("--seconds", type=float, default=1e9, help="for each target, at most")
    parser.add_argument("--seed", default="1", help="another text gives other inputs (default: 1)")
    parser.add_argument("--seeds", action="append", metavar="FOLDER", help="besides the fixtures; may be repeated")
    parser.add_argument("--save", default="fuzz-failures", metavar="FOLDER", help="where failing inputs are written")
    options = parser.parse_args()
    options.seeds = [str(ROOT / "fixtures"), *(options.seeds or [])]
    signal.signal(signal.SIGALRM, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    total, failed = 0, 0
    for target in options.targets or TARGETS:
        done, failures = fuzz(target, options)
        total, failed = total + done, failed + len(failures)
        for number, (what, text) in enumerate(failures.items()):
            folder = Path(options.save)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{target}-{options.seed}-{number}").write_text(
                text, encoding="utf-8", errors="surrogatepass", newline=""
            )
            print(f"  {what}")
    print(f"{total:,} inputs, {failed} distinct failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
