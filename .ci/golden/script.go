package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A script runs the commands of a test script, a txtar archive. It judges nothing:
// what the script expects is left to the tests, here counts only what came out.
type script struct {
	ctx   context.Context
	dir   string
	env   []string
	stdin []byte

	last              [2][]byte // what the last command printed, for cp stdout
	exits, data, text bytes.Buffer
	cpu               time.Duration
}

// run runs a script and returns the files that it was given.
func (s *script) run(path string) (given map[string]string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	commands, given := unpack(string(text))
	for name, data := range given {
		file := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			return nil, err
		}
	}
	for line := range strings.Lines(commands) {
		args := s.fields(line)
		for len(args) > 0 && (args[0] == "!" || strings.HasPrefix(args[0], "[")) {
			args = args[1:]
		}
		if len(args) == 0 || strings.HasPrefix(args[0], "#") {
			continue
		}
		if err := s.command(args); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, strings.TrimSpace(line), err)
		}
	}
	return given, nil
}

func (s *script) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

func (s *script) command(args []string) error {
	switch args[0] {
	case "exec":
		return s.exec(args[1:])
	case "env":
		for _, e := range args[1:] {
			s.env = append(s.env, e)
		}
	case "cd":
		s.dir = s.path(args[1])
	case "mkdir":
		return os.MkdirAll(s.path(args[1]), 0o755)
	case "rm":
		return os.RemoveAll(s.path(args[1]))
	case "symlink":
		return os.Symlink(args[3], s.path(args[1]))
	case "stdin":
		data, err := os.ReadFile(s.path(args[1]))
		s.stdin = data
		return err
	case "cp":
		var data []byte
		var err error
		switch args[1] {
		case "stdout":
			data = s.last[0]
		case "stderr":
			data = s.last[1]
		default:
			data, err = os.ReadFile(s.path(args[1]))
		}
		if err != nil {
			return err
		}
		to := s.path(args[2])
		if info, err := os.Stat(to); err == nil && info.IsDir() {
			to = filepath.Join(to, filepath.Base(args[1]))
		}
		return os.WriteFile(to, data, 0o644)
	case "stdout", "stderr", "grep", "cmp", "cmpenv", "exists":
	default:
		return fmt.Errorf("unknown command %s", args[0])
	}
	return nil
}

func (s *script) exec(args []string) error {
	path := args[0]
	if path == "sim" {
		for _, e := range s.env {
			if dirs, ok := strings.CutPrefix(e, "PATH="); ok {
				dir, _, _ := strings.Cut(dirs, ":")
				path = filepath.Join(dir, "sim")
			}
		}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(s.ctx, path, args[1:]...)
	cmd.Dir, cmd.Env = s.dir, append(slices.Clone(s.env), "PWD="+s.dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(s.stdin), &stdout, &stderr
	s.stdin = nil
	code, err := exitCode(cmd.Run())
	if err != nil {
		return err
	}
	s.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.last = [2][]byte{stdout.Bytes(), stderr.Bytes()}
	head := "$ " + strings.Join(args, " ") + "\n"
	fmt.Fprintf(&s.exits, "%s[exit %d]\n", head, code)
	out := &s.text
	if slices.ContainsFunc(args, isData) {
		s.data.WriteString(head)
		out = &s.data
	}
	s.text.WriteString(head)
	out.Write(stdout.Bytes())
	if stderr.Len() > 0 {
		fmt.Fprintf(&s.text, "[stderr]\n%s", stderr.Bytes())
	}
	return nil
}

func isData(arg string) bool {
	arg = strings.TrimPrefix(arg, "--format=")
	return arg == "json" || arg == "csv" || arg == "benchfmt"
}

// fields splits a line as testscript does: quotes are single, and outside them
// $NAME is replaced.
func (s *script) fields(line string) []string {
	getenv := func(name string) string {
		for _, e := range slices.Backward(s.env) {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
	var args []string
	var word, bare strings.Builder
	in, quoted := false, false
	flush := func() {
		word.WriteString(os.Expand(bare.String(), getenv))
		bare.Reset()
	}
	end := func() {
		flush()
		if in {
			args = append(args, word.String())
		}
		word.Reset()
		in = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'' && quoted && i+1 < len(line) && line[i+1] == '\'':
			word.WriteByte(c)
			i++
		case c == '\'':
			flush()
			quoted, in = !quoted, true
		case quoted:
			word.WriteByte(c)
		case c == ' ' || c == '\t' || c == '\n':
			end()
		case c == '#' && !in:
			return args
		default:
			bare.WriteByte(c)
			in = true
		}
	}
	end()
	return args
}

// unpack splits a txtar archive into its comment and its files.
func unpack(text string) (comment string, files map[string]string) {
	files = map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		rest, begins := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if file, ends := strings.CutSuffix(rest, " --"); begins && ends {
			name = file
			files[name] = ""
			continue
		}
		if name == "" {
			comment += line
		} else {
			files[name] += line
		}
	}
	return comment, files
}
