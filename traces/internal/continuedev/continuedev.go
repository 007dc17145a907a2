// Package continuedev reads the sessions of Continue's command line (cn): one JSON document per session, whose history holds
// messages, each of the model's with its counts and the results of the tools that it called.
//
// A compaction puts its summary in place of all messages, and their calls are in no message any more. The document has the sum of
// all its calls, the call that made the summary among them: what that sum has beyond the messages are calls that no line shows.
//
// Messages have no times. An index beside the sessions, sessions.json, has when each one began.
package continuedev

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Continue

// Describe returns what the rest of the program needs to know about Continue 1.5.47, which asks for a summary on the
// conversation's own prefix.
func Describe() *facts.Agent {
	a := assembly.Client(&facts.Agent{
		Name: Agent, Title: "Continue", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1, MarksPrompt: true,
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent, Suffixes: []string{".json"}}, h.From("CONTINUE_GLOBAL_DIR", ".continue"), "sessions")
		},
		SummaryShares: func(_, _ string) bool { return true },
	}, 100, 0)
	a.CompactsAt = func(_ string, l facts.Limits) int64 { return compactsAt(min(l.Window, window)) }
	return a
}

// window is what Continue takes for the window of a model whose settings say nothing else, tokens.
const window = 200_000

// compactsAt returns the tokens at which Continue compacts: what a window leaves behind the longest answer, which is 35 % of the
// window up to 64,000, and a buffer.
func compactsAt(window int64) int64 {
	answer := min(window*35/100, 64_000)
	return window - answer - min(max(answer, (window-answer)/5), 15_000)
}

// document reports whether a file is a session, or the index of sessions.
func document(head []byte) bool {
	names := assembly.Names(head, 1)
	return names["sessionId"] && names["workspaceDirectory"] && names["history"] || indexes(head)
}

// indexes reports whether a file is the index of sessions.
func indexes(head []byte) bool {
	head = bytes.TrimLeft(assembly.TrimBOM(head), " \t\r\n")
	return bytes.HasPrefix(head, []byte("[")) && bytes.Contains(head, []byte(`"sessionId"`)) && bytes.Contains(head, []byte(`"dateCreated"`))
}

// file is one file.
type file struct {
	*assembly.Part
	began map[string]int64 // of an index: when each session began, unix ns
	sum   sums             // of the counts of messages
	all   *sums            // of all calls, as the session states it
	model string           // of the last message of the model with counts
	tool  string           // id of the last call of a tool
	since int              // messages of the model since then
}

// sums are counts that are added up as they are logged.
type sums struct {
	Input   assembly.Count `json:"promptTokens"`
	Output  assembly.Count `json:"completionTokens"`
	Details struct {
		Read  assembly.Count `json:"cachedTokens"` // of providers that count reads and writes apart from the input
		Write assembly.Count `json:"cacheWriteTokens"`
	} `json:"promptTokensDetails"`
	USD float64 `json:"totalCost"`
}

// add adds the counts of a message.
func (s *sums) add(u *usage) {
	s.Input.N += max(0, u.Input.N)
	s.Output.N += max(0, u.Output.N)
	s.Details.Read.N += max(0, u.Details.Read.N)
	s.Details.Write.N += max(0, u.Details.Write.N)
}

