package main

import "strings"

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

// call returns an operation as a use of the client's tool.
func (d dialect) call(o Op) toolCall {
	path := project + "/" + o.File
	switch d {
	case claude:
		switch o.Do {
		case read:
			return toolCall{"Read", object{"file_path": path}}
		case edit:
			return toolCall{"Edit", object{"file_path": path, "old_string": o.Old, "new_string": o.New}}
		case write:
			return toolCall{"Write", object{"file_path": path, "content": o.New}}
		case help:
			return toolCall{"Agent", object{"description": "Look around", "prompt": o.New, "subagent_type": "general-purpose",
				"run_in_background": false}}
		}
		return toolCall{"Bash", object{"command": o.command(), "description": "Run it"}}
	case pi:
		switch o.Do {
		case read:
			return toolCall{"read", object{"path": path}}
		case edit:
			return toolCall{"edit", object{"path": path, "edits": []any{object{"oldText": o.Old, "newText": o.New}}}}
		case write:
			return toolCall{"write", object{"path": path, "content": o.New}}
		}
		return toolCall{"bash", object{"command": o.command()}}
	case opencode:
		switch o.Do {
		case read:
			return toolCall{"read", object{"filePath": path}}
		case edit:
			return toolCall{"edit", object{"filePath": path, "oldString": o.Old, "newString": o.New}}
		case write:
			return toolCall{"write", object{"filePath": path, "content": o.New}}
		}
		return toolCall{"bash", object{"command": o.command(), "description": "Run it"}}
	case qwen:
		switch o.Do {
		case read:
			return toolCall{"read_file", object{"file_path": path}}
		case edit:
			return toolCall{"edit", object{"file_path": path, "old_string": o.Old, "new_string": o.New}}
		case write:
			return toolCall{"write_file", object{"file_path": path, "content": o.New}}
		}
		return toolCall{"run_shell_command", object{"command": o.command(), "is_background": false, "description": "Run it"}}
	case kimi:
		switch o.Do {
		case read:
			return toolCall{"Read", object{"path": path}}
		case edit:
			return toolCall{"Edit", object{"path": path, "old_string": o.Old, "new_string": o.New}}
		case write:
			return toolCall{"Write", object{"path": path, "content": o.New}}
		}
		return toolCall{"Bash", object{"command": o.command()}}
	case copilot:
		switch o.Do {
		case read:
			return toolCall{"view", object{"path": path}}
		case edit:
			return toolCall{"edit", object{"path": path, "old_str": o.Old, "new_str": o.New}}
		case write:
			return toolCall{"create", object{"path": path, "file_text": o.New}}
		}
		return toolCall{"bash", object{"command": o.command(), "description": "Run it"}}
	}
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
