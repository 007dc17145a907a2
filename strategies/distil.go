package strategies

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// distilParams are the parameters of distil. Sizes are tokens.
type distilParams struct {
	Switch      `yaml:",inline"`
	Trigger     Trigger   `yaml:"trigger" doc:"level from which on it distils"`
	When        when      `yaml:"when" doc:"further conditions"`
	Tools       toolNames `yaml:"tools" doc:"tools whose results are distilled, by name or operation, or all; tools of MCP too"`
	Exclude     toolNames `yaml:"exclude_tools" doc:"tools whose results stay"`
	MinTokens   int32     `yaml:"min_tokens" doc:"smaller results stay" unit:"tokens" min:"1"`
	Keep        KeepSet   `yaml:"keep" doc:"messages whose results stay"`
	KeepResults int       `yaml:"keep_results" doc:"newest results of these tools that stay" unit:"results" min:"0" off:"0"`
	Forgets     bool      `yaml:"forgets" doc:"answers for results of earlier turns are for one turn: with the next prompt these results are there again"`
	Model       string    `yaml:"model" doc:"model that is asked: its name, fast for the small one of the session's family, or \"\" for the session's"`
	Head        int32     `yaml:"head" doc:"tokens of the call's system prompt" unit:"tokens" min:"0"`
	Instruction int32     `yaml:"instruction" doc:"tokens of the instruction at the end of the call" unit:"tokens" min:"0"`
	Share       float64   `yaml:"share" doc:"size of an answer, as a share of its result" unit:"share" above:"0" below:"1"`
	Most        int32     `yaml:"most" doc:"most tokens of an answer; 0 for no limit" unit:"tokens" min:"0" off:"0"`
}

// Fires returns the trigger.
func (p *distilParams) Fires() *Trigger { return &p.Trigger }

// Rules returns contradictions between the parameters.
func (p *distilParams) Rules() []error { return p.Tools.required("tools") }

const distilName = "distil"

var distilDefinition = Define(distilName,
	"replaces old results one by one by what a model's call makes of each",
	distilParams{
		Switch: on, When: unconditional, Tools: toolNames{allTools}, Exclude: toolNames{}, MinTokens: 500, Model: fastModel, Head: 100,
		Instruction: 200, Share: 0.2,
	},
	func(p distilParams) Layer {
		return &distil{params: p, tools: toolset{named: p.Tools, excluded: p.Exclude, mcp: true}}
	}).with(Traits{Clears: true})

// distil is the state of the layer on one thread: the results of the edit under way.
type distil struct {
	params  distilParams
	tools   toolset
	waiting []int32 // ids of results not asked for yet, newest first
	asked   int32   // id of the result whose call is under way
	answer  prompt.Answer
	edit    Boundary
	past    []int32 // ids of results of earlier turns that were distilled in this one, where it forgets them
	anew    uint8   // how often it has forgotten some: what is asked for again is answered in other words
}

var (
	_ BeforeRequest = (*distil)(nil)
	_ IntentResult  = (*distil)(nil)
	_ Choosy        = (*distil)(nil)
)

func (l *distil) Name() string { return distilName }

func (l *distil) Clone() Layer {
	return &distil{params: l.params, past: slices.Clone(l.past), anew: l.anew, tools: toolset{named: l.params.Tools, excluded: l.params.Exclude, mcp: true}}
}

func (l *distil) Copy() Layer {
	c := *l
	c.waiting, c.past, c.tools.member = slices.Clone(l.waiting), slices.Clone(l.past), slices.Clone(l.tools.member)
	return &c
}

func (l *distil) Reset() {
	l.waiting, l.past, l.asked, l.anew = l.waiting[:0], l.past[:0], 0, 0
	l.tools.reset()
}

func (l *distil) Unfit(s *traces.Session) string { return l.params.Tools.unfit(s) }

func (l *distil) BeforeRequest(t *Turn) Outcome {
	if t.Trigger == traces.TriggerPrompt {
		l.forget(t)
	}
	if !l.params.When.fires(t, distilName, &l.params.Trigger, false) {
		return Outcome{Declined, "below the trigger"}
	}
	l.gather(t)
	l.edit = Boundary{Kind: BoundaryMicro, Before: int64(t.Context.Tokens())}
	return l.next(t)
}

