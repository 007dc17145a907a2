// Package atif reads trajectories in the Agent Trajectory Interchange Format of
// Harbor, versions 1.0 to 1.8: one JSON document of steps, with sub-agents in the same
// document (1.7) or in others beside it.
//
// A step of the agent with metrics is one call, or several that are summed. Steps
// that were copied from another trajectory are not called again. The final metrics
// also count calls of others and calls that no step has; they are held against the
// steps, and never billed.
package atif

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.ATIF

// Describe returns what the rest of the program needs to know of agents that are only
// known by their trajectories: nothing but that they mark the last message for models of
// Anthropic and fill the window.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "ATIF trajectories", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1, Converted: true,
	}, 100, 0)
}

// document reports whether a file is one object that names a version of the format, or, as
// older ones, has a session, an agent and steps.
func document(head []byte) bool {
	names := assembly.Names(head, 1)
	return names["schema_version"] && bytes.Contains(head, []byte(`"ATIF-`)) || names["session_id"] && names["agent"] && names["steps"]
}

// file is one file.
type file struct {
	*assembly.Part
	sum     sums // of the steps, steps of sub-agents in the document included
	final   sums
	next    string // the file that continues the trajectory, "" for none
	resumed bool   // it continues another trajectory
	calls   []call
}

// call is a step with counts: an entry of a part, and what tells it from other steps of the session.
type call struct {
	of    *assembly.Part
	entry int32
	key   prompt.Digest
}

// trajectory is a trajectory while it is read: the file's, or the trajectory of a sub-agent in it.
type trajectory struct {
	*file
	part    *assembly.Part
	model   string
	said    int64 // tokens of all that was said, as estimated
	before  int64 // of what was said before the last call, 0 for none
	compact bool  // the next message is the summary of a compaction
}

// sums are the counts of a trajectory, tokens.
type sums struct{ prompt, cached, completion assembly.Count }

// add adds counts that are there.
func (s *sums) add(o sums) {
	for _, p := range [...]struct{ to, n *assembly.Count }{{&s.prompt, &o.prompt}, {&s.cached, &o.cached}, {&s.completion, &o.completion}} {
		p.to.N += max(0, p.n.N)
	}
}

var (
	errNoSteps  = errors.New("file is no trajectory: it has no steps")
	errNoSource = errors.New("it has no source")
)

// scan reads one file. What precedes a defect is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := &file{Part: assembly.NewPart(assembly.NewFile(in.Name, opts))}
	err := f.ReadDocument(ctx, opts, in, f.document)
	f.Speaks(f.Name)
	f.Speaks(f.next)
	for id := range f.Tasks {
		f.Speaks(id)
	}
	return f, err
}

// document reads a trajectory with the trajectories in it.
func (f *file) document(text []byte) error {
	bad := (&trajectory{file: f, part: f.Part}).read(text, 1, true)
	if bad == nil && f.Len() == 0 {
		return errNoSteps
	}
	return bad
}

// head is what a trajectory says of itself, beside its steps.
type head struct {
	Schema     string `json:"schema_version"`
	Session    string `json:"session_id"`
	Trajectory string `json:"trajectory_id"`
	Agent      struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Model   string `json:"model_name"`
		Extra   struct {
			Parent string `json:"parent_session_id"`
		} `json:"extra"`
	} `json:"agent"`
	Final struct {
		Prompt     assembly.Count `json:"total_prompt_tokens"`
		Cached     assembly.Count `json:"total_cached_tokens"`
		Completion assembly.Count `json:"total_completion_tokens"`
	} `json:"final_metrics"`
	Next string `json:"continued_trajectory_ref"`
}

