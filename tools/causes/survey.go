package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// survey counts calls by the lines of the log between them, kept or not by the readers.
type survey struct {
	tallies profile.Tallies
}

// keptAs says what the readers keep of a line between two calls. A line is known by its name or by how the name begins; "" is for lines of
// which only the text is kept, as part of the prompt.
var keptAs = []struct{ name, kept string }{
	{"user", "content"}, {"assistant", "content"}, {"response_item", "content"}, {"event_msg token_count", "usage"},
	{"system stop_hook_summary", "end of turn"}, {"system turn_duration", "end of turn"}, {"system away_summary", "summary for a person"},
	{"system api_error", "`retry`"}, {"system compact_boundary", "compaction"}, {"system microcompact_boundary", "clearing"},
	{"attachment hook_additional_context PreToolUse", "`tool_hook`"}, {"attachment hook_additional_context PostToolUse", "`tool_hook`"},
	{"attachment hook_success SessionStart", "`process`, by its name"}, {"progress hook_progress SessionStart", "`process`, by its name"},
	{"attachment deferred_tools_delta", "`servers`"}, {"attachment mcp_instructions_delta", "`servers`"},
	{"attachment skill_listing", "`listing`"}, {"attachment agent_listing_delta", "`listing`"}, {"attachment plan_mode", "`plan_mode`"},
	{"attachment", "content"}, {"changed version", "`version`"}, {"changed entrypoint", "`process`"}, {"changed gitBranch", "`branch`"},
	{"changed permissionMode", "`plan_mode`, to and from plan"}, {"changed effort", "`effort`"}, {"turn_context", "model, effort"},
	{"session_meta", "`process`"}, {"progress agent_progress", "calls of the agent"},
}

// session counts the calls of a session whose log has a line for each event.
func (v *survey) session(c *traces.Corpus, t *calls.Table) error {
	agent := t.Session.Agent
	if agent != facts.ClaudeCode && agent != facts.Codex {
		return nil
	}
	files := map[string][][]byte{}
	for _, thread := range t.Threads {
		state := map[string]string{}
		for i := range thread {
			x := &thread[i]
			if i == 0 || x.Before == nil || x.File() == "" || x.File() != x.Before.File() {
				continue
			}
			lines, ok := files[x.File()]
			if !ok {
				var err error
				if lines, err = linesOf(c, x.Recorded.File, t.Session); err != nil {
					return err
				}
				files[x.File()] = lines
			}
			names := map[string]bool{}
			for n := x.Before.Recorded.Line; n <= x.Recorded.Line && int(n) <= len(lines); n++ {
				lineNames(lines[n-1], n == x.Recorded.Line, state, names)
			}
			if x.Comparable() {
				v.count(x, names)
			}
		}
	}
	return nil
}

func (v *survey) count(c *calls.Call, names map[string]bool) {
	if between := c.Between(); between == 0 || between == profile.Kinds(0).With(profile.KindPrompt) {
		tally(v.tallies, profile.Nothing, "", c, c.Fell())
	}
	for name := range names {
		tally(v.tallies, name, "", c, c.Fell())
	}
}

// linesOf returns the lines of a file of a session.
func linesOf(c *traces.Corpus, file uint16, s *traces.Session) ([][]byte, error) {
	in, ok := c.Input(s.Files[file])
	if !ok {
		return nil, nil
	}
	r, err := in.Open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.Files[file], err)
	}
	return bytes.Split(text, []byte("\n")), r.Close()
}

// lineNames adds what a line is, and what it says of the client that differs from the lines before it.
func lineNames(line []byte, last bool, state map[string]string, names map[string]bool) {
	var x struct {
		Type, Subtype, Version, Entrypoint, GitBranch, PermissionMode, Effort string
		Payload                                                               struct{ Type, Role, Effort string }
		Attachment                                                            struct{ Type, HookEvent string }
		Data                                                                  struct{ Type, HookEvent string }
	}
	var other *json.UnmarshalTypeError
	if err := json.Unmarshal(line, &x); err != nil && !errors.As(err, &other) {
		return
	}
	for name, now := range map[string]string{"version": x.Version, "entrypoint": x.Entrypoint, "gitBranch": x.GitBranch,
		"permissionMode": x.PermissionMode, "effort": x.Effort + x.Payload.Effort} {
		if now != "" {
			if before := state[name]; before != "" && before != now {
				names["changed "+name] = true
			}
			state[name] = now
		}
	}
	if !last {
		names[strings.Join(strings.Fields(strings.Join([]string{x.Type, x.Subtype, x.Payload.Type, x.Payload.Role,
			x.Attachment.Type, x.Attachment.HookEvent, x.Data.Type, x.Data.HookEvent}, " ")), " ")] = true
	}
}

// table shows what stands between calls, kept or dropped, with its lift.
func (v *survey) table() string {
	var b strings.Builder
	b.WriteString("Lines of logs between two calls:\n\n| line | agent | kept as | fell at prompts | fell elsewhere | lift |\n|---|---|---|---:|---:|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(v.tallies)) {
		for _, x := range v.tallies[name] {
			if n := x.Prompts[1] + x.Others[1]; n < 3 || name == profile.Nothing {
				continue
			}
			l := v.tallies.Named(name, x.Agent, "")
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s (%s–%s) |\n", name, x.Agent, kept(name), share(x.Prompts), share(x.Others),
				lift(l.Value), lift(l.Low), lift(l.High))
		}
	}
	return b.String() + "\n"
}

// kept says what the readers keep of a line.
func kept(name string) string {
	for _, k := range keptAs {
		if strings.HasPrefix(name, k.name) {
			return k.kept
		}
	}
	return "–"
}
