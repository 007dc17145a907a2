package results

import (
	"errors"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// callLine is the encoded form of a call. What is zero for most calls is left
// out.
type callLine struct {
	Cell     string    `json:"cell"`
	Session  string    `json:"session"`
	Thread   int32     `json:"thread"`
	Round    int32     `json:"round"`
	Source   string    `json:"source"`
	Model    string    `json:"model"`
	Start    int64     `json:"start_ns"`
	End      int64     `json:"end_ns"`
	Context  int64     `json:"context_tokens"`
	Tokens   usageLine `json:"tokens"`
	Expected int64     `json:"expected_tokens,omitzero"`
	Miss     string    `json:"miss,omitzero"`
	First    bool      `json:"first,omitzero"`
	Cost     costLine  `json:"cost_usd"`
}

// costLine is the encoded form of a Cost, in the order of the classes: a
// structure, because a map would be allocated for each of millions of calls.
type costLine struct {
	Uncached   float64 `json:"uncached,omitzero"`
	Read       float64 `json:"read,omitzero"`
	Write5m    float64 `json:"write_5m,omitzero"`
	Write1h    float64 `json:"write_1h,omitzero"`
	WriteOther float64 `json:"write_other,omitzero"`
	Output     float64 `json:"output,omitzero"`
}

func newCallLine(cell string, c *CallRecord) *callLine {
	l := &callLine{
		Cell: cell, Session: c.Session, Thread: c.Thread, Round: c.Round, Source: c.Source.String(), Model: c.Model,
		Start: c.Start, End: c.End, Context: c.Context, Tokens: usageLine(c.Usage), Expected: c.Expected, First: c.First,
		Cost: costLine{c.Cost[ClassUncached], c.Cost[ClassRead], c.Cost[ClassWrite5m], c.Cost[ClassWrite1h],
			c.Cost[ClassWriteOther], c.Cost[ClassOutput]},
	}
	if c.Miss != prompt.MissNone {
		l.Miss = c.Miss.String()
	}
	return l
}

// record returns the call of l, or an error that names what it does not know.
func (l *callLine) record() (CallRecord, error) {
	c := CallRecord{
		Session: l.Session, Thread: l.Thread, Round: l.Round, Model: l.Model, Start: l.Start, End: l.End,
		Context: l.Context, Usage: prompt.Usage(l.Tokens), Expected: l.Expected, First: l.First,
		Cost: Cost{ClassUncached: l.Cost.Uncached, ClassRead: l.Cost.Read, ClassWrite5m: l.Cost.Write5m,
			ClassWrite1h: l.Cost.Write1h, ClassWriteOther: l.Cost.WriteOther, ClassOutput: l.Cost.Output},
	}
	source, err := indexOf(l.Source, "source", NumSources, sourceName)
	if err != nil {
		return c, err
	}
	c.Source = Source(source)
	if l.Miss != "" {
		miss, err := indexOf(l.Miss, "miss class", prompt.NumMissClasses, missName)
		if err != nil {
			return c, err
		}
		c.Miss = prompt.MissClass(miss)
	}
	return c, nil
}

// indexOf returns the index of the name among n names.
func indexOf(text, what string, n int, name func(int) string) (int, error) {
	for i := range n {
		if name(i) == text {
			return i, nil
		}
	}
	known := make([]string, n)
	for i := range known {
		known[i] = name(i)
	}
	return 0, unknown(what, text, known)
}

// validate refuses what no call can have.
func (c *CallRecord) validate() error {
	switch {
	case c.Session == "":
		return errors.New("call without a session")
	case c.Thread < 0 || c.Round < -1:
		return fmt.Errorf("call of thread %d, round %d", c.Thread, c.Round)
	case c.End < c.Start:
		return fmt.Errorf("call ends at %d ns, before its start at %d ns", c.End, c.Start)
	case int(c.Source) >= NumSources:
		return fmt.Errorf("source %d", c.Source)
	case int(c.Miss) >= prompt.NumMissClasses:
		return fmt.Errorf("miss class %d", c.Miss)
	}
	u := c.Usage
	counts := [...]int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther, u.Output, c.Expected, c.Context}
	if n := slices.Min(counts[:]); n < 0 {
		return fmt.Errorf("negative count %d", n)
	}
	if n := slices.Max(counts[:]); n > maxCount {
		return fmt.Errorf("absurd count %d", n)
	}
	for class, v := range c.Cost {
		if !(v >= 0 && v <= maxAmount) {
			return amount("cost of class "+className(class), v)
		}
	}
	return nil
}