// forget puts results of earlier turns back that were distilled in the turn before, and brings what the turn measured up to date.
func (l *distil) forget(t *Turn) {
	c := t.Context
	before := c.Tokens()
	for _, id := range l.past {
		if at := c.Index(id); at >= 0 {
			c.SetForm(at, prompt.FormVerbatim, c.BlockAt(at).Tokens, prompt.CauseEdit)
		}
	}
	if len(l.past) > 0 {
		l.anew++
	}
	l.past = l.past[:0]
	t.Reading.add(int64(c.Tokens() - before))
}

// earlier reports whether the entry at a position belongs to an earlier turn than the newest prompt.
func earlier(c *prompt.Context, at int) bool {
	for i := at + 1; i < c.Len(); i++ {
		if c.At(i).Kind == prompt.KindPrompt {
			return true
		}
	}
	return false
}

// gather lists the results to ask for.
func (l *distil) gather(t *Turn) {
	c, p := t.Context, &l.params
	from := p.Keep.start(c, Body(c), c.Len())
	to := p.Keep.cut(c, from, c.Len(), t.window())
	l.waiting = l.waiting[:0]
	for i, kept := c.Len()-1, p.KeepResults; i >= from; i-- {
		e := c.At(i)
		switch {
		case e.Kind != prompt.KindToolResult || !l.tools.has(t, c.BlockAt(i)):
		case kept > 0:
			kept--
		case i < to && e.Form == prompt.FormVerbatim && e.Tokens >= p.MinTokens:
			l.waiting = append(l.waiting, e.ID)
		}
	}
}

// next asks for the oldest result that waits, or ends the edit.
func (l *distil) next(t *Turn) Outcome {
	for n := len(l.waiting); n > 0; n = len(l.waiting) {
		l.asked, l.waiting = l.waiting[n-1], l.waiting[:n-1]
		if at := t.Context.Index(l.asked); at >= 0 {
			return t.Call(l.intent(t, at))
		}
	}
	if l.edit.Cleared == 0 {
		return Outcome{Declined, "no result to distil"}
	}
	l.edit.After = int64(t.Context.Tokens())
	t.Compacted(l.edit)
	return Outcome{Verdict: Done}
}

// intent returns the call for the result at a position. No other call has its prefix, so that its maker has no reason to mark it for the cache.
func (l *distil) intent(t *Turn, at int) prompt.Intent {
	p, tokens := &l.params, t.Context.At(at).Tokens
	n := max(1, int32(p.Share*float64(tokens)))
	if p.Most > 0 {
		n = min(n, p.Most)
	}
	l.answer = prompt.Answer{
		Summary: n, Output: n, Bytes: n * bytesPerToken,
		Digest: t.Context.BlockAt(at).Digest.Extend(prompt.DigestString(distilName)),
	}
	return prompt.Intent{
		Source: distilName, Way: waySmallModel.String(), Model: fast(t, distilName, p.Model), Own: true, Unmarked: true, Head: p.Head,
		From: int32(at), To: int32(at) + 1, Instruction: p.Instruction, Summarised: tokens, // the result is a text within it
		Known: &l.answer, Ordinal: uint8(len(l.waiting)),
	}
}

// IntentResult puts the answer in the place of its result.
func (l *distil) IntentResult(t *Turn, r *prompt.Result) Outcome {
	at := t.Context.Index(l.asked)
	if at < 0 || r.Failed != "" || r.Summary >= t.Context.At(at).Tokens {
		t.Refuse(distilName, cmp.Or(r.Failed, "the answer is not smaller"))
		return l.next(t)
	}
	b := t.Context.BlockAt(at)
	l.edit.Uncounted += max(0, int64(b.Bytes)/bytesPerToken-int64(r.Summary))
	t.Context.SetForm(at, prompt.FormRange, r.Summary, prompt.CauseEdit)
	if l.edit.Cleared++; l.params.Forgets && earlier(t.Context, at) {
		l.past = append(l.past, l.asked)
		t.Context.Reword(at, l.anew)
	}
	return l.next(t)
}
