package goose

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/sqlite"
)

// message is a message of a session.
type message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Created int64  `json:"created"` // unix s
	Content []part `json:"content"`
	Data    struct {
		Shown     *bool `json:"userVisible"`  // nil is true
		Sent      *bool `json:"agentVisible"` // likewise
		Context   bool  `json:"turnContext"`
		Inference struct {
			Provider string `json:"provider"`
			Model    string `json:"requestedModel"`
		} `json:"inference"`
		Usage *usage `json:"usage"`
	} `json:"metadata"`
	at   int64 // unix ns
	line int
}

// part is a part of a message.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
	Data     string `json:"data"`
	ID       string `json:"id"`
	Call     struct {
		Value struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"value"`
	} `json:"toolCall"`
	Result struct {
		Status string         `json:"status"`
		Error  string         `json:"error"`
		Value  jsontext.Value `json:"value"` // a list in older versions
	} `json:"toolResult"`
	Annotations struct {
		Audience []string `json:"audience"`
	} `json:"annotations"`
}

// result is what a tool returned.
type result struct {
	Content []part `json:"content"`
	Failed  bool   `json:"isError"`
	Meta    struct {
		Session string `json:"subagent_session_id"`
	} `json:"_meta"`
}

// usage are the counts of a call. Input holds what was read and written; of a provider that does not count these they are missing.
type usage struct {
	Input  assembly.Count `json:"inputTokens"`
	Output assembly.Count `json:"outputTokens"`
	Total  assembly.Count `json:"totalTokens"`
	Read   assembly.Count `json:"cacheReadTokens"`
	Write  assembly.Count `json:"cacheWriteTokens"`
	USD    float64        `json:"cost"`
	Took   int64          `json:"elapsedMs"`
	First  int64          `json:"timeToFirstTokenMs"`
}

// entry is one of the ledger.
type entry struct {
	usage
	Model   string `json:"model"`
	Created int64  `json:"created"`    // unix s
	Compact int    `json:"compaction"` // 1 for the call of a summary
	line    int
	taken   bool // by a message or a compaction
}

// counts returns the counts of a call of a model in disjoint classes. Anthropic's models always have both reads and writes, and no
// provider counts writes alone: where one of the two is missing the counts are unusable.
func (u *usage) counts(model string) assembly.Usage {
	read, write := u.Read.Logged && u.Read.N != -1, u.Write.Logged && u.Write.N != -1
	if read != write && (write || assembly.CacheByModel(model) == facts.CacheMarked) {
		return assembly.Usage{Reasoning: -1, Bad: true}
	}
	for _, c := range []*assembly.Count{&u.Read, &u.Write} {
		if !c.Logged || c.N == -1 { // null
			*c = assembly.Count{Logged: true}
		}
	}
	input := u.Input
	if input.Logged && input.N >= 0 {
		input.N -= u.Read.N + u.Write.N
	}
	return assembly.Counts(input, u.Read, u.Write, u.Output, u.Total, -1)
}

var errNoExport = errors.New("file is no session of Goose: it has no messages")

// read reads a session.
func (f *file) read(text []byte) error {
	var s session
	member := func(name string, v []byte) error {
		switch name {
		case "id":
			return assembly.Decode(v, &s.ID)
		case "working_dir":
			return assembly.Decode(v, &s.Dir)
		case "parent_session_id":
			if v[0] != 'n' {
				return assembly.Decode(v, &s.Parent)
			}
		case "accumulated_usage":
			return assembly.Decode(v, &f.all)
		case "ledger":
			return assembly.EachOf([]byte(`{"ledger":`+string(v)+`}`), "ledger", nil, func(v []byte, line int) error {
				e := entry{line: line}
				if n := len(f.messages); n > 0 { // behind which the ledger stands
					e.line += f.messages[n-1].line - 1
				}
				err := assembly.Decode(v, &e)
				f.ledger = append(f.ledger, e)
				return err
			})
		}
		return nil
	}
	bad := assembly.EachOf(text, "conversation", member, func(v []byte, line int) error {
		m := message{line: line}
		if err := assembly.Decode(v, &m); err != nil {
			return f.Refuse(line, fmt.Errorf("message: %w", err))
		}
		if m.Role != "user" && m.Role != "assistant" {
			return f.Refuse(line, fmt.Errorf("role %.40q is neither user nor assistant", m.Role))
		}
		if m.ID != "" && slices.ContainsFunc(f.messages, func(o message) bool { return o.ID == m.ID }) {
			return f.Refuse(line, fmt.Errorf("message %s is here twice", m.ID))
		}
		m.at = f.seconds(line, m.Created)
		f.messages = append(f.messages, m)
		return nil
	})
	f.ID, f.Project, f.Up = s.ID, s.Dir, s.Parent
	f.converse()
	f.compare()
	if bad == nil && (f.ID == "" || len(f.messages) == 0) {
		bad = errNoExport
	}
	if bad != nil {
		return f.Refuse(0, bad)
	}
	return nil
}

// sums are what an export says of all calls of its session, summaries too. Input holds what was read and written.
type sums struct {
	Input  assembly.Count `json:"input_tokens"`
	Output assembly.Count `json:"output_tokens"`
	Read   assembly.Count `json:"cache_read_input_tokens"`
	Write  assembly.Count `json:"cache_write_input_tokens"`
}

// compare holds the counts of messages and ledger against the session's own. What the session has beyond these is lost: calls of summaries, which
// no message has, or messages that are elsewhere.
func (f *file) compare() {
	more, less := int64(0), int64(0)
	for _, c := range [...]struct {
		of     assembly.Count
		said   int64
		within bool // a part of the input, which counts it
	}{{f.all.Input, f.sum.Input(), false}, {f.all.Output, f.sum.Output, false}, {f.all.Read, f.sum.Read, true}, {f.all.Write, f.sum.Writes(), true}} {
		if !c.of.Logged || c.of.N < 0 {
			continue
		}
		less = max(less, c.said-c.of.N)
		if !c.within {
			more += max(0, c.of.N-c.said)
		}
	}
	if f.lost = more; more > 0 {
		f.Problems.Add(f.Name, 0, "the session counts %s more than its messages: summaries, whose calls no message has, or messages that are elsewhere; "+
			"they are not in the bill", numbers.Counted(more, "token", "tokens"))
	}
	if less > 0 {
		f.Lacks(1, 0, "the session counts %s less than its messages: some are here twice, or another session's", numbers.Counted(less, "token", "tokens"))
	}
}

// converse makes steps of the messages, and of the calls in the ledger that no message tells of.
func (f *file) converse() {
	for i := 0; i < len(f.messages); i++ {
		switch m := &f.messages[i]; {
		case f.summary(i):
			f.end()
			f.compact(m)
			i++ // the answer that the client puts behind the summary
			f.input(&f.messages[i], []assembly.Block{f.Maker.Added(f.messages[i].text())})
		case m.Role == "assistant":
			f.reply(m)
		case !f.again(i):
			f.heard(m)
		}
	}
	f.end()
	for i := range f.ledger {
		e := &f.ledger[i]
		counts := e.counts(e.Model)
		if f.sum.Add(&counts.Usage); !e.taken {
			f.AddBeside("beside@ledger", "", f.seconds(e.line, e.Created), e.line, e.Model, counts)
		}
		f.USD += f.Cost(f.ledger[i].line, f.ledger[i].USD)
	}
}

// summary reports whether the message at i is the summary of a compaction: one of the client's that the person does not see, with an answer
// behind it that no model gave.
func (f *file) summary(i int) bool {
	if i+1 == len(f.messages) {
		return false
	}
	m, next := &f.messages[i], &f.messages[i+1]
	return m.Role == "user" && m.own() && !m.Data.Context && next.Role == "assistant" && next.own() && next.Data.Usage == nil
}

// again reports whether the message at i is a prompt that was typed ahead of a compaction and is sent behind it, where a copy
// stands that the person does not see.
func (f *file) again(i int) bool {
	if m := &f.messages[i]; m.Data.Sent != nil && !*m.Data.Sent && !m.own() {
		for k := i + 1; k < len(f.messages) && f.messages[k].Data.Usage == nil; k++ {
			if o := &f.messages[k]; o.own() && !o.Data.Context && o.Role == m.Role && o.text() == m.text() {
				return true
			}
		}
	}
	return false
}

// own reports whether a message is the client's, which a person does not see.
func (m *message) own() bool { return m.Data.Shown != nil && !*m.Data.Shown }

// text returns what a message says.
func (m *message) text() (all string) {
	for i := range m.Content {
		all += m.Content[i].Text
	}
	return all
}

// seconds returns a time of a line in unix seconds as nanoseconds.
func (f *file) seconds(line int, s int64) int64 {
	return f.At(f.Millis(line, s*int64(time.Second/time.Millisecond)))
}

// add appends steps to the conversation.
func (f *file) add(steps ...assembly.Step) { f.Part.Tree.Add(f.Len()-1, steps) }

// input adds blocks that the next call is sent.
func (f *file) input(m *message, blocks []assembly.Block) {
	f.end()
	f.add(assembly.Step{Kind: assembly.StepInput, At: m.at, Line: int32(m.line), Blocks: blocks})
}

// compact adds a compaction, with the ledger's counts of the call that made the summary. The ledger of an export is not known.
func (f *file) compact(m *message) {
	s := assembly.Step{
		Kind: assembly.StepCompact, At: m.at, Line: int32(m.line),
		Blocks: []assembly.Block{f.Maker.Text(prompt.KindSummary, m.text())}, Usage: assembly.Usage{Bad: true},
	}
	if i := slices.IndexFunc(f.ledger, func(e entry) bool { return e.Compact != 0 && !e.taken }); i >= 0 {
		e := &f.ledger[i]
		e.taken, s.Usage, s.Model = true, e.counts(e.Model), assembly.ModelName(e.Model)
	}
	f.add(s)
}

// reply takes a message of the model. The first one of an answer has its counts; several calls of tools stand in messages of
// their own, each behind the result of the one before it.
func (f *file) reply(m *message) {
	if m.Data.Usage != nil {
		f.end()
		f.answer = m
	} else if f.answer == nil {
		f.Bare(m.line)
	}
	step := assembly.Step{Kind: assembly.StepReply, At: m.at, Line: int32(m.line), Blocks: m.blocks(f.Maker)}
	if f.answer == nil {
		f.add(step)
		return
	}
	f.said = append(f.said, step)
}

// heard takes a message to the model.
func (f *file) heard(m *message) {
	var said []assembly.Block
	for i := range m.Content {
		switch p := &m.Content[i]; {
		case p.Type == "toolResponse":
			step := assembly.Step{Kind: assembly.StepResult, At: m.at, Line: int32(m.line), Blocks: []assembly.Block{f.result(p)}}
			if f.answer == nil {
				f.add(step)
			} else {
				f.results = append(f.results, step)
			}
		case p.Type == "text" && m.Data.Context:
			said = append(said, f.Maker.Added(p.Text))
		case p.Type == "text":
			said = append(said, f.Maker.Text(prompt.KindPrompt, p.Text))
		case p.Type == "image":
			said = append(said, f.Maker.Text(prompt.KindImage, p.Data))
		case p.Type != "systemNotification": // which is shown alone
			f.Maker.Skip(p.Type)
		}
	}
	if len(said) > 0 {
		f.input(m, said)
	}
}

// result returns the result of a tool, as far as the model is shown it.
func (f *file) result(p *part) assembly.Block {
	var r result
	id, text, image := assembly.CallID(p.ID), p.Result.Error, false
	if v := p.Result.Value; v.Kind() == '[' {
		r.Content = assembly.PartsOf(f.Maker, v, func(p *part) *string { return &p.Text })
	} else if v.Kind() == '{' && assembly.Decode(v, &r) != nil {
		f.Maker.Skip("toolResult")
	}
	for i := range r.Content {
		if c := &r.Content[i]; len(c.Annotations.Audience) == 0 || slices.Contains(c.Annotations.Audience, "assistant") {
			text, image = text+c.Text, image || c.Type == "image"
		}
	}
	if r.Meta.Session != "" {
		f.Tasks[r.Meta.Session] = id
	}
	return f.Maker.Result(id, text, r.Failed || p.Result.Status == "error", image)
}

// end ends the call under way.
func (f *file) end() {
	m := f.answer
	if m == nil {
		return
	}
	u := m.Data.Usage
	steps := f.said
	for i := range steps { // a message is made when the model begins to answer
		if steps[i].ID, steps[i].First = m.ID, m.at; m.at != 0 {
			steps[i].At = m.at + max(0, u.Took-u.First)*int64(time.Millisecond)
		}
	}
	counts := u.counts(m.Data.Inference.Model)
	if i := slices.IndexFunc(f.ledger, func(e entry) bool {
		told := e.counts(e.Model)
		return !e.taken && e.Compact == 0 && (told.Same(&counts) || !counts.OK && !told.OK)
	}); i >= 0 {
		f.ledger[i].taken, f.kept = true, true
	} else {
		f.USD += f.Cost(m.line, u.USD)
		f.sum.Add(&counts.Usage)
		if f.kept && counts.OK { // calls from before the client kept a ledger stand ahead of all that it has
			f.Problems.Add(f.Name, m.line, "the session's ledger lacks this call: the message may be of another session")
		}
	}
	steps = append(steps, assembly.Step{
		Kind: assembly.StepCount, At: steps[len(steps)-1].At, Line: int32(m.line), Model: assembly.ModelName(m.Data.Inference.Model),
		Gateway: m.Data.Inference.Provider, Usage: counts, Final: counts.OK,
	})
	f.add(append(steps, f.results...)...)
	f.answer, f.said, f.results = nil, nil, nil
}

// blocks returns what the model said.
func (m *message) blocks(mk assembly.Maker) (list []assembly.Block) {
	for i := range m.Content {
		switch p := &m.Content[i]; p.Type {
		case "text":
			list = append(list, mk.Text(prompt.KindText, p.Text))
		case "thinking", "redactedThinking", "reasoning":
			list = append(list, mk.Text(prompt.KindThinking, p.Thinking+p.Text+p.Data))
		case "toolRequest", "frontendToolRequest":
			list = append(list, mk.Use(assembly.CallID(p.ID), p.Call.Value.Name, assembly.Inline(p.Call.Value.Arguments)))
		default:
			mk.Skip(p.Type)
		}
	}
	return list
}

// texts reads the texts of sessions again.
func texts(text []byte) (list []traces.Text) {
	for doc := range bytes.SplitSeq(text, []byte(sqlite.Between)) {
		f := &file{Part: assembly.NewPart(assembly.Again())}
		_ = f.read(doc) // what is wrong was told when the file was read
		list = append(list, f.Texts()...)
	}
	return list
}
