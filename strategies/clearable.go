package strategies

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"gopkg.in/yaml.v3"
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

// allTools names all tools of a session.
const allTools = "all"

// operations are the words for what tools do, by Block.Op.
var operations = [...]string{
	op.Read: "read", op.Edit: "edit", op.Write: "write", op.Exec: "exec",
	op.Search: "search", op.Fetch: "web", op.Agent: "agent",
}

// toolNames are tools by name (Bash, exec_command), by operation (read, edit, write, exec, search,
// web, agent: every tool known to do it, whatever its name) or all.
type toolNames []string

// UnmarshalYAML reads a list of words, or one word.
func (n *toolNames) UnmarshalYAML(node *yaml.Node) error {
	list := []string{}
	if node.Kind == yaml.ScalarNode {
		list = append(list, node.Value)
	} else if err := node.Decode(&list); err != nil {
		return err //nolint:wrapcheck // the caller says where
	}
	for _, name := range list {
		if name == "*" {
			return fmt.Errorf("%q is no tool: tools: all means every tool", name)
		}
	}
	*n = list
	return nil
}

// required refuses an empty list at a path: of tools whose results a layer clears.
func (n toolNames) required(path string) []error {
	if len(n) == 0 {
		return []error{spec.Wrong(path, "names none whose results may be cleared")}
	}
	return nil
}

// holds reports whether a tool with a name, or one that does this, is among them.
func (n toolNames) holds(name string, does op.Op) bool {
	return slices.ContainsFunc(n, func(word string) bool {
		return word == name || word == allTools || does != op.None && word == operations[does]
	})
}

// unfit says why no call in a session can be a call of these tools; "" if one can, or if no tool
// is called there at all.
func (n toolNames) unfit(s *traces.Session) string {
	called := false
	for i := range s.Blocks {
		if b := &s.Blocks[i]; b.Kind == prompt.KindToolUse && int(b.Tool) < len(s.Tools) {
			if n.holds(s.Tools[b.Tool], b.Op) {
				return ""
			}
			called = true
		}
	}
	if !called {
		return ""
	}
	return measures.NotRun + "no tool of the session is among its tools"
}

// Choosy is implemented by layers that can do nothing in some sessions.
type Choosy interface {
	// Unfit says why the layer can do nothing in a session, beginning with NotRun; "" if it
	// can.
	Unfit(*traces.Session) string
}

// toolset is a set of tools by Block.Tool and Block.Op, so that a name is looked up once a
// session.
type toolset struct {
	named    toolNames // none: all tools
	excluded toolNames
	mcp      bool     // MCP tools may be among them
	member   []uint16 // operations, as bits, by Block.Tool, for those looked up so far
}

func (s *toolset) reset() { s.member = s.member[:0] }

// has reports whether the tool of a call or result belongs to the set.
func (s *toolset) has(t *Turn, b *prompt.Block) bool {
	for len(s.member) < len(t.Tools) {
		name, in := t.Tools[len(s.member)], uint16(0)
		for does := range operations {
			if (len(s.named) == 0 || s.named.holds(name, op.Op(does))) && !s.excluded.holds(name, op.Op(does)) {
				in |= 1 << does
			}
		}
		s.member = append(s.member, in)
	}
	return (s.mcp || b.Flags&prompt.FlagMCP == 0) && int(b.Tool) < len(s.member) && s.member[b.Tool]>>b.Op&1 != 0
}

// entryKinds returns the kinds of entries that may be of what is cleared.
func entryKinds(what []clearKind) (kinds [prompt.NumKinds]bool) {
	for _, k := range what {
		switch k {
		case clearOfResults:
			kinds[prompt.KindToolResult] = true
		case clearOfInputs:
			kinds[prompt.KindToolUse] = true
		case clearOfThinking:
			kinds[prompt.KindThinking] = true
		case clearOfTexts:
			kinds[prompt.KindText] = true
		case clearOfMedia: // a result may hold an image
			kinds[prompt.KindImage], kinds[prompt.KindDocument], kinds[prompt.KindToolResult] = true, true, true
		}
	}
	return kinds
}

// hasCallsBehind reports whether calls follow an entry in the same response.
func hasCallsBehind(c *prompt.Context, i int) bool {
	for i++; i < c.Len() && c.At(i).Kind.Assistant(); i++ {
		if c.At(i).Kind == prompt.KindToolUse {
			return true
		}
	}
	return false
}

// again returns the tokens of what stands once more ahead of a result: what its call says, and what is around that; -1 for a result that has it.
func (l *clearing) again(c *prompt.Context, at int) int32 {
	around, result := l.params.Leave.Again, c.At(at)
	switch {
	case around == 0 || result.Kind != prompt.KindToolResult:
		return 0
	case result.Form != prompt.FormVerbatim:
		return -1
	}
	for i := at - 1; i >= 0 && c.At(i).Kind != prompt.KindPrompt; i-- {
		if e := c.At(i); e.Kind == prompt.KindToolUse && c.BlockAt(i).Call == c.BlockAt(at).Call {
			return around + e.Tokens
		}
	}
	return around
}

// oldestResults returns the position behind the first n rounds with results among the entries [from, to), to for all.
func oldestResults(c *prompt.Context, from, to, n int) int {
	for i := from; i < to && n > 0; i++ {
		if c.At(i).Kind == prompt.KindToolResult && (i+1 == to || c.At(i+1).Kind != prompt.KindToolResult) {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return to
}
