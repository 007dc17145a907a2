// Package copilot reads the event logs of GitHub's Copilot CLI: JSON lines of a
// type and data, one file per session with its sub-agents in it.
//
// A log has the output of every call and, where a session or a part of it was
// shut down, the input, reads and writes of all calls of a model since it began
// or was resumed. These are billed. Each call's share of the counts is estimated, and marked so.
// Calls that no shutdown follows have their output
// alone. The call that makes a summary has counts of its own.
package copilot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/signs"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Copilot

// Describe returns what the rest of the program needs to know about the Copilot CLI. It marks the last message for models of
// Anthropic (one marker is an assumption), compacts at 0.8 of the window as its documentation and recordings have it, and asks
// for a summary in a request of its own.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "GitHub Copilot CLI", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Markers: 1,
		Member: func(typ, name string) bool {
			return name == "data" && (typ == "session.start" || typ == "session.resume" || typ == "assistant.turn_start" || typ == "hook.start")
		},
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent, Suffixes: []string{".jsonl"}}, h.From("COPILOT_HOME", ".copilot"), "session-state")
		},
		// copilot-sdk docs/features/session-persistence.md @cc0438d
		Settings: assembly.ShareOfWindow("backgroundCompactionThreshold", "the configuration of a session of the Copilot SDK",
			`infiniteSessions: {enabled: true, backgroundCompactionThreshold: %s}`, "the command line alone offers no such setting",
			"0.2", "0.3", "0.4", "0.5", "0.6", "0.7"),
	}, 80, 0)
}

// file is one file.
type file struct {
	*assembly.File
	id, project, version string
	start, end           int64
	nano                 int64              // largest total of the session's own cost, 1e-11 USD
	static               int64              // tokens of tools and system prompt, by the client's count
	threads              map[string]*thread // by agent; "" is the main one
	order                []*thread
	open                 []call                    // that neither a record nor a shutdown has counted
	records              map[string]record         // of calls whose message has not been read
	recorded             map[string]assembly.Total // of counted calls since totals began, by model
	compacting           bool
	beside               []assembly.Block // what the main thread said since a compaction under way began
	lost                 int64            // tokens that shutdowns have and no call
	window               int64            // most tokens of a prompt, as the newest record has it
	counted, billed      int64            // contexts that compactions began with, as the client counts them and as their calls were billed
}

// thread is a conversation in a file.
type thread struct {
	*assembly.Rounds
	model   string         // the last one named
	calls   map[string]int // by the id of the API's call
	visible int64          // tokens of all that was said, as estimated
	told    int64          // of visible: up to the last response
	system  prompt.Digest  // of its system prompt
	verdict signs.Verdict  // of the next call
	parted  int32          // and of its system prompt, as traces.Round has it
}

// call is a call that waits for its share of a total.
type call struct {
	of     *assembly.Call
	thread *thread
	said   int64 // what was said before it, as estimated, tokens
	before int64 // the same of the call before, -1 for none
}

// event is one line.
type event struct {
	Type      string              `json:"type"`
	ID        string              `json:"id"`
	Parent    string              `json:"parentId"`
	Agent     string              `json:"agentId"`
	Timestamp string              `json:"timestamp"`
	Payload   assembly.Late[data] `json:"data"`
}

// eventOf reads a line, of which the result shares bytes.
func eventOf(text []byte) (e event, err error) {
	if err = assembly.Decode(text, &e); err == nil && e.Type == "" {
		err = errNoType
	}
	return e, err
}

// data returns what the event holds. Types that say nothing may hold anything.
func (e *event) data() (*data, error) {
	if strings.HasPrefix(e.Type, "hook.") || strings.HasPrefix(e.Type, "permission.") {
		return &data{}, nil
	}
	return e.Payload.Value()
}