// item is an item of a history.
type item struct {
	Message struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"` // a text, or parts
		Uses    []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string         `json:"name"`
				Arguments jsontext.Value `json:"arguments"`
			} `json:"function"`
		} `json:"toolCalls"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	Context []said `json:"contextItems"` // what a person added to a prompt
	Results []struct {
		Call   string `json:"toolCallId"`
		Status string `json:"status"`
		Output []said `json:"output"`
	} `json:"toolCallStates"`
	Summary jsontext.Value `json:"conversationSummary"`
}

// said is a text among the results of a tool, or that a person added.
type said struct {
	Content string `json:"content"`
}

// part is a part of a content.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image struct {
		URL string `json:"url"`
	} `json:"imageUrl"`
}

// usage are the counts of a call. Input holds the reads unless the provider counts these apart, and then they have a name of
// their own, too. Thoughts of Google's models are in the total alone.
type usage struct {
	Input   assembly.Count `json:"prompt_tokens"`
	Output  assembly.Count `json:"completion_tokens"`
	Total   assembly.Count `json:"total_tokens"`
	Details struct {
		Cached assembly.Count `json:"cached_tokens"`
		Read   assembly.Count `json:"cache_read_tokens"`
		Write  assembly.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Model string `json:"model"`
}

// counts splits the counts of a call into disjoint classes. Providers that count reads apart count writes, too, and none counts writes
// alone: where one of the two is missing the counts are unusable.
func (u *usage) counts() assembly.Usage {
	if u.Details.Read.Logged != u.Details.Write.Logged {
		return assembly.Usage{Reasoning: -1, Bad: true}
	}
	output := u.Output
	if said := u.Total.N - u.Input.N; said > output.N && output.N >= 0 && u.Input.N >= 0 {
		output.N = said
	}
	l := assembly.Logged{
		Input: u.Input, Output: output, Read: cmp.Or(u.Details.Read, u.Details.Cached), Write: u.Details.Write, Apart: u.Details.Read.Logged,
	}
	return l.Usage()
}

var (
	errNoSession = errors.New("file is no session: it has no history")
	errNoRole    = errors.New("it has no role")
)

// scan reads one file. What precedes a defect is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := newFile(assembly.NewFile(in.Name, opts))
	return f, f.ReadDocument(ctx, opts, in, f.document)
}

func newFile(f *assembly.File) *file {
	return &file{Part: assembly.NewPart(f)}
}

// document reads a session or an index.
func (f *file) document(text []byte) error {
	if indexes(text) {
		return f.index(text)
	}
	bad := assembly.EachOf(text, "history", func(name string, v []byte) error {
		switch name {
		case "sessionId":
			return assembly.Decode(v, &f.Part.ID)
		case "workspaceDirectory":
			return assembly.Decode(v, &f.Project)
		case "usage":
			return assembly.Decode(v, &f.all)
		}
		return nil
	}, func(v []byte, line int) error {
		var i item
		err := assembly.Decode(v, &i)
		if err == nil && i.Message.Role == "" {
			err = errNoRole
		}
		if err != nil {
			return f.Refuse(line, fmt.Errorf("item of the history: %w", err))
		}
		f.item(line, &i)
		return nil
	})
	if bad == nil && f.Len() == 0 {
		return errNoSession
	}
	return bad
}

// index reads when sessions began.
func (f *file) index(text []byte) error {
	var list []struct {
		ID    string `json:"sessionId"`
		Began string `json:"dateCreated"` // unix ms
	}
	err := assembly.Decode(text, &list)
	f.began = map[string]int64{}
	for _, s := range list {
		if ms, err := strconv.ParseInt(s.Began, 10, 64); err == nil {
			f.began[s.ID] = f.Millis(1, ms)
			f.Speaks(s.ID)
		}
	}
	return err
}

// item adds an item to the history.
func (f *file) item(line int, i *item) {
	m := &i.Message
	kind := prompt.KindPrompt
	switch {
	case len(i.Summary) > 0:
		kind = prompt.KindSummary
	case m.Role == "assistant":
		kind = prompt.KindText
	}
	step := assembly.Step{Kind: assembly.StepInput, Line: int32(line), Blocks: f.blocks(m.Content, kind)}
	for _, c := range i.Context {
		step.Blocks = append(step.Blocks, f.Maker.Added(c.Content))
	}
	switch {
	case kind == prompt.KindSummary:
		step.Kind = assembly.StepCompact
	case m.Role == "assistant":
		f.answer(step, i)
		return
	case m.Role != "user":
		f.Unknown["role/"+m.Role]++
	}
	f.Add(f.Len()-1, []assembly.Step{step})
}

// answer adds a call and the results of the tools that it called.
func (f *file) answer(reply assembly.Step, i *item) {
	reply.Kind = assembly.StepReply
	f.since++
	for n, u := range i.Message.Uses {
		if n == 0 {
			f.tool, f.since = u.ID, 0
		}
		reply.Blocks = append(reply.Blocks, f.Maker.Use(assembly.CallID(u.ID), u.Function.Name, assembly.Arguments(u.Function.Arguments)))
	}
	if f.tool != "" { // a fork repeats the calls of the session that it left
		reply.ID = fmt.Sprint(f.tool, "/", f.since)
	}
	steps := []assembly.Step{reply}
	if u := i.Message.Usage; u == nil {
		f.Bare(int(reply.Line))
	} else {
		f.sum.add(u)
		f.model = assembly.ModelName(u.Model)
		c := u.counts()
		steps = append(steps, assembly.Step{Kind: assembly.StepCount, Line: reply.Line, Model: f.model, Usage: c, Final: c.OK})
	}
	var results []assembly.Block
	for _, r := range i.Results {
		var texts []string
		for _, o := range r.Output {
			texts = append(texts, o.Content)
		}
		results = append(results, f.Maker.Result(assembly.CallID(r.Call), strings.Join(texts, "\n"), r.Status == "errored", false))
	}
	if len(results) > 0 {
		steps = append(steps, assembly.Step{Kind: assembly.StepResult, Line: reply.Line, Blocks: results})
	}
	f.Add(f.Len()-1, steps)
}

// blocks returns the blocks of a content. k is the kind of its texts.
func (f *file) blocks(v jsontext.Value, k prompt.Kind) (list []assembly.Block) {
	for _, p := range assembly.PartsOf(f.Maker, v, func(p *part) *string { p.Type = "text"; return &p.Text }) {
		switch {
		case p.Type == "imageUrl":
			list = append(list, f.Maker.Text(prompt.KindImage, p.Image.URL))
		case p.Type != "text":
			f.Maker.Skip(p.Type)
		case p.Text != "":
			list = append(list, f.Maker.Text(k, p.Text))
		}
	}
	return list
}

// unshown returns what the sum of all calls has beyond the messages, in as few calls as a client that compacts can have made: a price
// may depend on the size of a call. It returns false where the sum says nothing: there is none, or it is of other calls.
func (f *file) unshown() (list []assembly.Unshown, ok bool) {
	less := func(a, b assembly.Count) assembly.Count { return assembly.Count{N: a.N - b.N, Logged: true} }
	all, sum := f.all, &f.sum
	switch {
	case all == nil:
		return nil, false
	case f.model == "":
		if all.Output.N > 0 || all.USD > 0 {
			f.Problems.Add(f.Name, 0, "the sum of all calls ($%.2f, %d tokens of output) is in no bill: no message has counts, which would name the model", all.USD, all.Output.N)
		}
		return nil, false
	}
	if f.USD = f.Cost(1, all.USD); !all.Input.Logged { // older ones have the cost alone
		return nil, false
	}
	rest := usage{Input: less(all.Input, sum.Input), Output: less(all.Output, sum.Output)}
	rest.Details.Read, rest.Details.Write = less(all.Details.Read, sum.Details.Read), less(all.Details.Write, sum.Details.Write)
	n := (rest.Input.N+rest.Details.Read.N+rest.Details.Write.N)/compactsAt(window) + 1
	if min(rest.Input.N, rest.Output.N, rest.Details.Read.N, rest.Details.Write.N) < 0 || n > maxCalls {
		f.Problems.Add(f.Name, 0, "the sum of all calls does not cover the counts of the messages, as in a fork; the messages are the bill")
		return nil, false
	}
	for i := range n {
		one := rest
		for _, c := range []*assembly.Count{&one.Input, &one.Output, &one.Details.Read, &one.Details.Write} {
			c.N = c.N*(i+1)/n - c.N*i/n
		}
		if u := one.counts(); u.OK {
			list = append(list, assembly.Unshown{Place: assembly.Place{Source: f.File, Line: 1}, At: f.Start, Model: f.model, Usage: u.Usage})
		}
	}
	return list, true
}

// maxCalls is how many calls a sum is believed to have beyond the messages.
const maxCalls = 10_000

// texts reads the texts of a document again.
func texts(text []byte) []traces.Text {
	f := newFile(assembly.Again())
	_ = f.document(text) // as far as it is readable
	return f.Texts()
}

// sessions makes one session of every file but an index.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	began := map[string]int64{}
	var list []*file
	for _, f := range files {
		for id, at := range f.began {
			began[id] = at
		}
		if f.began == nil {
			list = append(list, f)
		}
	}
	unshown := map[*assembly.File][]assembly.Unshown{}
	for _, f := range list {
		if at := f.At(began[f.Part.ID]); at != 0 {
			f.begin(at)
		}
		if rest, ok := f.unshown(); ok {
			unshown[f.File] = rest
		}
	}
	made := assembly.Families(Agent, opts, list)
	for _, s := range made {
		s.Unshown, s.Summed = unshown[s.Files[0]]
	}
	return made
}

// begin gives a session the time at which it began, through its first call: later calls stand behind that.
func (f *file) begin(at int64) {
	for i := range f.Len() {
		steps := f.Steps(i)
		for n := range steps {
			steps[n].At = at
		}
		f.Set(i, steps)
		if slices.ContainsFunc(steps, func(s assembly.Step) bool { return s.Kind == assembly.StepCount }) {
			return
		}
	}
}
