package traces

import (
	"strings"

	"github.com/compactsim/compactsim/traces/signs"
)

// Named returns the name of a kind at an index of Session.Tools; "" if it is none of that kind.
func (s *Session) Named(k signs.NameKind, at uint16) string {
	if int(at) >= len(s.Tools) {
		return ""
	}
	name, ok := strings.CutPrefix(s.Tools[at], string(k)+" ")
	if !ok {
		return ""
	}
	return name
}

// Person returns who a session ran for: the folder in which the system keeps the home of the project's owner, such as
// /Users/ada, /home/ada or C:\Users\ada; "" where the project does not lie in a home.
func (s *Session) Person() string {
	path := strings.ReplaceAll(s.Project, `\`, "/")
	drive := ""
	if len(path) > 2 && path[1] == ':' && path[2] == '/' {
		drive, path = path[:2], path[2:]
	}
	for _, homes := range []string{"/Users/", "/home/", "/var/home/"} {
		if len(path) > len(homes) && strings.EqualFold(path[:len(homes)], homes) {
			name, _, _ := strings.Cut(path[len(homes):], "/")
			return s.Project[:len(drive)+len(homes)+len(name)]
		}
	}
	if path == "/root" || strings.HasPrefix(path, "/root/") {
		return "/root"
	}
	return ""
}