// data holds the members of all types of event.
type data struct {
	Session     string         `json:"sessionId"`
	Version     string         `json:"copilotVersion"`
	Selected    string         `json:"selectedModel"`
	Form        jsontext.Value `json:"version"` // of the log, where a session starts
	Chosen      string         `json:"newModel"`
	Model       string         `json:"model"`
	ParentAgent string         `json:"parentToolCallId"` // as older versions name a sub-agent
	Context     struct {
		Cwd string `json:"cwd"`
	} `json:"context"`

	Message     string         `json:"messageId"`
	Call        string         `json:"apiCallId"`
	Content     string         `json:"content"`
	Transformed string         `json:"transformedContent"`
	Source      string         `json:"source"`
	Reasoning   string         `json:"reasoningText"`
	Output      assembly.Count `json:"outputTokens"`
	Requests    []struct {
		ID        string         `json:"toolCallId"`
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	} `json:"toolRequests"`

	Tool    string `json:"toolCallId"`
	Success *bool  `json:"success"`
	Result  *struct {
		Content string `json:"content"`
	} `json:"result"`
	Error jsontext.Value `json:"error"` // an object with a message, or a text

	Usage jsontext.Value `json:"usage"` // of a record

	Nano    assembly.Count     `json:"totalNanoAiu"`
	Metrics map[string]metrics `json:"modelMetrics"`
	Ledger  jsontext.Value     `json:"accountingSnapshot"` // there since 1.0.102, whose totals run on over resumes

	compaction
}

// compaction has the members of a compaction and of a truncation.
type compaction struct {
	System  int64  `json:"systemTokens"`
	Tools   int64  `json:"toolDefinitionsTokens"`
	Outcome string `json:"outcome"`
	Before  int64  `json:"preCompactionTokens"`
	Current int64  `json:"currentTokens"` // of the context with which one begins
	Summary string `json:"summaryContent"`
	Used    *used  `json:"compactionTokensUsed"`
	Removed int64  `json:"tokensRemovedDuringTruncation"`
}

var (
	errJoined   = errors.New("another session begins here: logs are joined in one file, and read as one session")
	errNoType   = errors.New("not an event of a session: it has no type")
	errNoParent = errors.New("event stands below an event that is not here: that is lost, or this one is of another session")
)

// scan reads one file.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := &file{File: assembly.NewFile(in.Name, opts), threads: map[string]*thread{}, recorded: map[string]assembly.Total{}}
	f.of("")
	return f, f.Read(ctx, opts, in, f.parse)
}

// of returns the thread of an agent.
func (f *file) of(agent string) *thread {
	t := f.threads[agent]
	if t == nil {
		of := assembly.Main()
		if agent != "" {
			of.ID, of.Kind, of.Starter = agent, traces.ThreadAgent, assembly.CallID(agent)
		}
		t = &thread{Rounds: assembly.NewRounds(of, f.File), calls: map[string]int{}}
		f.threads[agent], f.order = t, append(f.order, t)
	}
	t.Version, t.Project = f.version, f.project
	return t
}

