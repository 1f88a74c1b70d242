"""What the programs print whose output follows from their arguments alone."""

from __future__ import annotations

from grpo_lint.located import Piece, Word
from grpo_lint.source import Span
from grpo_lint.syntax.shell.script import FolderPiece, paths
from grpo_lint.syntax.shell.values import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_lint.syntax.shell.programs import Programs

MAX_SEQUENCE = 1_000


def _plain(argv: list[Word], allowed: tuple[str, ...] = ("--",)) -> list[Word]:
    return [word for word in argv[1:] if word.text not in allowed]


def _tail(word: Word) -> tuple[FolderPiece | None, str] | None:
    """A path as a folder that isn't known and what follows it; None if it is anything else."""
    pieces = [piece for piece in word.pieces if piece.text]
    head = pieces[0] if pieces and isinstance(pieces[0], FolderPiece) else None
    rest = pieces[1:] if head is not None else pieces
    if any(piece.reason for piece in rest):
        return None
    return head, "".join(piece.text for piece in rest)


def dirname(_: Programs, argv: list[Word], world: World, span: Span) -> list[Piece] | None:
    words = _plain(argv)
    found = _tail(words[0]) if len(words) == 1 else None
    if found is None:
        return None
    head, tail = found
    stripped = tail.rstrip("/")
    note = next((piece.note for piece in words[0].pieces if piece.note), "")
    if head is None:
        text = stripped.rpartition("/")[0].rstrip("/") if "/" in stripped else "."
        return [Piece(text or "/", span, (words[0].span,), "", note), Piece("\n", span)]
    if stripped:
        kept = stripped.rpartition("/")[0].rstrip("/")
        return [head, *([Piece(kept, span)] if kept else []), Piece("\n", span)]
    parents = tuple(dict.fromkeys(folder.rpartition("/")[0] for folder in head.folders if folder))
    return [FolderPiece(parents, span), Piece("\n", span)] if parents else None


def basename(_: Programs, argv: list[Word], world: World, span: Span) -> list[Piece] | None:
    words = _plain(argv)
    if not words or len(words) > 2 or words[0].text == "-s":
        return None
    found = _tail(words[0])
    suffix = words[1] if len(words) == 2 else None
    if suffix is not None and suffix.dynamic:
        return None
    name = ""
    if found is None:  # the last component may be known all the same
        tail = words[0].pieces[-1]
        if tail.reason or "/" not in tail.text.rstrip("/"):
            return None
        name = tail.text.rstrip("/").rpartition("/")[2]
    else:
        head, tail_text = found
        name = tail_text.rstrip("/").rpartition("/")[2]
        if not name and head is not None:
            names = {folder.rpartition("/")[2] for folder in head.folders}
            if len(names) != 1 or "" in names:
                return None
            name = names.pop()
        elif not name and tail_text:
            name = "/"
    if suffix is not None and name.endswith(suffix.text) and name != suffix.text:
        name = name[: len(name) - len(suffix.text)]
    note = next((piece.note for piece in words[0].pieces if piece.note), "")
    return [Piece(name, span, (words[0].span,), "", note), Piece("\n", span)]


def realpath(evaluator: Programs, argv: list[Word], world: World, span: Span) -> list[Piece] | None:
    words = _plain(argv, ("--", "-f", "-e", "-m", "-s", "-q", "--canonicalize"))
    if len(words) != 1 or (argv[0].text == "readlink" and len(argv) < 3):
        return None
    if evaluator.environment is not None:
        word = words[0]
        if not word.dynamic and word.text == evaluator.script_name.text:
            return [*evaluator.script_name.pieces(), Piece("\n", span)]
        found = evaluator.real_folder(word, world, span)
        return [*found.pieces(), Piece("\n", span)] if found is not None else None
    word = words[0]
    found_paths = paths(word)
    if not found_paths and not word.dynamic and word.text and not word.text.startswith("/"):
        found_paths = evaluator.below(world, word.text)
    if not found_paths:
        return None
    tails = {path.rpartition("/")[2] for path in found_paths}
    if len(tails) == 1 and (name := tails.pop()) and all(path for path in found_paths):
        parents = tuple(path.rpartition("/")[0] for path in found_paths)
        return [FolderPiece(parents, span), Piece("/" + name, span), Piece("\n", span)]
    return [FolderPiece(found_paths, span), Piece("\n", span)]


def seq(_: Programs, argv: list[Word], world: World, span: Span) -> list[Piece] | None:
    words = argv[1:]
    if not 1 <= len(words) <= 3 or any(not word.text.lstrip("-").isdecimal() or len(word.text) > 12 for word in words):
        return None
    numbers = [int(word.text) for word in words]
    first, step, last = (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[-1])
    step = numbers[1] if len(numbers) == 3 else step
    if step == 0 or abs(last - first) // abs(step) > MAX_SEQUENCE:
        return None
    return [Piece("".join(f"{n}\n" for n in range(first, last + (1 if step > 0 else -1), step)), span)]


def cat(evaluator: Programs, argv: list[Word], world: World, span: Span) -> list[Piece] | None:
    done: list[Piece] = []
    for word in argv[1:]:
        found = None if word.text.startswith("-") else evaluator.read_file(word, world)
        if found is None:
            return None
        done.append(Piece(found.text, Span(found, 0, len(found.text))))
    return done or None


OUTPUTS: dict[str, Callable[[Programs, list[Word], World, Span], list[Piece] | None]] = {
    "dirname": dirname, "basename": basename, "realpath": realpath, "readlink": realpath, "seq": seq, "cat": cat,
}  # fmt: skip
