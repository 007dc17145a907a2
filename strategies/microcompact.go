package strategies

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/sim/prompt"
)

// MicrocompactParams are the parameters of microcompact. Sizes are tokens.
type MicrocompactParams struct {
	Switch      `yaml:",inline"`
	Trigger     Trigger  `yaml:"trigger" doc:"level from which tool results are looked at, ahead of any request"`
	Subagents   bool     `yaml:"subagents" doc:"sub-agents clear too"`
	Tools       []string `yaml:"tools" doc:"tools whose results may be cleared; those of MCP never are"`
	KeepLast    int      `yaml:"keep_last" doc:"newest calls of these tools whose results stay"`
	Threshold   int64    `yaml:"threshold" doc:"tokens of such results to come down to"`
	MinSaved    int64    `yaml:"min_saved" doc:"tokens below which a clearing is not worth it"`
	Count       Count    `yaml:"count" doc:"how a result's tokens are counted: estimate (a quarter of its bytes, not padded) or true"`
	Placeholder int32    `yaml:"placeholder" doc:"tokens of the text in the place of a cleared result"`
	Pending     bool     `yaml:"count_pending_clears" doc:"a clearing lowers the client's count at once, not with the next response"`
	Persist     bool     `yaml:"persist" doc:"the original is saved, so that it can be read again"`
	Memory      bool     `yaml:"clear_memory" doc:"a clearing takes attached memory files ahead of the kept results with it"`
}

// Count is how a client counts the tokens of a tool result.
type Count bool

// The two counts.
const (
	CountEstimate Count = false
	CountTrue     Count = true
)

var countNames = []string{"estimate", "true"}

// MarshalYAML writes "estimate" or "true".
func (c Count) MarshalYAML() (any, error) { return nameOf(countNames, asInt(bool(c))), nil }

// UnmarshalYAML reads "estimate" or "true".
func (c *Count) UnmarshalYAML(n *yaml.Node) error {
	i, err := readName(n, "count", countNames)
	*c = i == 1
	return err
}

// Validate returns what is wrong with the parameters.
func (p *MicrocompactParams) Validate() []error {
	errs := append(p.Trigger.Validate(), negatives(p)...)
	if len(p.Tools) == 0 {
		errs = append(errs, fmt.Errorf("tools: none may be cleared"))
	}
	if p.Threshold == 0 {
		errs = append(errs, fmt.Errorf("threshold 0 must be positive"))
	}
	return errs
}

// ValidateFor returns what is wrong with the parameters at a window.
func (p *MicrocompactParams) ValidateFor(r *Reading) []error {
	errs := p.Trigger.ValidateFor(r)
	if p.Threshold >= r.Window {
		errs = append(errs, fmt.Errorf("threshold %d is not below the window of %d", p.Threshold, r.Window))
	}
	if p.MinSaved >= r.Window {
		errs = append(errs, fmt.Errorf("min_saved %d is not below the window of %d", p.MinSaved, r.Window))
	}
	return errs
}

// Fires returns the trigger.
func (p *MicrocompactParams) Fires() *Trigger { return &p.Trigger }

// MicrocompactName is the registry's name of the layer.
const MicrocompactName = "microcompact"

var microcompactDefinition = Define(MicrocompactName,
	"clears the results of old tool calls in place, without a model call",
	MicrocompactParams{
		Switch: on, Subagents: true, KeepLast: 3, Threshold: 40000, MinSaved: 20000, Placeholder: 12, Pending: true,
		Tools: []string{"Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"},
	},
	func(p MicrocompactParams) Layer { return &microcompact{params: p} })

// microcompact is the state of the layer on one thread: only storage, as what
// was cleared shows in the context.
type microcompact struct {
	params   MicrocompactParams
	eligible []bool // by Block.Tool; as long as the session's list of tools
	results  []clearable
}

// clearable is a call of an eligible tool whose result is not cleared yet.
type clearable struct {
	call     int32
	position int   // of the result; -1 while there is none
	tokens   int64 // by the layer's count
}

func (l *microcompact) Name() string { return MicrocompactName }
func (l *microcompact) Clone() Layer { return &microcompact{params: l.params} }
func (l *microcompact) Reset()       { l.eligible, l.results = l.eligible[:0], l.results[:0] }

