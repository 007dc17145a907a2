package strategies

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// cachedClearParams are the parameters of cached-microcompact.
type cachedClearParams struct {
	Switch     `yaml:",inline"`
	MainGuard  bool      `yaml:"main_thread_guard" doc:"only the main thread deletes; off, sub-agents register and delete results of their own too"`
	Models     []string  `yaml:"models" doc:"models that support deletions; none named: all; which ones did is assumed"`
	Tools      toolNames `yaml:"tools" doc:"tools whose results may be deleted, by name or operation, or all; tools of MCP never are"`
	Threshold  int       `yaml:"threshold" doc:"number of registered results not yet deleted from which the older ones are deleted" unit:"results" min:"0"`
	KeepRecent int       `yaml:"keep_recent" doc:"newest results that stay; assumed" unit:"results" min:"0"`
	Pin        bool      `yaml:"pin" doc:"a block of deletions stays at its place in every later request; off, it is sent once and the deletion is lost with it"`
	EditTokens int32     `yaml:"edit_tokens" doc:"tokens of each deletion in its block; assumed" min:"0"`
	Forget     bool      `yaml:"forget_deleted_on_expiry" doc:"deletions are forgotten when a response reads over 2,000 tokens and 5 % less than the one before, deletions aside, and the results come back; off, they stay declared"`
	Pending    bool      `yaml:"count_pending_clears" doc:"a deletion lowers the client's count at once, not with the next response; assumed"`
}

// Rules returns contradictions between the parameters.
func (p *cachedClearParams) Rules() []error {
	errs := p.Tools.required("tools")
	if p.Threshold <= p.KeepRecent {
		errs = append(errs, spec.Wrong("threshold", "%d must be more than keep_recent %d", p.Threshold, p.KeepRecent))
	}
	return errs
}

var cachedClearDefinition = Define(standard.CachedClear,
	"lets the server delete old tool results from the cached prefix, which stays valid",
	cachedClearParams{
		Switch: on, MainGuard: true, Models: []string{}, Tools: compactable(), Threshold: 12, KeepRecent: 5, Pin: true, EditTokens: 25,
		Forget: true, Pending: true,
	},
	func(p cachedClearParams) Layer { return &cachedClear{params: p, active: newClearables(p.Tools)} }).with(Traits{Clears: true})

// cachedClear is the state of the layer on one thread (002:41-54): what is
// registered and active, in order, and what was deleted.
type cachedClear struct {
	params  cachedClearParams
	active  clearables
	deleted []int32 // ids of results, in order of deletion; never deleted again
	lost    bool    // their deletion is no longer in force
	pins    []int32 // ids of the blocks of deletions in the context
	cold    bool    // the last response has shown that the cache is gone
	read    int64   // by the last response, less what was deleted since, tokens; 0 behind a compaction
}

var (
	_ BeforeRequest   = (*cachedClear)(nil)
	_ AfterResponse   = (*cachedClear)(nil)
	_ AfterCompaction = (*cachedClear)(nil)
	_ Choosy          = (*cachedClear)(nil)
)

func (l *cachedClear) Name() string { return standard.CachedClear }

func (l *cachedClear) Clone() Layer {
	return &cachedClear{
		params: l.params, active: l.active.clone(),
		deleted: slices.Clone(l.deleted), lost: l.lost, pins: slices.Clone(l.pins), cold: l.cold, read: l.read,
	}
}

func (l *cachedClear) Copy() Layer { return l.Clone() }

func (l *cachedClear) Unfit(s *traces.Session) string { return l.params.Tools.unfit(s) }

func (l *cachedClear) Reset() {
	l.active.reset()
	l.deleted, l.pins, l.lost, l.cold, l.read = l.deleted[:0], l.pins[:0], false, false, 0
}

// AfterCompaction clears the state: ids are no longer valid (002:55, 002:169), and the next
// response reads less because the context is shorter (002:153).
func (l *cachedClear) AfterCompaction(t *Turn) {
	l.clear(t)
	l.cold, l.read = false, 0
}

func (l *cachedClear) BeforeRequest(t *Turn) Outcome {
	switch {
	case isAgent(t.Kind) && l.params.MainGuard:
		return Outcome{Declined, "not the main thread"}
	case len(l.params.Models) > 0 && !slices.Contains(l.params.Models, t.Model):
		return Outcome{Declined, "the model has no deletions"}
	}
	l.active.update(t)
	if l.overtaken(t) {
		l.forget(t)
	}
	if !l.params.Pin {
		l.unpin(t)
	}
	switch {
	case l.cold || !t.Warm():
		return Outcome{Declined, "the cache is cold"}
	case l.active.paired < l.params.Threshold:
		return Outcome{Declined, "too few results"}
	}
	return l.remove(t)
}

