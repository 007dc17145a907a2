// Package miniswe reads the trajectories of mini-swe-agent: one JSON document per run, of the messages that it sent. A message of
// the model has the response beside it, or is one, with the token counts as the provider or LiteLLM gave them; a response in which
// the agent found no command stands beside the message that says so.
//
// Tools are in no trajectory, so all of the first call that no message shows counts as these. Nothing is ever compacted.
package miniswe

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.MiniSWE

// Describe returns what the rest of the program needs to know about mini-swe-agent 2.4.6, which marks the last message.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "mini-swe-agent", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1,
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent, Suffixes: []string{".traj.json"}, Flat: true}, h.From("MSWEA_GLOBAL_CONFIG_DIR", ".config", "mini-swe-agent"))
		},
	}, 100, 0)
}

// document reports whether a file is a trajectory.
func document(head []byte) bool {
	names := assembly.Names(head, 3)
	return names["info.model_stats.instance_cost"] && names["info.model_stats.api_calls"]
}

// file is one file.
type file struct {
	*assembly.Part
	calls int // with a response
}

// info is what a trajectory says of the run.
type info struct {
	Stats struct {
		USD   float64        `json:"instance_cost"`
		Calls assembly.Count `json:"api_calls"`
	} `json:"model_stats"`
	Version string `json:"mini_version"`
	Config  struct {
		Environment struct {
			Folder string `json:"cwd"`
		} `json:"environment"`
	} `json:"config"`
}

// message is what the agent puts beside a message.
type message struct {
	Role   string         `json:"role"`
	Object string         `json:"object"` // of a message that is a response itself
	Output jsontext.Value `json:"output"`
	Extra  struct {
		Response jsontext.Value `json:"response"`
		Time     jsontext.Value `json:"timestamp"` // unix seconds
	} `json:"extra"`
}

var errNoMessages = errors.New("file is no trajectory: it has no messages")

// scan reads one file. What precedes a defect is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := newFile(assembly.NewFile(in.Name, opts))
	return f, f.ReadDocument(ctx, opts, in, f.document)
}

func newFile(f *assembly.File) *file {
	p := assembly.NewPart(f)
	p.ID = f.Stem()
	return &file{Part: p}
}

// document reads a trajectory.
func (f *file) document(text []byte) error {
	var about info
	bad := assembly.EachOf(text, "messages", func(name string, v []byte) error {
		if name == "info" {
			return assembly.Decode(v, &about)
		}
		return nil
	}, func(v []byte, line int) error {
		var m message
		err := assembly.Decode(v, &m)
		if err == nil {
			err = f.message(v, line, &m)
		}
		if err != nil {
			return f.Refuse(line, fmt.Errorf("message: %w", err))
		}
		return nil
	})
	f.Version, f.Project = about.Version, about.Config.Environment.Folder
	f.USD = f.Cost(1, about.Stats.USD)
	if bad == nil && f.Len() == 0 {
		return errNoMessages
	}
	switch n := about.Stats.Calls.N - int64(f.calls); {
	case bad != nil || !about.Stats.Calls.Logged:
	case n > 0:
		f.Lacks(int(min(n, assembly.MaxTokens)), 0, "the agent made %s in no message; not in the bill", numbers.Counted(n, "call whose response is", "calls whose responses are"))
	case n < 0:
		bad = f.Refuse(0, fmt.Errorf("%s here, of which the agent counts %d: some are here twice, or are another run's", numbers.Counted(f.calls, "response is", "responses are"), about.Stats.Calls.N))
	}
	return bad
}

// message adds a message of the conversation.
func (f *file) message(raw []byte, line int, m *message) error {
	counts, time := m.Extra.Response, m.Extra.Time
	if m.Object == "response" {
		counts = raw
	}
	var response *assembly.Response
	if counts.Kind() == '{' {
		response = f.Response(counts)
		f.calls++
		if len(time) == 0 { // of a response without a command
			time = response.Created
		}
	}
	at := f.Moment(line, time)
	if at != 0 && f.Start == 0 {
		f.begin(at)
	}
	f.At(at)
	said, err := f.Maker.Message(raw)
	switch {
	case err != nil:
		return err
	case m.Object == "response":
		said.Assistant, said.Blocks = true, response.Reply()
	case m.Role == "exit" && response == nil: // how the run ended; nothing is sent any more
		return nil
	}
	var steps []assembly.Step
	if response != nil {
		reply := assembly.Step{Kind: assembly.StepReply, At: at, Line: int32(line), ID: response.ID, Blocks: said.Blocks}
		if !said.Assistant {
			reply.Blocks = response.Reply()
		}
		u := response.Usage()
		steps = append(steps, reply, assembly.Step{Kind: assembly.StepCount, At: at, Line: int32(line), Model: response.Served(), Usage: u, Final: u.OK})
	} else if said.Assistant {
		steps = append(steps, assembly.Step{Kind: assembly.StepReply, At: at, Line: int32(line), Blocks: said.Blocks})
		f.Bare(line)
	}
	if !said.Assistant && m.Role != "system" && m.Role != "exit" {
		input := assembly.Step{Kind: assembly.StepInput, At: at, Line: int32(line), Blocks: said.Blocks}
		if len(said.Blocks) > 0 && said.Blocks[0].Kind == prompt.KindToolResult {
			input.Kind = assembly.StepResult
		}
		steps = append(steps, input)
	}
	f.Add(f.Len()-1, steps)
	return nil
}

// begin gives the messages that open a run, which have no time, the time of the first one that has: they are sent just ahead of it.
func (f *file) begin(at int64) {
	for i := range f.Len() {
		steps := f.Steps(i)
		for n := range steps {
			steps[n].At = at
		}
		f.Set(i, steps)
	}
}

// texts reads the texts of a document again.
func texts(text []byte) []traces.Text {
	f := newFile(assembly.Again())
	_ = f.document(text) // as far as it is readable
	return f.Texts()
}

// sessions makes one session of every file.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	return assembly.Families(Agent, opts, files)
}
