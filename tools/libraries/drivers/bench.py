"""What all drivers in Python share: the scripted model, its tool, and the log of what a library sends. Standard library only.

A driver is started as DRIVER.py SCRIPT OUT PRESET. SCRIPT is one conversation as JSON. OUT gets a line for each request: its kind (main, or
side for a call of the library's own), system prompt and messages, each with role, text, calls ([id, name, arguments]) and the call that a result
is for, and the tokens of the response.
"""
import json, os, sys

SCRIPT, OUT, PRESET = sys.argv[1:4]
talk = json.load(open(SCRIPT))
SYSTEM, PROMPTS = talk["system"], [p["text"] for p in talk["prompts"]]
STEPS = [s for p in talk["prompts"] for s in p["rounds"] + [{"say": p["answer"], "calls": []}]]
FAILS = {c["args"]["path"] for s in STEPS for c in s["calls"] if c.get("fails")}
RESUMES = talk.get("resumes")  # each prompt begins with an agent that is made anew from what it stored
RESULTS = {c["args"]["path"]: c["result"] for s in STEPS for c in s["calls"]}
WINDOW = 200_000  # tokens
TOOLS = 500  # tokens of the tool's description and of what is around it
log = open(OUT, "w")
step = refused = 0


class TooLong(Exception):
    """the model refuses a request above its window"""


TOO_LONG = TooLong  # a driver names the library's own exception here


def write(kind, messages, system, tools, output):
    log.write(json.dumps({"kind": kind, "system": system or "", "tools": tools, "messages": messages, "output": output}) + "\n")
    log.flush()


def size(message):
    """tokens of a message as the bench counts them: a quarter of the characters"""
    return len(message.get("text") or "") // 4 + sum(len(c[2]) // 4 for c in message.get("calls") or [])


def tokens(messages, system=None, tools=TOOLS):
    """tokens of messages, and of a system prompt with the tools"""
    return sum(map(size, messages)) + (len(system) // 4 + tools if system else 0)


def main(messages, system, tools=TOOLS):
    """logs a request of the conversation and returns the scripted answer: say, and calls, each with id, name and args"""
    global step
    refuse(tokens(messages, system, tools))
    step += 1
    s = STEPS[step - 1]
    write("main", messages, system, tools, len(s["say"]) // 4 + sum(len(json.dumps(c["args"])) // 4 for c in s["calls"]))
    return s


def side(messages, system, size=None):
    """logs a call of the library's own and returns a text of so many tokens, of the size of a summary if none is given"""
    refuse(tokens(messages, system, 0))
    size = size or talk["summary"]
    write("side", messages, system, 0, size)
    return fill(size, f"summary {step}")


def refuse(n):
    """refuses a request above the window, and stops who repeats it"""
    global refused
    refused = refused + 1 if n > WINDOW else 0
    if refused:
        log.write(json.dumps({"kind": "refused"}) + "\n")
        log.flush()
        if refused == 30:
            os._exit(1)
        raise TOO_LONG(f"prompt is too long: {n} tokens > {WINDOW} maximum")


def fill(size, tag):
    return ((tag + " abcdefgh 12345678 lorem ipsum\n") * (size // 4 + 1))[: size * 4]


class Fault(Exception):
    """what the tool raises"""


def look(path):
    if path in FAILS:
        raise Fault(RESULTS[path])
    return RESULTS[path]