// AfterResponse forgets the deletions when the read of the response shows that the cache
// they refer to has expired or no longer begins the request (002:55; the thresholds are the
// client's break detector's, 000:613). The next request, without their blocks,
// is no prefix that the server holds, so that nothing can be deleted from it either.
func (l *cachedClear) AfterResponse(t *Turn) Outcome {
	fall := l.read - t.Usage.Read
	gone := fall > breaks.MinDrop && float64(fall) > breaks.MinDropShare*float64(l.read)
	l.read, l.cold = t.Usage.Read, false
	if !gone || !l.params.Forget || len(l.deleted) == 0 {
		return Outcome{Verdict: Declined, Reason: "the cache holds"}
	}
	l.forget(t)
	l.cold = true
	return t.Refuse(standard.CachedClear, "the read fell: deletions are forgotten")
}

// overtaken reports whether another layer has cleared in place what was
// deleted: time-based clearing takes over, and the state starts over.
func (l *cachedClear) overtaken(t *Turn) bool {
	return len(l.deleted) > 0 && !l.lost && !t.IsDeleted(l.deleted[0])
}

// forget takes all deletions back: the requests to come hold the results whole.
func (l *cachedClear) forget(t *Turn) {
	l.comeBack(t)
	l.clear(t)
}

// comeBack undoes the deletions in force and counts their tokens.
func (l *cachedClear) comeBack(t *Turn) {
	var tokens int64
	for _, id := range l.deleted {
		if !t.IsDeleted(id) {
			continue
		}
		t.Undelete(id)
		if i := t.Context.Index(id); i >= 0 {
			tokens += int64(t.Context.At(i).Tokens)
		}
	}
	t.Count(measures.ReturnedTokens, tokens)
}

// clear resets the state to the state of a thread that has deleted nothing.
func (l *cachedClear) clear(t *Turn) {
	l.dropPins(t)
	l.active.forget()
	l.deleted, l.lost = l.deleted[:0], false
}

// unpin removes the blocks of deletions once they were sent, and takes the deletions
// back. The results are not deleted a second time.
func (l *cachedClear) unpin(t *Turn) {
	if len(l.pins) > 0 {
		l.comeBack(t)
		l.dropPins(t)
		l.lost = true
	}
}

// dropPins removes the blocks of deletions from the context.
func (l *cachedClear) dropPins(t *Turn) {
	for _, id := range l.pins {
		i := t.Context.Index(id)
		if i < 0 {
			continue
		}
		t.Context.Replace(i, i+1, nil, prompt.CauseEdit)
		if i < t.InputAt {
			t.InputAt--
		}
	}
	l.pins = l.pins[:0]
}

