"""A local server for files and batches in OpenAI's protocol, without waiting times.

Each request for a batch moves it one state further: validating, in_progress, finalizing, completed.
A `Plan` describes faults in advance; batches use the plans in the order of their creation.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = Callable[[Mapping[str, Any], str], tuple[int, bytes]]
"""From the body of a call and its path: the status and the body of the response."""

STATES = ("validating", "in_progress", "finalizing", "completed")


@dataclass(frozen=True)
class Plan:
    """The planned outcome of a batch.

    Args:
        expires_after: number of calls before the batch expires; None for all.
        fails: error code with which it fails at once; empty if it does not.
        stuck: whether it stays in progress until it is cancelled.
        broken: number of truncated lines in its output.
    """

    expires_after: int | None = None
    fails: str = ""
    stuck: bool = False
    broken: int = 0


@dataclass
class Shelf:
    """Files and batches.

    Args:
        answer: answers a call.
        plans: for the first batches, in the order of their creation; later ones succeed.
        most: most calls per batch.
        states: states of a successful batch.
        away: status of every response during an outage; 0 without one.
        gone: ids of batches and files that it no longer has.
        keeps_metadata: whether it returns the metadata of a batch; some compatible servers do not.

    Attributes:
        files: by id.
        batches: description of each batch, by id.
        made: number of times that each call was made (and paid), by custom id.
        tokens: input and output tokens of all calls.
    """

    answer: Answer
    plans: list[Plan] = field(default_factory=list)
    most: int = 50_000
    states: tuple[str, ...] = STATES
    away: int = 0
    gone: set[str] = field(default_factory=set)
    keeps_metadata: bool = True
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: Counter[str] = field(default_factory=Counter)
    tokens: list[int] = field(default_factory=lambda: [0, 0])
    _plans: dict[str, Plan] = field(default_factory=dict)

    def handle(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes] | None:
        """Return the response to a request; None if it concerns neither files nor batches."""
        place = urlsplit(target)
        parts = place.path.removeprefix("/v1/").split("/")
        if parts[0] not in ("files", "batches"):
            return None
        if self.away:
            return _error(self.away, "it is away")
        if self.gone.intersection(parts):
            return _error(404, "it is gone")
        match (method, *parts):
            case ("POST", "files"):
                return self._upload(headers, body)
            case ("GET", "files", name, "content") if name in self.files:
                return 200, self.files[name]
            case ("POST", "batches"):
                return self._create(json.loads(body))
            case ("GET", "batches"):
                return self._list(parse_qs(place.query))
            case ("GET", "batches", name) if name in self.batches:
                self._go_on(name)
                return 200, json.dumps(self.batches[name]).encode()
            case ("POST", "batches", name, "cancel") if name in self.batches:
                return self._cancel(name)
        return _error(404, "no such thing here")

    def _upload(self, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        boundary = headers["content-type"].partition("boundary=")[2].encode()
        fields: dict[str, bytes] = {}
        for part in body.split(b"--" + boundary)[1:-1]:
            head, _, content = part.partition(b"\r\n\r\n")
            found = re.search(rb'name="(\w+)"', head)
            assert found
            fields[found[1].decode()] = content.removesuffix(b"\r\n")
        assert fields["purpose"] == b"batch"
        name = f"file-{len(self.files) + 1}"
        self.files[name] = fields["file"]
        return 200, json.dumps({"id": name, "object": "file", "bytes": len(fields["file"])}).encode()

    def _create(self, asked: Mapping[str, Any]) -> tuple[int, bytes]:
        if asked["input_file_id"] not in self.files:
            return _error(400, "there is no such file")
        assert asked["completion_window"] == "24h"
        name = f"batch-{len(self.batches) + 1}"
        lines = self.files[asked["input_file_id"]].splitlines()
        self._plans[name] = self.plans.pop(0) if self.plans else Plan()
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "completion_window": "24h",
            "created_at": len(self.batches) + 1,
            "status": "validating",
            "metadata": asked.get("metadata") if self.keeps_metadata else None,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }
        return 200, json.dumps(self.batches[name]).encode()

    def _list(self, query: Mapping[str, list[str]]) -> tuple[int, bytes]:
        names = [name for name in reversed(self.batches) if name not in self.gone]
        begin = names.index(query["after"][0]) + 1 if "after" in query else 0
        # Pages are small, so that tests need more than one.
        page = names[begin : begin + 2]
        rows = [self.batches[name] for name in page]
        more = begin + len(page) < len(names)
        return 200, json.dumps({"object": "list", "data": rows, "has_more": more}).encode()

    def _cancel(self, name: str) -> tuple[int, bytes]:
        batch = self.batches[name]
        if batch["status"] not in ("validating", "in_progress", "finalizing"):
            return _error(409, f"a batch that is {batch['status']} cannot be cancelled")
        batch["status"] = "cancelling"
        return 200, json.dumps(batch).encode()

    def _go_on(self, name: str) -> None:
        batch, plan = self.batches[name], self._plans[name]
        lines = self.files[batch["input_file_id"]].splitlines()
        if batch["status"] == "validating" and (plan.fails or len(lines) > self.most):
            reason = {"code": plan.fails or "too_many", "message": "it cannot be taken", "line": None}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [reason]}}
        elif batch["status"] == "cancelling":
            self._make(batch, lines, len(lines) // 2, "batch_cancelled")
            batch["status"] = "cancelled"
        elif batch["status"] in self.states[:-1] and not (plan.stuck and batch["status"] == "in_progress"):
            if batch["status"] == "in_progress" and plan.expires_after is not None:
                self._make(batch, lines, plan.expires_after, "batch_expired")
                batch["status"] = "expired"
                return
            batch["status"] = self.states[self.states.index(batch["status"]) + 1]
            if batch["status"] == "completed":
                self._make(batch, lines, len(lines), "", plan.broken)

    def _make(self, batch: dict[str, Any], lines: list[bytes], number: int, code: str, broken: int = 0) -> None:
        """Make the first `number` calls of a file, and report the rest as not made."""
        output, errors = [], []
        for at, line in enumerate(lines):
            call = json.loads(line)
            row: dict[str, Any] = {"id": f"batch_req_{at}", "custom_id": call["custom_id"]}
            if at >= number:
                errors.append(row | {"response": None, "error": {"code": code, "message": "it was never made"}})
                continue
            self.made[call["custom_id"]] += 1
            status, content = self.answer(call["body"], call["url"])
            answered = row | {"response": {"status_code": status, "body": json.loads(content)}, "error": None}
            (output if status == 200 else errors).append(answered)
            usage = json.loads(content).get("usage") or {}
            self.tokens[0] += usage.get("prompt_tokens", 0)
            self.tokens[1] += usage.get("completion_tokens", 0)
        # Servers may return the calls in any order.
        for kind, rows in (("output", output[::-1]), ("error", errors)):
            if rows:
                name = f"file-{len(self.files) + 1}"
                written = [json.dumps(row) for row in rows]
                if kind == "output":
                    written[:broken] = [row[: len(row) // 2] for row in written[:broken]]
                self.files[name] = ("\n".join(written) + "\n").encode()
                batch[f"{kind}_file_id"] = name
        batch["request_counts"] |= {"completed": len(output), "failed": len(errors)}


def _error(status: int, message: str) -> tuple[int, bytes]:
    return status, json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
