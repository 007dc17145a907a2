package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// clearable is a call of an eligible tool whose result is not cleared.
type clearable struct {
	call     int32 // Block.Call
	use      int32 // id of the call's entry
	id       int32 // id of the result's entry; −1 while there is none
	at       int   // position of the result when it was listed
	useAt    int   // position of the call when it was listed
	tokens   int32 // of the result in its present form
	estimate int64 // of the result by the client: a quarter of its bytes, an image 2,000
	input    int32 // tokens of the call
}

// clearables lists the calls of eligible tools in the order they were met. It
// looks at what was appended since it was last brought up to date; what other
// layers have made of older entries shows when it is listed again.
type clearables struct {
	tools toolset
	next  int32 // id of the first entry not looked at
	list  []clearable
	// How many calls in the list have a result, and their sums.
	paired   int
	tokens   int64
	estimate int64
	inputs   int64 // tokens of all calls in the list
}

func newClearables(tools toolNames) clearables { return clearables{tools: toolset{named: tools}} }

// forget empties the list, as for a context never looked at.
func (r *clearables) forget() {
	r.next, r.list = 0, r.list[:0]
	r.paired, r.tokens, r.estimate, r.inputs = 0, 0, 0, 0
}

// reset is forget for another session, which has other tools.
func (r *clearables) reset() {
	r.forget()
	r.tools.reset()
}

// clone returns an independent copy.
func (r *clearables) clone() clearables {
	c := *r
	c.list, c.tools.member = slices.Clone(r.list), slices.Clone(r.tools.member)
	return c
}

// relist lists the whole context again, so that positions hold.
func (r *clearables) relist(t *Turn) {
	r.forget()
	r.update(t)
}

// refresh brings positions and sizes up to date: it lists the context again if
// another layer has changed or moved what is listed, and reports
// whether it had to.
func (r *clearables) refresh(t *Turn) bool {
	r.update(t)
	for i := range r.list {
		if u := &r.list[i]; !standsAt(t.Context, u.useAt, u.use, u.input) || u.id >= 0 && !standsAt(t.Context, u.at, u.id, u.tokens) {
			r.relist(t)
			return true
		}
	}
	return false
}

// standsAt reports whether the entry with an id is at a position and has a size.
func standsAt(c *prompt.Context, at int, id, tokens int32) bool {
	if at >= c.Len() {
		return false
	}
	e := c.At(at)
	return e.ID == id && e.Tokens == tokens
}

// drop takes calls off the list.
func (r *clearables) drop(gone func(clearable) bool) {
	kept := r.list[:0]
	for _, u := range r.list {
		if !gone(u) {
			kept = append(kept, u)
			continue
		}
		if u.id >= 0 {
			r.paired--
			r.tokens -= int64(u.tokens)
			r.estimate -= u.estimate
		}
		r.inputs -= int64(u.input)
	}
	r.list = kept
}

// update takes in what was appended since. Ids of entries grow, so the first one
// met before ends the search.
func (r *clearables) update(t *Turn) {
	c := t.Context
	from := c.Len()
	for from > 0 && c.At(from-1).ID >= r.next {
		from--
	}
	for i := from; i < c.Len(); i++ {
		e := c.At(i)
		r.next = max(r.next, e.ID+1)
		switch b := c.Block(e.Block); e.Kind {
		case prompt.KindToolUse:
			if r.tools.has(t, b) {
				r.list = append(r.list, clearable{call: b.Call, use: e.ID, useAt: i, id: -1, input: e.Tokens})
				r.inputs += int64(e.Tokens)
			}
		case prompt.KindToolResult:
			r.pair(e, b, i)
		}
	}
}

// pair gives a result to its call, or takes the call off the list when the
// result is cleared already. Results follow shortly after their calls.
func (r *clearables) pair(e *prompt.Entry, b *prompt.Block, at int) {
	for j := len(r.list) - 1; j >= 0; j-- {
		u := &r.list[j]
		if u.call != b.Call || u.id >= 0 {
			continue
		}
		if e.Form == prompt.FormCleared || e.Form == prompt.FormPointer {
			r.inputs -= int64(u.input)
			r.list = slices.Delete(r.list, j, j+1)
			return
		}
		u.id, u.at, u.tokens, u.estimate = e.ID, at, e.Tokens, estimateResult(e, b)
		r.paired++
		r.tokens += int64(u.tokens)
		r.estimate += u.estimate
		return
	}
}

// mediaTokens are what the client counts for an image or a document (001:881, lI2).
const mediaTokens = 2000

// estimateResult is the client's count of a result: its length in characters by
// four, 2,000 for each image beside it, no padding (001:1000-1017). The client caches it
// by call id; content never changes, so there is nothing to cache here.
func estimateResult(e *prompt.Entry, b *prompt.Block) int64 {
	if e.Form != prompt.FormVerbatim {
		return int64(shownBytes(e, b)+2) / 4
	}
	return int64(b.Bytes+2)/4 + int64(b.Flags.Images())*mediaTokens
}

// shownBytes is how many bytes of its block an entry shows.
func shownBytes(e *prompt.Entry, b *prompt.Block) int32 {
	if e.Form == prompt.FormVerbatim || b.Tokens <= 0 {
		return b.Bytes
	}
	return int32(int64(b.Bytes) * int64(e.Tokens) / int64(b.Tokens))
}

// older returns the listed calls but for the newest ones, with a result or
// without.
func (r *clearables) older(keep int) []clearable {
	return r.list[:max(0, len(r.list)-keep)]
}

// olderResults returns the listed calls before the newest results.
func (r *clearables) olderResults(keep int) []clearable {
	i := len(r.list)
	for ; i > 0 && keep > 0; i-- {
		if r.list[i-1].id >= 0 {
			keep--
		}
	}
	return r.list[:i]
}

// compactable are the tools whose results Claude Code clears (001:1070; 002,
// "Compactable Tools"; 004:367).
func compactable() []string {
	return []string{"Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"}
}

// clearResults changes listed results, whose positions must hold, to another
// form, and returns what that did. A result that is smaller than the text in its
// place is cleared all the same, as the client does. One that was deleted from
// the cached prefix is not in the client's count; its deletion ends.
func clearResults(t *Turn, old []clearable, form prompt.Form, tokens int32) Boundary {
	c := t.Context
	b := Boundary{Kind: BoundaryMicro, Before: int64(c.Tokens())}
	for i := range old {
		r := &old[i]
		if r.id < 0 {
			continue
		}
		if t.IsDeleted(r.id) {
			t.Undelete(r.id)
		} else {
			b.Uncounted += r.estimate
		}
		c.SetForm(r.at, form, tokens, prompt.CauseEdit)
		b.Cleared++
	}
	b.After = int64(c.Tokens())
	return b
}