func (l *microcompact) BeforeRequest(t *Turn) Outcome {
	switch {
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not clear"}
	case !t.Check(MicrocompactName, &l.params.Trigger):
		return Outcome{Declined, "below the trigger"}
	}
	l.find(t)
	marked, saved := l.mark()
	if len(marked) == 0 {
		return Outcome{Declined, "tool results below the threshold"}
	}
	if saved < l.params.MinSaved {
		return Outcome{Declined, "too little to save"}
	}
	l.clear(t, marked, saved)
	return Outcome{Verdict: Done}
}

// find lists the calls of eligible tools that are not cleared, in order.
func (l *microcompact) find(t *Turn) {
	l.results = l.results[:0]
	c := t.Context
	for i := Body(c); i < c.Len(); i++ {
		switch e := c.At(i); e.Kind {
		case prompt.KindToolUse:
			if b := c.Block(e.Block); l.clears(t, b) {
				l.results = append(l.results, clearable{call: b.Call, position: -1})
			}
		case prompt.KindToolResult:
			l.pair(c.Block(e.Block), e.Form, i)
		}
	}
}

// pair gives a result to its call, or takes the call off the list when the
// result is cleared already. Results stand shortly behind their calls.
func (l *microcompact) pair(b *prompt.Block, f prompt.Form, position int) {
	for j := len(l.results) - 1; j >= 0; j-- {
		r := &l.results[j]
		if r.call != b.Call || r.position >= 0 {
			continue
		}
		if f != prompt.FormVerbatim {
			l.results = slices.Delete(l.results, j, j+1)
			return
		}
		r.position, r.tokens = position, l.count(b)
		return
	}
}

// clears reports whether results of a call's tool may be cleared.
func (l *microcompact) clears(t *Turn, b *prompt.Block) bool {
	for len(l.eligible) < len(t.Tools) {
		l.eligible = append(l.eligible, slices.Contains(l.params.Tools, t.Tools[len(l.eligible)]))
	}
	return b.Flags&prompt.FlagMCP == 0 && int(b.Tool) < len(l.eligible) && l.eligible[b.Tool]
}

// count returns the tokens of a result. The client caches its estimate by call
// id; content never changes, so there is nothing to cache here (001:1017: text
// length/4, an image 2,000, no padding).
func (l *microcompact) count(b *prompt.Block) int64 {
	const imageTokens = 2000
	switch {
	case l.params.Count == CountTrue:
		return int64(b.Tokens)
	case b.Flags&prompt.FlagImage != 0:
		return imageTokens
	}
	return int64(b.Bytes+2) / 4
}

// mark walks the calls oldest first, the newest kept aside, and returns the
// results to clear with the tokens they hold. The test precedes each addition
// (001:914-941), and kept results count in the total.
func (l *microcompact) mark() (marked []clearable, saved int64) {
	var total int64
	for _, r := range l.results {
		total += r.tokens
	}
	n := 0
	for _, r := range l.results[:max(0, len(l.results)-l.params.KeepLast)] {
		if total-saved <= l.params.Threshold {
			break
		}
		if r.position >= 0 {
			l.results[n] = r
			n++
			saved += r.tokens
		}
	}
	return l.results[:n], saved
}

// clear replaces the marked results by the placeholder.
func (l *microcompact) clear(t *Turn, marked []clearable, saved int64) {
	c := t.Context
	b := Boundary{Kind: BoundaryMicro, Before: int64(c.Tokens()), Cleared: len(marked)}
	form := prompt.FormCleared
	if l.params.Persist {
		form = prompt.FormPointer
	}
	for _, r := range marked {
		c.SetForm(r.position, form, l.params.Placeholder, prompt.CauseEdit)
	}
	if l.params.Memory {
		l.clearMemory(c, marked[len(marked)-1].position)
	}
	b.After = int64(c.Tokens())
	if l.params.Pending {
		b.Uncounted = saved
	}
	t.Compacted(b)
}

// clearMemory empties the memory files attached ahead of position to.
func (l *microcompact) clearMemory(c *prompt.Context, to int) {
	for i := Body(c); i < to; i++ {
		if e := c.At(i); e.Form == prompt.FormVerbatim && c.Block(e.Block).Flags&prompt.FlagMemory != 0 {
			c.SetForm(i, prompt.FormCleared, l.params.Placeholder, prompt.CauseEdit)
		}
	}
}
