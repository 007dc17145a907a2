package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// form is a cassette as its file has it.
type form struct {
	Version   int       `json:"version"`
	Key       Key       `json:"key"`
	Call      callForm  `json:"call"`
	Began     time.Time `json:"began,omitzero"`
	Texts     bool      `json:"texts"`
	Reply     *reply    `json:"reply,omitzero"`
	Failure   *failure  `json:"failure,omitzero"`
	Withheld  *withheld `json:"withheld,omitzero"`
	Predicted usage     `json:"predicted"`
	Entities  []Entity  `json:"entities,omitempty"`
	Request   *Request  `json:"request,omitzero"`
	Sum       string    `json:"sum,omitzero"` // of the answer, see sum
}

type callForm struct {
	Session string   `json:"session"`
	Source  string   `json:"source"`
	Model   string   `json:"model"`
	Thread  int32    `json:"thread"`
	Round   int32    `json:"round"`
	Number  int32    `json:"number"`
	Chain   digest   `json:"chain"`
	Params  []string `json:"params"`
}

func (c *callForm) call() Call {
	return Call{
		Chain: prompt.Digest(c.Chain), Params: c.Params, Session: c.Session, Source: c.Source, Model: c.Model,
		Thread: c.Thread, Round: c.Round, Number: c.Number,
	}
}

// reply is a wire.Reply.
type reply struct {
	ID         string           `json:"id"`
	Model      string           `json:"model"`
	StopReason string           `json:"stop_reason"`
	Text       string           `json:"text"`
	Compaction string           `json:"compaction,omitzero"`
	ToolCalls  []string         `json:"tool_calls,omitempty"`
	Usage      wire.Usage       `json:"usage"`
	Iterations []wire.Iteration `json:"iterations,omitempty"`
	First      int64            `json:"first_ns"`
	Total      int64            `json:"total_ns"`
	Attempts   int              `json:"attempts"`
	Estimated  bool             `json:"estimated,omitzero"`
	Wasted     wire.Usage       `json:"wasted,omitzero"`
	Thinking   int64            `json:"thinking,omitzero"`
	Cleared    wire.Cleared     `json:"cleared,omitzero"`
}

func replyOf(r *wire.Reply) *reply {
	return &reply{
		r.ID, r.Model, r.StopReason, r.Text, r.Compaction, r.ToolCalls, r.Usage, r.Iterations,
		int64(r.First), int64(r.Total), r.Attempts, r.Estimated, r.Wasted, r.Thinking, r.Cleared,
	}
}

func (r *reply) wire() *wire.Reply {
	return &wire.Reply{
		ID: r.ID, Model: r.Model, StopReason: r.StopReason, Text: r.Text, Compaction: r.Compaction, ToolCalls: r.ToolCalls,
		Usage: r.Usage, Iterations: r.Iterations, First: time.Duration(r.First), Total: time.Duration(r.Total), Attempts: r.Attempts,
		Estimated: r.Estimated, Wasted: r.Wasted, Thinking: r.Thinking, Cleared: r.Cleared,
	}
}

// failure is a wire.Failure.
type failure struct {
	Cause    wire.Cause `json:"cause"`
	Status   int        `json:"status,omitzero"`
	Message  string     `json:"message,omitzero"`
	Excess   int64      `json:"excess,omitzero"`
	After    int64      `json:"after_ns,omitzero"`
	Attempts int        `json:"attempts"`
	Billed   wire.Usage `json:"billed,omitzero"`
}

func failureOf(e *wire.Failure) *failure {
	return &failure{e.Cause, e.Status, e.Message, e.Excess, int64(e.After), e.Attempts, e.Billed}
}

func (e *failure) wire() *wire.Failure {
	return &wire.Failure{
		Cause: e.Cause, Status: e.Status, Message: e.Message, Excess: e.Excess, After: time.Duration(e.After),
		Attempts: e.Attempts, Billed: e.Billed,
	}
}

// usage is a prompt.Usage.
type usage struct {
	Uncached   int64 `json:"uncached,omitzero"`
	Read       int64 `json:"read,omitzero"`
	Write5m    int64 `json:"write_5m,omitzero"`
	Write1h    int64 `json:"write_1h,omitzero"`
	WriteOther int64 `json:"write_other,omitzero"`
	Output     int64 `json:"output,omitzero"`
}

