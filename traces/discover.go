package traces

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Place is a folder where an agent usually keeps its sessions.
type Place struct {
	Agent string // as in Session.Agent
	Dir   string
	// flat: the files lie in Dir itself. Other folders of an agent, which may
	// be large or private, are not looked into.
	flat     bool
	suffixes []string // of the files that hold sessions
}

// Names of the agents whose places are known, as in Session.Agent.
const (
	AgentClaudeCode = "claude-code"
	AgentCodex      = "codex"
	AgentOpenCode   = "opencode"
	AgentPi         = "pi"
)

// Places returns where agents usually keep their sessions, under a home folder
// and an environment such as os.Getenv. What an agent's own variable says takes
// the place of its usual folders: CLAUDE_CONFIG_DIR, CODEX_HOME and
// PI_CODING_AGENT_DIR; XDG_CONFIG_HOME and XDG_DATA_HOME move what lies under
// ~/.config and ~/.local/share. Without a home only places from variables are
// known.
func Places(home string, getenv func(string) string) []Place {
	f := placeFinder{home: home, getenv: getenv}
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		f.add(AgentClaudeCode, dir, "projects")
	} else {
		f.add(AgentClaudeCode, f.under(".claude"), "projects")
		f.add(AgentClaudeCode, f.xdg("XDG_CONFIG_HOME", ".config"), "claude", "projects")
	}
	f.add(AgentCodex, f.from("CODEX_HOME", ".codex"), "sessions")
	// OpenCode keeps sessions in a database beside its logins, earlier ones in
	// a folder of files.
	data := f.xdg("XDG_DATA_HOME", ".local", "share")
	if f.add(AgentOpenCode, data, "opencode") {
		p := &f.list[len(f.list)-1]
		p.flat, p.suffixes = true, []string{".db"}
		f.add(AgentOpenCode, data, "opencode", "storage", "session")
		f.list[len(f.list)-1].suffixes = []string{".json"}
	}
	f.add(AgentPi, f.from("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions")
	return f.list
}

type placeFinder struct {
	home   string
	getenv func(string) string
	list   []Place
}

// add adds a place unless its base is unknown, and reports whether it did.
func (f *placeFinder) add(agent, base string, below ...string) bool {
	if base == "" {
		return false
	}
	dir := filepath.Join(append([]string{base}, below...)...)
	f.list = append(f.list, Place{Agent: agent, Dir: dir, suffixes: suffixes[:]})
	return true
}

func (f *placeFinder) under(below ...string) string {
	if f.home == "" {
		return ""
	}
	return filepath.Join(append([]string{f.home}, below...)...)
}

func (f *placeFinder) from(variable string, below ...string) string {
	if dir := f.getenv(variable); dir != "" {
		return dir
	}
	return f.under(below...)
}

// xdg is from for variables of the XDG Base Directory Specification, which says
// that relative paths are to be ignored.
func (f *placeFinder) xdg(variable string, below ...string) string {
	if dir := f.getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return f.under(below...)
}

// Stock is what lies at a place: files counted, none opened.
type Stock struct {
	Place
	Files  int
	Bytes  int64     // as stored
	Newest time.Time // latest modification
}

// Survey looks at places and returns those that hold files, each folder once.
// What cannot be looked at is passed over: nobody asked for it. The error is
// that of ctx.
func Survey(ctx context.Context, places []Place) ([]Stock, error) {
	var found []Stock
	seen := map[string]bool{}
	for _, p := range places {
		real, err := filepath.EvalSymlinks(p.Dir)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		s := Stock{Place: p}
		// The walk follows no links, unlike reading: it may only count less.
		err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return skipUnreadable(d)
			case d.IsDir():
				if p.flat && path != real {
					return fs.SkipDir
				}
				return nil
			}
			s.count(path, d)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s.Files > 0 {
			found = append(found, s)
		}
	}
	return found, nil
}

func skipUnreadable(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// count adds a file if its name says that it holds sessions.
func (s *Stock) count(path string, d fs.DirEntry) {
	if !endsIn(d.Name(), s.suffixes) {
		return
	}
	info, err := d.Info()
	if d.Type()&fs.ModeSymlink != 0 {
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	s.Files++
	s.Bytes += info.Size()
	if info.ModTime().After(s.Newest) {
		s.Newest = info.ModTime()
	}
}
