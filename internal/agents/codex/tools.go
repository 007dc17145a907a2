package codex

import (
	"bytes"

	"github.com/compactsim/compactsim/sim/prompt"
)

// opOf returns what a tool of Codex does to its object.
func opOf(name string) prompt.Op {
	switch name {
	case "read_file", "view_image":
		return prompt.OpRead
	case "apply_patch":
		return prompt.OpEdit
	case "exec_command", "exec", "write_stdin", "shell", "shell_command", "local_shell", "container.exec", "unified_exec", "wait":
		return prompt.OpExec
	case "grep_files", "list_dir", "tool_search":
		return prompt.OpSearch
	case "web_search":
		return prompt.OpFetch
	case "spawn_agent":
		return prompt.OpAgent
	}
	return prompt.OpNone
}

// patched returns the first file a patch touches, or "".
func patched(patch []byte) string {
	for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
		if _, after, ok := bytes.Cut(patch, []byte(head)); ok {
			path, _, _ := bytes.Cut(after, []byte("\n"))
			return string(bytes.TrimSpace(path))
		}
	}
	return ""
}

// failed reports whether a tool's output tells of an exit code that is not 0,
// in its first lines as the client writes it.
func failed(out []byte) bool {
	const headBytes = 200
	head := out[:min(len(out), headBytes)]
	for _, mark := range []string{"Process exited with code ", "Exit code: "} {
		if _, after, ok := bytes.Cut(head, []byte(mark)); ok {
			code, _, _ := bytes.Cut(after, []byte("\n"))
			return !bytes.Equal(bytes.TrimSpace(code), []byte("0"))
		}
	}
	return false
}