// remove deletes the older results that are active. One of this round's input
// comes after the last marker and has no reference yet.
func (l *cachedClear) remove(t *Turn) Outcome {
	if l.active.refresh(t) {
		l.active.drop(func(r clearable) bool { return slices.Contains(l.deleted, r.id) })
	}
	if l.active.paired < l.params.Threshold {
		return Outcome{Declined, "too few results"}
	}
	edit := prompt.Block{Kind: prompt.KindAttachment, Object: -1, Flags: prompt.FlagMeta, Digest: prompt.DigestString("cache_edits")}
	b := Boundary{Kind: BoundaryMicro, Before: int64(t.Context.Tokens())}
	had := len(l.deleted)
	for _, r := range l.active.olderResults(l.params.KeepRecent) {
		if r.id < 0 || r.at >= t.InputAt {
			continue
		}
		t.Delete(r.id)
		l.deleted = append(l.deleted, r.id)
		edit.Digest = edit.Digest.Extend(t.Context.BlockAt(r.at).Digest)
		edit.Tokens += l.params.EditTokens
		b.Deleted += int64(r.tokens)
	}
	gone := l.deleted[had:]
	if len(gone) == 0 {
		return Outcome{Declined, "no result before the last marker"}
	}
	l.active.drop(func(r clearable) bool { return slices.Contains(gone, r.id) })
	l.lost, l.read = false, l.read-b.Deleted
	l.pin(t, edit)
	t.Count(measures.CacheDeletions, int64(len(gone)))
	t.Count(measures.DeletedTokens, b.Deleted)
	if l.params.Pending {
		b.Uncounted = b.Deleted
	}
	b.After = int64(t.Context.Tokens())
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// pin appends a block of deletions to the input.
func (l *cachedClear) pin(t *Turn, edit prompt.Block) {
	edit.Bytes = edit.Tokens * bytesPerToken
	l.pins = append(l.pins, t.Context.Add(edit))
}

// timeClearParams are the parameters of time-microcompact.
type timeClearParams struct {
	Switch      `yaml:",inline"`
	GapMinutes  int64     `yaml:"gap_minutes" doc:"minutes since the last response after which results are cleared" min:"1" max:"153722867"`
	ColdOnly    bool      `yaml:"cold_only" doc:"clear only when the lifetime of the cache has passed too; off, the gap alone decides"`
	Subagents   bool      `yaml:"subagents" doc:"sub-agents clear too; assumed"`
	Tools       toolNames `yaml:"tools" doc:"tools whose results may be cleared, by name or operation, or all; tools of MCP never are"`
	KeepRecent  int       `yaml:"keep_recent" doc:"newest results of these tools that stay; at least 1 does" unit:"results" min:"0"`
	Placeholder int32     `yaml:"placeholder" doc:"tokens of the text in the place of a cleared result" unit:"tokens" min:"0"`
	Pending     bool      `yaml:"count_pending_clears" doc:"a clearing lowers the client's count at once, not with the next response; assumed"`
}

// Rules returns contradictions between the parameters.
func (p *timeClearParams) Rules() []error { return p.Tools.required("tools") }

// level is a longer gap as a condition.
func (p *timeClearParams) level() Trigger {
	return Trigger{Measure: MeasureIdle, Fixed: p.GapMinutes*int64(time.Minute) + 1} // 002:41: longer than the gap
}

var timeClearDefinition = Define(standard.TimeClear,
	"clears old tool results in place after a gap in which the cache went cold",
	timeClearParams{Switch: on, GapMinutes: 60, Subagents: true, Tools: compactable(), KeepRecent: 5, Placeholder: 12, Pending: true},
	func(p timeClearParams) Layer {
		return &timeClear{params: p, gap: p.level(), results: newClearables(p.Tools)}
	}).with(Traits{Clears: true, Polls: []string{"gap_minutes", "keep_recent"}})

// timeClear is the state of the layer on one thread: only storage, as what was
// cleared shows in the context.
type timeClear struct {
	params  timeClearParams
	gap     Trigger
	results clearables
	due     func(thread, round int32) bool // a schedule that replaces the gap; nil for none
}

var (
	_ BeforeRequest = (*timeClear)(nil)
	_ Choosy        = (*timeClear)(nil)
)

func (l *timeClear) Name() string { return standard.TimeClear }

func (l *timeClear) Clone() Layer {
	return &timeClear{params: l.params, gap: l.gap, results: newClearables(l.params.Tools), due: l.due}
}

func (l *timeClear) Copy() Layer { return l.Clone() }

func (l *timeClear) adopt(params any) {
	l.params = *params.(*timeClearParams)
	l.gap = l.params.level()
}

func (l *timeClear) Unfit(s *traces.Session) string { return l.params.Tools.unfit(s) }

func (l *timeClear) Reset() { l.results.reset() }

// old returns the listed calls whose results are cleared.
func (l *timeClear) old(p *timeClearParams) []clearable {
	return l.results.olderResults(max(1, p.KeepRecent))
}

func (l *timeClear) BeforeRequest(t *Turn) Outcome {
	if l.due != nil {
		return l.onSchedule(t)
	}
	switch {
	case t.Usage.Input() == 0:
		return Outcome{Declined, "no response so far"}
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not clear"}
	case !t.Check(standard.TimeClear, &l.gap):
		return Outcome{Declined, "the gap is too short"}
	case l.params.ColdOnly && t.Warm():
		return Outcome{Declined, "the cache is warm"}
	}
	l.results.relist(t)
	old := l.old(&l.params)
	if t.Kin != nil {
		poll(t.Kin, standard.TimeClear, func(p *timeClearParams) int { return len(l.old(p)) })
	}
	b := clearResults(t, old, prompt.FormCleared, l.params.Placeholder)
	if b.Cleared == 0 {
		return t.Refuse(standard.TimeClear, "nothing old enough to clear")
	}
	if !l.params.Pending {
		b.Uncounted = 0
	}
	t.Compacted(b)
	return Outcome{Verdict: Done}
}
