package copilot

import (
	"cmp"
	"errors"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/go-json-experiment/json/jsontext"
)

// metrics are what a shutdown has of a model.
type metrics struct {
	Usage *totals `json:"usage"`
}

// totals are the tokens of several calls. Input includes what was read and written.
type totals struct {
	Input  assembly.Count `json:"inputTokens"`
	Output assembly.Count `json:"outputTokens"`
	Read   assembly.Count `json:"cacheReadTokens"`
	Write  assembly.Count `json:"cacheWriteTokens"`
}

// used are the tokens of the call that made a summary.
type used struct {
	totals
	Model   string `json:"model"`
	Copilot struct {
		Details []struct {
			Count assembly.Count `json:"tokenCount"`
			Type  string         `json:"tokenType"`
		} `json:"tokenDetails"`
	} `json:"copilotUsage"`
}

// usage returns the counts of a summary call. What its provider billed as written is in the details alone: the count beside the
// reads has been seen as 0 where these say otherwise.
func (u *used) usage() assembly.Usage {
	if u == nil {
		return assembly.Usage{}
	}
	for _, d := range u.Copilot.Details {
		if d.Type == "cache_write" && d.Count.N > 0 {
			u.Write = d.Count
		}
	}
	if !u.Read.Logged || !u.Write.Logged {
		return assembly.Usage{}
	}
	return assembly.Logged{Input: u.Input, Read: u.Read, Write: u.Write, Output: u.Output}.Usage()
}

// total returns the totals. It is an error if one is not logged.
func (t *totals) total() (total assembly.Total, err error) {
	if !t.Input.Logged || !t.Output.Logged || !t.Read.Logged || !t.Write.Logged {
		err = errTotals
	}
	return assembly.Total{Input: t.Input.N, Read: t.Read.N, Write: t.Write.N, Output: t.Output.N}, err
}

// failure is the error of a tool.
type failure struct {
	Message string `json:"message"`
}

// answer returns the blocks of a message of the model.
func (d *data) answer(mk assembly.Maker) (list []assembly.Block) {
	if d.Reasoning != "" {
		list = append(list, mk.Text(prompt.KindThinking, d.Reasoning))
	}
	if d.Content != "" {
		list = append(list, mk.Text(prompt.KindText, d.Content))
	}
	for i := range d.Requests {
		r := &d.Requests[i]
		list = append(list, mk.Use(assembly.CallID(r.ID), r.Name, assembly.Arguments(r.Arguments)))
	}
	return list
}

// input returns what a person, the client or a tool said.
func (d *data) input(mk assembly.Maker, typ string) (assembly.StepKind, []assembly.Block) {
	if typ == "tool.execution_complete" {
		text := ""
		if d.Result != nil {
			text = d.Result.Content
		}
		failed := d.Success != nil && !*d.Success
		if failed {
			for _, e := range assembly.PartsOf(mk, d.Error, func(e *failure) *string { return &e.Message }) {
				text += e.Message
			}
		}
		return assembly.StepResult, []assembly.Block{mk.Result(assembly.CallID(d.Tool), text, failed, false)}
	}
	text := d.Content
	if d.Transformed != "" {
		text = d.Transformed
	}
	if d.Source != "" && d.Source != "user" {
		return assembly.StepInput, []assembly.Block{mk.Added(text)}
	}
	return assembly.StepInput, []assembly.Block{mk.Text(prompt.KindPrompt, text)}
}

// texts reads the texts of a line again.
func texts(text []byte) []traces.Text {
	e, err := eventOf(text)
	if err != nil {
		return nil
	}
	mk := assembly.Maker{Keep: true}
	d, _ := e.data() // what cannot be read has no blocks
	switch e.Type {
	case "assistant.message":
		return assembly.TextsOf(d.answer(mk))
	case "user.message", "tool.execution_complete":
		_, blocks := d.input(mk, e.Type)
		return assembly.TextsOf(blocks)
	case "session.compaction_complete":
		return assembly.TextsOf([]assembly.Block{mk.Text(prompt.KindSummary, d.Summary)})
	}
	return nil
}

// record is what a line session.usage_record has of a call (1.0.102): it stands ahead of the call's message, and the totals
// of a shutdown have it too.
type record struct {
	totals
	Call   string         `json:"apiCallId"`
	Model  string         `json:"model"`
	Window assembly.Count `json:"maxPromptTokens"`
}

var errNoCounts = errors.New("a record of usage without counts that can be")

// usage returns the counts of the call.
func (r *record) usage() (assembly.Usage, bool) {
	t, err := r.total()
	u := assembly.Counts(
		assembly.Count{N: t.Input - t.Read - t.Write, Logged: true}, assembly.Count{N: t.Read, Logged: true},
		assembly.Count{N: t.Write, Logged: true}, assembly.Count{N: t.Output, Logged: true}, assembly.Count{}, -1)
	return u, err == nil && u.OK
}

// record takes a record of usage. The window of a sub-agent, which may have another model, is not the session's.
func (f *file) record(v jsontext.Value, ofAgent bool) error {
	var r record
	if err := assembly.Decode(v, &r); err != nil {
		return err
	}
	if _, ok := r.usage(); !ok {
		return errNoCounts
	}
	if !ofAgent {
		f.window = cmp.Or(max(0, r.Window.N), f.window)
	}
	if err := f.Once("the record of usage of call", r.Call); err != nil {
		return err
	}
	for _, t := range f.threads {
		if i, ok := t.calls[r.Call]; ok && r.Call != "" {
			f.count(t.Calls[i].Call, &r)
			return nil
		}
	}
	if f.records == nil {
		f.records = map[string]record{}
	}
	f.records[r.Call] = r
	return nil
}

// count gives a call its own counts. What the shutdown counts is then for the remaining calls alone.
func (f *file) count(c *assembly.Call, r *record) {
	u, _ := r.usage()
	c.Usage, c.Final = u, true
	if r.Model != "" {
		c.Model = assembly.ModelName(r.Model)
	}
	sum, t := f.recorded[r.Model], assembly.Total{Input: u.Input(), Read: u.Read, Write: u.Writes(), Output: u.Output}
	f.recorded[r.Model] = assembly.Total{Input: sum.Input + t.Input, Read: sum.Read + t.Read, Write: sum.Write + t.Write, Output: sum.Output + t.Output}
	f.open = slices.DeleteFunc(f.open, func(o call) bool { return o.of == c })
}