// read reads a trajectory that begins on a line of the file.
func (t *trajectory) read(text []byte, line int, root bool) error {
	var h head
	var below jsontext.Value
	var steps [][]byte
	var lines []int
	// What the steps need precedes them in all recordings, but no standard says so.
	bad := assembly.EachOf(text, "steps", func(name string, v []byte) error {
		switch name {
		case "schema_version", "session_id", "trajectory_id", "agent", "final_metrics", "continued_trajectory_ref":
			if err := assembly.Decode([]byte(`{"`+name+`":`+string(v)+`}`), &h); err != nil {
				return t.Refuse(line, fmt.Errorf("%s: %w", name, err))
			}
		case "subagent_trajectories":
			below = v
		}
		return nil
	}, func(v []byte, at int) error {
		steps, lines = append(steps, v), append(lines, line-1+at)
		return nil
	})
	if v := strings.TrimPrefix(h.Schema, "ATIF-v"); root && version.AtLeast(v, 1, 9) {
		t.Problems.Add(t.Name, line, "%.40q is newer than ATIF-v1.8, as which it is read", h.Schema)
	}
	t.model = h.Agent.Model
	t.part.ID, t.part.Version = h.Session, strings.TrimSpace(h.Agent.Name+" "+h.Agent.Version)
	if root {
		t.final = sums{h.Final.Prompt, h.Final.Cached, h.Final.Completion}
		if t.part.Up = h.Agent.Extra.Parent; h.Next != "" {
			t.next = path.Join(path.Dir(t.Name), h.Next)
		}
	} else {
		t.part.ID = cmp.Or(h.Trajectory, h.Session)
	}
	ids := map[int64]bool{}
	for i, v := range steps {
		var s step
		err := assembly.Decode(v, &s)
		switch {
		case err != nil:
		case s.Source == "" && s.Role == "":
			err = errNoSource
		case s.ID.Logged && s.ID.N >= 0 && !s.Copied:
			if ids[s.ID.N] {
				err = fmt.Errorf("%d is here a second time; it counts once", s.ID.N)
			}
			ids[s.ID.N] = true
		}
		if err == nil {
			if t.step(lines[i], &s) && t.part.ID != "" {
				t.calls = append(t.calls, call{t.part, t.part.Len() - 1, prompt.DigestString(t.part.ID).Extend(prompt.DigestBytes(v))})
			}
		} else if err = t.Refuse(lines[i], fmt.Errorf("step: %w", err)); err != nil {
			bad = cmp.Or(bad, err)
			break
		}
	}
	if n := t.part.Len(); n > 0 { // results that hang on the last step went nowhere
		steps := t.part.Steps(n - 1)
		if k := len(steps); k > 1 && steps[k-1].Kind == assembly.StepResult {
			t.part.Set(n-1, steps[:k-1])
		}
	}
	s := jsonscan.New(below)
	for range s.Elements {
		raw := s.Raw()
		if raw == nil {
			break
		}
		sub := &trajectory{file: t.file, part: assembly.NewPart(t.File)}
		if sub.read(raw, line+bytes.Count(text[:max(0, bytes.Index(text, raw))], []byte("\n")), false) == nil {
			t.part.Below = append(t.part.Below, sub.part)
		}
	}
	return bad
}

// texts reads the texts of a document again.
func texts(text []byte) []traces.Text {
	f := &file{Part: assembly.NewPart(assembly.Again())}
	_ = f.document(text) // as far as it is readable
	return f.Texts()
}

// sessions makes one session of every trajectory that no other one started.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	for _, f := range files {
		for _, child := range files {
			if _, started := f.Tasks[child.ID]; started && child.Up == "" && child != f {
				child.Up = f.ID
			}
		}
	}
	uncopy(files)
	list := assembly.Families(Agent, opts, files)
	for _, s := range list {
		for _, f := range files {
			if len(s.Files) > 0 && s.Files[0] == f.File {
				f.compare(s, files)
			}
		}
	}
	return list
}

// uncopy takes the calls out of a file that a longer file of the session has, too: the file is a copy of a part of the trajectory.
func uncopy(files []*file) {
	had := map[prompt.Digest]*file{}
	longest := slices.SortedStableFunc(slices.Values(files), func(a, b *file) int { return len(b.calls) - len(a.calls) })
	for _, f := range longest {
		for _, c := range f.calls {
			if o := had[c.key]; o == nil {
				had[c.key] = f
			} else if o != f {
				steps := slices.DeleteFunc(c.of.Steps(c.entry), func(s assembly.Step) bool { return s.Kind == assembly.StepCount })
				steps[0].Kind = assembly.StepInput
				c.of.Set(c.entry, steps)
			}
		}
	}
}

// compare holds the final metrics of a trajectory against the steps that they may count: its own,
// steps of the sub-agents it started, and steps of the trajectory that it continues.
func (f *file) compare(s *assembly.Session, files []*file) {
	all := f.sum
	for _, o := range files {
		if _, started := f.Tasks[o.ID]; started || o.next == f.Name {
			all.add(o.sum)
		}
	}
	if !f.final.prompt.Logged {
		return
	}
	for _, of := range [...]*sums{&f.sum, &all} {
		if f.final.prompt.N != of.prompt.N {
			continue
		}
		if f.final.cached.Logged && f.final.cached.N != of.cached.N || f.final.completion.Logged && f.final.completion.N != of.completion.N {
			s.Problems.Add(f.Name, 0, "final_metrics count the input of the steps, but %d reads and %d of output, the steps %d and %d",
				f.final.cached.N, f.final.completion.N, of.cached.N, of.completion.N)
			s.Quality.Uncounted++
		}
		return
	}
	lost, less := max(0, f.final.prompt.N-all.prompt.N), max(0, f.sum.prompt.N-f.final.prompt.N)
	if f.final.completion.Logged {
		lost += max(0, f.final.completion.N-all.completion.N)
		less += max(0, f.sum.completion.N-f.final.completion.N)
	}
	if lost > 0 {
		s.Problems.Add(f.Name, 0, "final_metrics count %s more than the steps at hand: calls of other trajectories, or such as no step has; they are not in the bill",
			numbers.Counted(lost, "token", "tokens"))
		if !f.resumed {
			s.Quality.LostTokens += lost
		}
	}
	if less > 0 {
		s.Problems.Add(f.Name, 0, "final_metrics count %s than the steps", numbers.Counted(less, "fewer token", "fewer tokens"))
		s.Quality.Uncounted++
	}
}
