package agents

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces"
)

func unreadOpenCode() *traces.Agent {
	a := *list0()
	a.Name, a.Title, a.Document, a.Places = traces.AgentOpenCode, "OpenCode", exported, func(h *traces.Home) {
		data := h.XDG("XDG_DATA_HOME", ".local", "share")
		h.Add(traces.Place{Agent: traces.AgentOpenCode, Flat: true, Suffixes: []string{".db"}}, data, "opencode")
		h.Add(traces.Place{Agent: traces.AgentOpenCode, Suffixes: []string{".json"}}, data, "opencode", "storage", "session")
	}
	return &a
}

func unreadPi() *traces.Agent {
	a := *list0()
	a.Name, a.Title, a.Places = traces.AgentPi, "pi", func(h *traces.Home) {
		h.Add(traces.Place{Agent: traces.AgentPi}, h.From("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions")
	}
	a.Member = func(typ, name string) bool {
		return typ == "session" && (name == "cwd" || name == "modelId" || name == "thinkingLevel")
	}
	return &a
}

func list0() *traces.Agent {
	return &traces.Agent{
		Cache:         func(string) traces.Cache { return traces.CacheMarked },
		CompactsAt:    func(_ string, window, _ int64) int64 { return window },
		SummaryShares: func(string) bool { return false },
	}
}

// exported reports whether a file is an export of OpenCode: one JSON object that
// begins with the session's info, whose id has a prefix of its own.
func exported(head []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(head))
	for _, want := range []string{"{", "info", "{", "id"} {
		if t, err := d.ReadToken(); err != nil || t.String() != want {
			return false
		}
	}
	t, err := d.ReadToken()
	return err == nil && bytes.HasPrefix([]byte(t.String()), []byte("ses_"))
}