// parse reads one line.
func (f *file) parse(ln assembly.Line) error {
	e, err := eventOf(ln.Text)
	if err != nil {
		return err
	}
	at := f.Stamp(ln.Number, []byte(e.Timestamp))
	if at != 0 {
		f.start, f.end = assembly.Earlier(f.start, at), max(f.end, at)
	}
	d, err := e.data()
	if err != nil {
		return fmt.Errorf("%s: %w", e.Type, err)
	}
	if at != 0 { // ids and times that were taken out together tell nothing apart
		if err := f.Once("event", e.ID); err != nil {
			return err
		}
		if e.Parent != "" && f.Lines > 1 && !f.Had(e.Parent) { // the first line of a log that was rotated stands below the one before it
			if err := f.Refuse(ln.Number, errNoParent); err != nil {
				return err
			}
		}
	}
	f.nano = max(f.nano, d.Nano.N)
	t := f.of(cmp.Or(e.Agent, d.ParentAgent))
	t.model = cmp.Or(d.Chosen, d.Selected, d.Model, t.model)
	if d.System > 0 {
		f.static = min(d.System+max(0, d.Tools), assembly.MaxTokens)
	}
	switch e.Type {
	case "session.start":
		f.Form(ln.Number, d.Form, "1")
		if f.id == "" {
			f.id, f.project, f.version = d.Session, d.Context.Cwd, d.Version
		} else if d.Session != "" && d.Session != f.id {
			return errJoined
		}
	case "system.message":
		if now := prompt.DigestString(d.Content); t.system != now { // resumed behind a compaction, whose checkpoint it names
			if !t.system.IsZero() {
				t.verdict, t.parted = signs.VerdictSystem, 1
			}
			t.system = now
		}
		if f.static == 0 { // until the client counts it
			f.static = f.Weigh(f.Maker.Text(prompt.KindSystem, d.Content))
		}
	case "session.usage_record":
		return f.record(d.Usage, e.Agent != "")
	case "session.shutdown":
		f.shutdown(ln.Number, d.Metrics, d.Ledger != nil)
	case "session.compaction_start":
		f.compacting, f.beside = true, nil
		if n := len(t.Calls); n > 0 && t.Calls[n-1].OK && d.Current > 0 {
			last := &t.Calls[n-1].Usage
			f.counted, f.billed = f.counted+d.Current, f.billed+last.Input()+last.Output+t.visible-t.told
		}
	case "session.compaction_complete":
		f.takeSummary(t, ln.Number, at, d)
	case "session.truncation":
		t.visible = max(0, t.visible-max(0, d.Removed))
	case "assistant.turn_start":
		t.Add(&assembly.Step{Kind: assembly.StepInput, At: at, Line: int32(ln.Number)})
	case "assistant.message":
		f.answer(t, ln.Number, at, d)
	case "user.message", "tool.execution_complete":
		kind, blocks := d.input(f.Maker, e.Type)
		f.say(t, blocks)
		t.Add(&assembly.Step{Kind: kind, At: at, Line: int32(ln.Number), Blocks: blocks})
	default:
		if kind, _, _ := strings.Cut(e.Type, "."); !slices.Contains(quiet, kind) {
			f.Unknown[e.Type]++
		}
		if d.Metrics != nil || d.Used != nil {
			return fmt.Errorf("%s: event has the token counts of another type", e.Type)
		}
	}
	return nil
}

// quiet are kinds of events that are known to say nothing to the model, beside those that are read.
var quiet = strings.Fields("session system hook permission tool subagent assistant abort skill command external_tool user_input elicitation")

// say notes what was said in a thread.
func (f *file) say(t *thread, blocks []assembly.Block) {
	t.visible += f.Weigh(blocks...)
	if f.compacting && t == f.threads[""] {
		f.beside = append(f.beside, blocks...)
	}
}

// answer takes a message of the model. One call may give several.
func (f *file) answer(t *thread, line int, at int64, d *data) {
	blocks := d.answer(f.Maker)
	id := cmp.Or(d.Call, d.Message)
	if i, ok := t.calls[id]; ok && id != "" {
		rd := &t.Calls[i]
		for k := range blocks {
			blocks[k].Line, blocks[k].Source = int32(line), f.File
		}
		rd.Reply, rd.Last = append(rd.Reply, blocks...), max(rd.Last, at)
		t.visible += max(0, d.Output.N-rd.Output)
		rd.Output = max(rd.Output, d.Output.N)
		return
	}
	said := t.visible
	f.say(t, blocks)
	u := assembly.Usage{Reasoning: -1, Told: true}
	if n := d.Output.N; n > 0 && n <= assembly.MaxTokens {
		u.Output, t.visible = n, said+n
	}
	t.Add(&assembly.Step{Kind: assembly.StepReply, At: at, Line: int32(line), ID: id, Blocks: blocks})
	t.Add(&assembly.Step{Kind: assembly.StepCount, At: at, Line: int32(line), Model: t.model, Gateway: "github-copilot", Usage: u, Final: u.Output > 0, Verdict: t.verdict, Parted: t.parted})
	t.verdict, t.parted, t.told = signs.VerdictNone, 0, t.visible
	i := len(t.Calls) - 1
	if id != "" {
		t.calls[id] = i
	}
	if r, ok := f.records[id]; ok && id != "" {
		delete(f.records, id)
		f.count(t.Calls[i].Call, &r)
		return
	}
	c := call{of: t.Calls[i].Call, thread: t, said: said, before: -1}
	for _, o := range f.open {
		if o.thread == t {
			c.before = o.said
		}
	}
	f.open = append(f.open, c)
}

