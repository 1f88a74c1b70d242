"""Here-documents: their bodies start at the line after the one that asks for them."""

from __future__ import annotations

from abc import abstractmethod

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.lexer import Lexer, Mode, ShellSyntaxError, TooDeep
from grpo_lint.syntax.shell.tree import Lit, WordNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.tree import Part

DOCUMENT = Mode(r"""[^\\$`]+""", "", single=False, escapes="$`\\")
LINES = lazy(r"[^\n]*\n|[^\n]+")


class HereDocuments(Lexer):
    def documents(self) -> None:
        """Reads the bodies of the pending here-documents; the cursor is at the start of a line."""
        pending, self.pending = self.pending, []
        for redirect, delimiter, quoted in pending:
            start, strip = self.at, redirect.op == "<<-"
            while True:
                stop = self.text.find("\n", self.at, self.end)
                stop = self.end if stop < 0 else stop
                line = self.text[self.at : stop].rstrip(" \r" if self.padded else "\r") if stop - self.at < 200 else ""
                if (line.lstrip("\t") if strip else line) == delimiter or self.at >= self.end:
                    break
                self.at = min(stop + 1, self.end)
            finish = self.at
            redirect.body = self.document(start, finish, quoted, strip)
            self.at = min(stop + 1, self.end)

    @abstractmethod
    def too_deep(self, error: TooDeep) -> None:
        """Notes what is nested too deeply to be read."""

    def document(self, start: int, finish: int, quoted: bool, strip: bool) -> WordNode:
        parts: list[Part]
        if quoted:
            parts = [Lit(self.text[start:finish], start, finish, True)]
        else:
            end, depth = self.end, self.depth
            self.at, self.end = start, finish
            try:
                parts = self.scan(DOCUMENT, True)
            except TooDeep as error:  # it lies between commands, so that no command is lost with it
                self.too_deep(error)
                parts = [Lit(self.text[start:finish], start, finish, True)]
            except ShellSyntaxError:  # bash finds out only when it expands the text
                parts = [Lit(self.text[start:finish], start, finish, True)]
            finally:
                self.end, self.depth = end, depth
        self.at = finish
        return WordNode(tuple(_untabbed(parts) if strip else parts), start, finish)


def _untabbed(parts: list[Part]) -> list[Part]:
    """The parts without the tabs that start a line."""
    done: list[Part] = []
    fresh = True
    for part in parts:
        if not isinstance(part, Lit) or part.end - part.start != len(part.text):
            done.append(part)
            fresh = False
            continue
        at = part.start
        for line in LINES.findall(part.text):
            kept = line.lstrip("\t") if fresh else line
            done.append(Lit(kept, at + len(line) - len(kept), at + len(line), True))
            fresh = line.endswith("\n")
            at += len(line)
    return done
