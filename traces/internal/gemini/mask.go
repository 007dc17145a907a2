package gemini

import (
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// maskedOutput is how the client begins what it puts in the place of an old result (0.61.0).
const maskedOutput = "<tool_output_masked>"

// mask takes messages that replace the history for the same history with results masked, and reports whether this is so: they have every
// call of a tool that the history has, and masked results. The client writes each message under a new id, and then sets all messages;
// nothing is said anew, so that a clearing of results is all that the lines tell.
func (f *file) mask(line int, messages []record, kept map[int32]bool) bool {
	calls := map[prompt.Digest]bool{}
	var masked []prompt.Digest
	resumed := false // by a process that gives the history as it is, with the counts of calls since the results were masked
	for k := range messages {
		resumed = resumed || messages[k].Tokens != nil
		for _, p := range assembly.PartsOf(f.Maker, messages[k].Content, (*part).text) {
			switch {
			case p.Call != nil:
				calls[assembly.CallID(p.Call.ID)] = true
			case p.Response != nil && strings.HasPrefix(p.Response.Said.Text(), maskedOutput):
				masked = append(masked, assembly.CallID(p.Response.ID))
			}
		}
		for i := range messages[k].Calls {
			calls[assembly.CallID(messages[k].Calls[i].ID)] = true
		}
	}
	last := f.at
	for last >= 0 && kept[last] {
		last = f.Parent(last)
	}
	for i := last; i >= 0; i = f.Parent(i) {
		for _, st := range f.Steps(i) {
			for _, b := range st.Blocks {
				if b.Kind == prompt.KindToolUse && !calls[b.ID] {
					return false
				}
			}
		}
	}
	if masked == nil || resumed {
		return resumed && masked != nil
	}
	step := assembly.Step{Kind: assembly.StepClear, Line: int32(line)}
	for _, id := range masked {
		if !f.masked[id] {
			f.masked[id], step.Cleared = true, append(step.Cleared, id)
		}
	}
	for i := f.at; i != last; i = f.Parent(i) {
		f.Set(i, nil)
	}
	if f.at = last; step.Cleared != nil {
		f.at = f.Add(last, []assembly.Step{step})
	}
	for k := range messages {
		if i, ok := f.index.Get(messages[k].ID); ok && len(f.Steps(i)) == 0 {
			f.index.Set(messages[k].ID, f.at)
			delete(f.uncounted, messages[k].ID)
		}
	}
	return true
}
