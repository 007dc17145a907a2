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
// nothing is said anew, so that a clearing of results is all that the lines tell. Prompts and calls since then keep their ids.
func (f *file) mask(line int, messages []record, kept map[int32]bool) bool {
	calls, masked := f.findMasked(messages)
	if masked == nil {
		return false
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
	step := assembly.Step{Kind: assembly.StepClear, Line: int32(line)}
	for _, id := range masked {
		if !f.masked[id] {
			f.masked[id], step.Cleared = true, append(step.Cleared, id)
		}
	}
	counted, end, known := f.findCopies(messages)
	for i := f.at; i != last; i = f.Parent(i) {
		if i <= end && !counted[i] {
			f.Set(i, nil)
		}
	}
	if step.Cleared != nil {
		f.at = f.Add(f.at, []assembly.Step{step})
	}
	for k := range messages {
		i, ok := f.index.Get(messages[k].ID)
		if ok && len(f.Steps(i)) == 0 || !ok && messages[k].Tokens == nil && (k < known || known < 0) {
			f.index.Set(messages[k].ID, f.at)
			delete(f.uncounted, messages[k].ID)
		}
	}
	return true
}

// findMasked returns the calls of tools in messages, and the calls whose result is masked.
func (f *file) findMasked(messages []record) (calls map[prompt.Digest]bool, masked []prompt.Digest) {
	calls = map[prompt.Digest]bool{}
	for k := range messages {
		for _, p := range assembly.PartsOf(f.Maker, messages[k].Content, (*part).text) {
			if p.Call != nil {
				calls[assembly.CallID(p.Call.ID)] = true
			} else if p.Response != nil && strings.HasPrefix(p.Response.Said.Text(), maskedOutput) {
				masked = append(masked, assembly.CallID(p.Response.ID))
			}
		}
		for i := range messages[k].Calls {
			calls[assembly.CallID(messages[k].Calls[i].ID)] = true
		}
	}
	return calls, masked
}

// findCopies returns the entries of messages that are calls with counts, the last entry that is a copy, and the place of the last message
// that a line had before. Copies of answers have no counts. A prompt behind the last of these copies is one too, where every message was
// written ahead of the set and none has counts.
func (f *file) findCopies(messages []record) (counted map[int32]bool, end int32, known int) {
	counted, end, known = map[int32]bool{}, -1, -1
	written := true
	for k := range messages {
		i, ok := f.index.Get(messages[k].ID)
		if !ok {
			written = false
			continue
		}
		known = k
		if _, bare := f.uncounted[messages[k].ID]; bare {
			end = max(end, i)
		} else if messages[k].Type == "gemini" {
			counted[i], written = true, false
		}
	}
	if written {
		end = f.at
	}
	return counted, end, known
}
