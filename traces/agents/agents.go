// Package agents reads the recordings of all coding agents and holds what is
// known about each. It is the entry for programs that read sessions:
//
//	corpus, err := agents.Read(ctx, traces.Options{}, "recordings")
//
// A new agent is a folder under traces/internal, which describes it and reads
// its files, and a line in the list below.
package agents

import (
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/atif"
	"github.com/compactsim/compactsim/traces/internal/claudecode"
	"github.com/compactsim/compactsim/traces/internal/cline"
	"github.com/compactsim/compactsim/traces/internal/codex"
	"github.com/compactsim/compactsim/traces/internal/copilot"
	"github.com/compactsim/compactsim/traces/internal/dsh"
	"github.com/compactsim/compactsim/traces/internal/gemini"
	"github.com/compactsim/compactsim/traces/internal/kimi"
	"github.com/compactsim/compactsim/traces/internal/opencode"
	"github.com/compactsim/compactsim/traces/internal/otel"
	"github.com/compactsim/compactsim/traces/internal/pi"
	"github.com/compactsim/compactsim/traces/internal/qwen"
	"github.com/compactsim/compactsim/traces/internal/reqlog"
)

// list are the built-in agents. The first stands for unknown agents, and its reader
// says what is wrong with a file that no agent claims.
var list = [...]*facts.Agent{
	claudecode.Describe(), codex.Describe(), opencode.Describe(), pi.Describe(),
	gemini.Describe(), copilot.Describe(), dsh.Describe(), cline.Describe(), kimi.Describe(), qwen.Describe(),
	otel.Describe(), reqlog.Describe(), atif.Describe(),
}

// Of returns the agent with a name, as in Session.Agent. An unknown agent is
// taken to behave like Claude Code.
func Of(name string) *facts.Agent {
	for _, a := range list {
		if a.Name == name {
			return a
		}
	}
	return list[0]
}

// Readable reports whether recordings at a place can be read.
func Readable(p facts.Place) bool { return Of(p.Agent).Read != nil && !p.Unread }

// unnamed is what readers call the model of a call that names none.
const unnamed = "unknown"

// CacheOf returns the kind of cache that calls of a session to a model go to: an agent may go from one provider's model to
// another's. Without a name it is the kind of the session's first call that names its model.
func CacheOf(s *traces.Session, model string) facts.Cache {
	if model == "" || model == unnamed {
		anyRound(s, func(r *traces.Round) bool {
			if int(r.Model) < len(s.Models) {
				model = s.Models[r.Model]
			}
			return model != unnamed
		})
	}
	return Of(s.Agent).Cache(model)
}

// Automatic reports whether the calls of a session go to a cache that needs no
// markers and bills no writes.
func Automatic(s *traces.Session) bool { return CacheOf(s, "") == facts.CacheAutomatic }

// anyRound reports whether a call of a session is as asked for.
func anyRound(s *traces.Session, is func(r *traces.Round) bool) bool {
	for i := range s.Threads {
		rounds := s.Threads[i].Rounds
		for r := range rounds {
			if is(&rounds[r]) {
				return true
			}
		}
	}
	return false
}

// leastPlain is the least uncached input of a call, tokens, that a client which marks it would
// have had written: the largest minimum of a cache that needs markers.
const leastPlain = 4096

// Unwritten reports whether the calls of a session go to a cache that needs markers through
// somebody who bills writes as plain input, such as GitHub Copilot: they read from the cache,
// bill large inputs, and write nothing.
func Unwritten(s *traces.Session) bool {
	read, plain := false, false
	return !anyRound(s, func(r *traces.Round) bool {
		if CacheOf(s, s.Models[r.Model]) == facts.CacheAutomatic {
			return false
		}
		read, plain = read || r.Usage.Read > 0, plain || r.Usage.Uncached >= leastPlain
		return r.Usage.Writes() > 0
	}) && read && plain
}

// Written reports whether the calls of a session go to a cache that works by itself, and their log
// states what they wrote to it, as OpenAI's responses do since GPT-5.6.
func Written(s *traces.Session) bool {
	return anyRound(s, func(r *traces.Round) bool {
		return r.Usage.Writes() > 0 && CacheOf(s, s.Models[r.Model]) == facts.CacheAutomatic
	})
}

// ClaudeCode reports whether a session has versions of Claude Code.
func ClaudeCode(s *traces.Session) bool { return Of(s.Agent).ClaudeCode }

// Places returns where agents usually keep their sessions, under a home folder
// and an environment such as os.Getenv. What an agent's own variable says takes
// the place of its usual folders; XDG_CONFIG_HOME and XDG_DATA_HOME move what
// lies under ~/.config and ~/.local/share. Without a home only places from
// variables are known.
func Places(home string, getenv func(string) string) []facts.Place {
	h := &facts.Home{Dir: home, Getenv: getenv}
	for _, a := range list {
		a.Places(h)
	}
	return h.Found
}