// takeSummary takes a summary. It was made beside the conversation, whose messages since then stay.
func (f *file) takeSummary(t *thread, line int, at int64, d *data) {
	if d.Success != nil && !*d.Success {
		if d.Outcome == "cancelled" && d.Used == nil { // by the end of the process: the request was sent (1.0.102)
			f.Lacks(1, line, "a compaction was cancelled: the call that was writing its summary has no token counts; it is not in the bill")
		}
		f.compacting, f.beside = false, nil
		return
	}
	u, model := d.Used.usage(), t.model
	u.Bad = !u.OK
	if d.Used != nil {
		model = cmp.Or(d.Used.Model, model)
	}
	blocks := append(f.beside, f.Maker.Text(prompt.KindSummary, d.Summary))
	f.compacting, f.beside = false, nil
	t.visible = 0
	f.say(t, blocks)
	t.Add(&assembly.Step{
		Kind: assembly.StepCompact, At: at, Line: int32(line), Blocks: blocks, Usage: u, Model: model,
		Tokens: assembly.Within(d.Before),
	})
}

// sessions makes one session of every file.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	named := map[string]int{}
	var list []*assembly.Session
	for _, f := range files {
		if f.Lines == 0 {
			continue
		}
		if f.id == "" {
			f.id = f.Name
			f.Problems.Add(f.Name, 0, "no session.start; the session is named by its file")
		}
		f.Speaks(f.id)
		static := f.static
		s := f.Alone(opts, Agent, assembly.UniqueID(named, f.id), f.version)
		s.Static = func(string) int64 { return static }
		s.Project, s.Start, s.End, s.LoggedUSD, s.Window = f.project, f.start, f.end, float64(f.nano)/1e11, f.limit()
		for _, t := range f.order {
			loose := t.Done(f.id + "/" + t.ID)
			if t.Kind == traces.ThreadMain && len(t.Calls) > 0 {
				f.Loose(loose)
			}
			s.Threads = append(s.Threads, t.Thread)
		}
		s.Counted(opts)
		if n := len(f.open); n > 0 && s.Threads != nil {
			f.Problems.Add(f.Name, int(f.open[0].of.Line), "no shutdown counts the input of %s from here on; it is estimated, and only their output is in the bill", numbers.Counted(n, "call", "calls"))
		}
		s.Own(f.File)
		s.Quality.LostTokens = f.lost
		list = append(list, s)
	}
	return list
}

// limit returns the most tokens of a prompt, 0 for unknown: the client counts with a tokenizer of its own, so that by what its
// compactions began with and calls were billed its limit is another in tokens of the model.
func (f *file) limit() int64 {
	if f.counted == 0 {
		return f.window
	}
	return int64(float64(f.window) * float64(f.billed) / float64(f.counted))
}

// shutdown gives the calls since the last one their shares of its totals, which run on where they are of the whole session.
func (f *file) shutdown(line int, metrics map[string]metrics, whole bool) {
	of := map[string][]call{}
	for _, c := range f.open {
		if c.of.Model == "" && len(metrics) == 1 {
			c.of.Model = slices.Collect(maps.Keys(metrics))[0]
		}
		of[c.of.Model] = append(of[c.of.Model], c)
	}
	counted := map[*assembly.Call]bool{}
	for _, model := range slices.Sorted(maps.Keys(metrics)) {
		m := metrics[model]
		if m.Usage == nil {
			continue
		}
		var list []assembly.Portion
		for _, c := range of[model] {
			p := assembly.Portion{Of: &c.of.Usage, Context: f.static + c.said}
			if c.before >= 0 {
				p.Before = f.static + c.before
			}
			list = append(list, p)
		}
		all, err := m.Usage.total()
		if err == nil {
			r := f.recorded[model]
			if whole {
				f.recorded[model] = all
			}
			rest := assembly.Total{Input: all.Input - r.Input, Read: all.Read - r.Read, Write: all.Write - r.Write, Output: all.Output - r.Output}
			if err = rest.Spread(list); errors.Is(err, assembly.ErrNoCalls) {
				f.lost += rest.Input + rest.Output
			}
		}
		if err != nil {
			f.Lacks(1, line, "%s: the shutdown has %s", model, err)
			continue
		}
		for _, c := range of[model] {
			counted[c.of], c.of.Final = true, true
		}
	}
	f.open = slices.DeleteFunc(f.open, func(c call) bool { return counted[c.of] })
	if !whole {
		clear(f.recorded)
	}
}

var errTotals = errors.New("totals that lack some")
