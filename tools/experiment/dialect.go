package main

import (
	"maps"
	"strings"
)

// A dialect is the tools of a client.
type dialect string

const (
	claude   dialect = "claude"
	codex    dialect = "codex"
	pi       dialect = "pi"
	opencode dialect = "opencode"
	qwen     dialect = "qwen"
	kimi     dialect = "kimi"
	copilot  dialect = "copilot"
)

// home and project are where an agent lives in every run.
const (
	home    = "/home/dev"
	project = home + "/project"
)

// command returns the shell command of an operation.
func (o Op) command() string {
	switch o.Do {
	case check:
		return "./check " + o.File
	case find:
		return "grep -rnw " + o.New + " src lib docs | head -25"
	}
	return "cat " + o.File
}

type object = map[string]any

// tools are the names of a client's tools and of their arguments.
type tools struct {
	read, edit, write, shell string
	path, from, to, content  string // of a file, of a text and what takes its place, and of what is written
	beside                   object // what a command is given besides, nil for nothing
}

// toolsOf is by client; Codex patches files.
var toolsOf = map[dialect]tools{
	claude:   {"Read", "Edit", "Write", "Bash", "file_path", "old_string", "new_string", "content", object{"description": "Run it"}},
	pi:       {"read", "edit", "write", "bash", "path", "oldText", "newText", "content", nil},
	opencode: {"read", "edit", "write", "bash", "filePath", "oldString", "newString", "content", object{"description": "Run it"}},
	qwen: {"read_file", "edit", "write_file", "run_shell_command", "file_path", "old_string", "new_string", "content",
		object{"is_background": false, "description": "Run it"}},
	kimi:    {"Read", "Edit", "Write", "Bash", "path", "old_string", "new_string", "content", nil},
	copilot: {"view", "edit", "create", "bash", "path", "old_str", "new_str", "file_text", object{"description": "Run it"}},
}

// call returns an operation as a use of the client's tool.
func (d dialect) call(o Op) toolCall {
	t, known := toolsOf[d]
	if !known {
		return patch(o)
	}
	path := project + "/" + o.File
	switch change := (object{t.from: o.Old, t.to: o.New}); {
	case o.Do == read:
		return toolCall{t.read, object{t.path: path}}
	case o.Do == edit && d == pi:
		return toolCall{t.edit, object{t.path: path, "edits": []any{change}}}
	case o.Do == edit:
		change[t.path] = path
		return toolCall{t.edit, change}
	case o.Do == write:
		return toolCall{t.write, object{t.path: path, t.content: o.New}}
	case o.Do == help && d == claude:
		return toolCall{"Agent", object{"description": "Look around", "prompt": o.New, "subagent_type": "general-purpose",
			"run_in_background": false}}
	}
	command := object{"command": o.command()}
	maps.Copy(command, t.beside)
	return toolCall{t.shell, command}
}

// patch returns an operation as Codex does it.
func patch(o Op) toolCall {
	plus := "+" + strings.ReplaceAll(strings.TrimSuffix(o.New, "\n"), "\n", "\n+")
	switch o.Do {
	case edit:
		return toolCall{"apply_patch", "*** Begin Patch\n*** Update File: " + o.File + "\n@@\n-" + o.Old + "\n" + plus + "\n*** End Patch"}
	case write:
		return toolCall{"apply_patch", "*** Begin Patch\n*** Add File: " + o.File + "\n" + plus + "\n*** End Patch"}
	}
	return toolCall{"exec_command", object{"cmd": o.command()}}
}

// summary returns a summary in the form that the client asks for.
func (d dialect) summary(text string) string {
	tag := map[dialect]string{claude: "summary", qwen: "state_snapshot"}[d]
	if tag == "" {
		return text
	}
	return "<analysis>\n" + text[:len(text)/3] + "\n</analysis>\n<" + tag + ">\n" + text + "</" + tag + ">"
}