// formOf returns the file of a cassette with all its texts.
func formOf(c *Cassette) *form {
	f := &form{
		Version: Version, Key: c.Call.Key(), Began: c.Began.UTC(), Texts: true,
		Predicted: usage(c.Predicted), Entities: c.Entities, Request: c.Request,
		Call: callForm{
			Session: c.Call.Session, Source: c.Call.Source, Model: c.Call.Model,
			Thread: c.Call.Thread, Round: c.Call.Round, Number: c.Call.Number,
			Chain: digest(c.Call.Chain), Params: c.Call.Params,
		},
	}
	if c.Reply != nil {
		f.Reply = replyOf(c.Reply)
	}
	if c.Failure != nil {
		f.Failure = failureOf(c.Failure)
	}
	return f
}

// cassette returns the cassette of a file, or what is wrong with it.
func (f *form) cassette() (*Cassette, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	c := &Cassette{
		Call: f.Call.call(), Began: f.Began, Texts: f.Texts, Request: f.Request,
		Predicted: prompt.Usage(f.Predicted), Entities: f.Entities,
	}
	if f.Reply != nil {
		c.Reply = f.Reply.wire()
	}
	if f.Failure != nil {
		c.Failure = f.Failure.wire()
	}
	if f.Withheld != nil {
		if err := f.Withheld.restore(c.Reply, c.Failure); err != nil {
			return nil, err
		}
	}
	return c, f.checkSum()
}

// check tells what no recorded call can be.
func (f *form) check() error {
	call := f.Call.call()
	switch {
	case (f.Reply == nil) == (f.Failure == nil):
		return errors.New("it must have either a reply or a failure")
	case f.Texts == (f.Withheld != nil):
		return errors.New("texts must be there or be withheld")
	case !call.hidesParams() && call.Key() != f.Key:
		return fmt.Errorf("its key is not that of the call it tells of, %s", call.Key())
	}
	counts := []int64{
		f.Predicted.Uncached, f.Predicted.Read, f.Predicted.Write5m, f.Predicted.Write1h, f.Predicted.WriteOther, f.Predicted.Output,
	}
	tokens := func(u wire.Usage) { counts = append(counts, u.Uncached, u.Read, u.Write5m, u.Write1h, u.Output) }
	if r := f.Reply; r != nil {
		tokens(r.Usage)
		tokens(r.Wasted)
		for _, it := range r.Iterations {
			tokens(it.Usage)
		}
		counts = append(counts, r.First, r.Total, int64(r.Attempts), r.Thinking, r.Cleared.ToolUses, r.Cleared.Turns, r.Cleared.Input)
	}
	if e := f.Failure; e != nil {
		tokens(e.Billed)
		counts = append(counts, e.Excess, e.After, int64(e.Attempts))
	}
	for _, n := range counts {
		if n < 0 {
			return fmt.Errorf("a count or time is negative: %d", n)
		}
	}
	return nil
}

// encode returns the bytes of a file.
func (f *form) encode() ([]byte, error) {
	var err error
	if f.Sum, err = f.sum(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(f, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// decode reads a file. The errors say what is wrong and what to do.
func decode(b []byte) (*form, error) {
	var f form
	err := json.Unmarshal(b, &f, json.RejectUnknownMembers(true))
	if err == nil && f.Version == Version {
		return &f, nil
	}
	var head struct {
		Version int `json:"version"`
	}
	known := json.Unmarshal(b, &head) == nil
	const remedy = "delete it and record the call again"
	switch v := head.Version; {
	case known && v > Version:
		return nil, fmt.Errorf("it has version %d of the format and %d is read: use a newer sim, or %s", v, Version, remedy)
	case known && v != Version:
		return nil, fmt.Errorf("it has version %d of the format and %d is read: %s", v, Version, remedy)
	case errors.Is(err, io.ErrUnexpectedEOF), len(bytes.TrimSpace(b)) == 0:
		return nil, errors.New("it is cut off: " + remedy)
	}
	return nil, fmt.Errorf("it is damaged (%w): %s", err, remedy)
}
