// Package strategies holds the ways of managing a context: the contract of a
// layer, triggers as data, a file for each layer or for layers that belong together,
// and presets as embedded YAML.
//
// A layer implements only the hooks it needs. Hooks answer with an Outcome;
// model calls are intents the loop carries out. Layers never see prices.
package strategies

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"gopkg.in/yaml.v3"
)

// Strategy is a way of managing a context: configured layers in the order
// their hooks are called. It is immutable and shared by all threads.
type Strategy struct {
	Name string
	Doc  string
	// Group is the kind of program a preset is from, for lists: agents, libraries, papers; "" for
	// Claude Code's presets and this program's own.
	Group  string
	Origin Origin
	// Generation says whose client the strategy is; the zero value for none.
	Generation Generation

	client    *yaml.Node // the client half: keys of client and levels of a scenario; nil for none
	rank      int
	layers    []configured
	exclusive [][]string
	own       []*Strategy // the generations that it is made of, nil for a strategy of its own layers
}

type configured struct {
	def    Definition
	params any        // pointer to the parameters; nil for a layer the caller built
	group  int        // first_of group it belongs to, 0 for none
	given  *yaml.Node // the parameters that were given, in a strategy of generations
}

// on reports whether the layer is switched on.
func (c *configured) on() bool {
	s, ok := c.params.(interface{ On() bool })
	return !ok || s.On()
}

// trigger returns what the layer acts on, nil for one that acts without a level.
func (c *configured) trigger() *Trigger {
	if p, ok := c.params.(triggered); ok {
		return p.Fires()
	}
	return nil
}

// NewStrategy returns a strategy from layers built by the caller. Each thread gets a clone of the
// layers.
func NewStrategy(name, doc string, layers ...Layer) *Strategy {
	s := &Strategy{Name: name, Doc: doc}
	for _, l := range layers {
		s.layers = append(s.layers, configured{def: Definition{
			Name:  l.Name(),
			Build: func(any) Layer { return l.Clone() },
		}})
	}
	return s
}

// active returns the layers that are switched on. A strategy of generations has
// none itself.
func (s *Strategy) active() []configured {
	var list []configured
	if s.own != nil {
		return nil
	}
	for _, c := range s.layers {
		if c.on() {
			list = append(list, c)
		}
	}
	return list
}

// Layers returns a fresh set of the strategy's layers for one thread, without layers that are
// switched off.
func (s *Strategy) Layers() []Layer {
	active := s.active()
	layers := make([]Layer, len(active))
	for i, c := range active {
		layers[i] = c.def.Build(c.params)
	}
	return layers
}

// Bars returns for each of Layers, as bits by index, the layers that are not
// asked before a request once it has changed the context: those after it in
// a first_of group, and those it excludes.
func (s *Strategy) Bars() []uint64 {
	active := s.active()
	bars := make([]uint64, len(active))
	for i, a := range active {
		for j, b := range active {
			behind := a.group > 0 && a.group == b.group && j > i
			if i != j && (behind || s.excludes(a.def.Name, b.def.Name)) {
				bars[i] |= 1 << j
			}
		}
	}
	return bars
}

func (s *Strategy) excludes(a, b string) bool {
	return slices.ContainsFunc(s.exclusive, func(list []string) bool {
		return slices.Contains(list, a) && slices.Contains(list, b)
	})
}

// LayerNames returns the names of the layers that are switched on, in order.
func (s *Strategy) LayerNames() []string {
	var names []string
	for _, c := range s.active() {
		names = append(names, c.def.Name)
	}
	return names
}

// Shortens reports whether the strategy is one that shortens contexts, though a setting
// may have switched that layer off; a replay of the recording is none.
func (s *Strategy) Shortens() bool {
	return slices.ContainsFunc(s.layers, func(c configured) bool {
		t := c.def.Traits
		return !t.Replays && (t.Compacts || t.Clears)
	})
}

// Params returns the parameters of the layer with a name as set by the preset,
// or nil.
func (s *Strategy) Params(layer string) any {
	for _, c := range s.layers {
		if c.def.Name == layer && c.params != nil {
			return reflect.ValueOf(c.params).Elem().Interface()
		}
	}
	return nil
}

// Traits returns what the layer with a name can do.
func (s *Strategy) Traits(layer string) Traits {
	for _, c := range s.layers {
		if c.def.Name == layer {
			return c.def.Traits
		}
	}
	return Traits{}
}

// Threshold is the level at which a layer acts under given limits.
type Threshold struct {
	Layer   string
	Measure Measure
	Value   int64
}

// Thresholds returns the levels at which the strategy's layers act, in order of
// the layers. Layers that act without one are left out.
func (s *Strategy) Thresholds(r *Reading) []Threshold {
	var list []Threshold
	for _, c := range s.active() {
		if tr := c.trigger(); tr != nil {
			if v, ok := tr.Value(r); ok {
				list = append(list, Threshold{c.def.Name, tr.Measure, v})
			}
		}
	}
	return list
}

// ValidateFor returns what is wrong with the strategy under given limits, all
// at once: thresholds that are always reached, or never within the window.
func (s *Strategy) ValidateFor(r *Reading) error {
	var errs []error
	for _, c := range s.active() {
		var found []error
		if tr := c.trigger(); tr != nil {
			for _, err := range tr.ValidateFor(r) {
				found = append(found, fmt.Errorf("trigger: %w", err))
			}
		}
		if p, ok := c.params.(limited); ok {
			found = append(found, p.ValidateFor(r)...)
		}
		for _, err := range found {
			errs = append(errs, fmt.Errorf("strategy %s: layer %s: %w", s.Name, c.def.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Verdict is how a hook ended.
type Verdict uint8

// Answers of a hook.
const (
	Declined Verdict = iota // nothing to do, for the given reason
	Done                    // the layer changed the context
	Failed                  // the layer tried and could not, for the given reason
	Pending                 // waiting for the result of an intent
	Waiting                 // waiting for a call beside the conversation, see Turn.Await
)

var verdictNames = [...]string{"declined", "done", "failed", "pending", "waiting"}

// String returns the lower-case name used in reports.
func (v Verdict) String() string { return verdictNames[min(int(v), len(verdictNames)-1)] }

// Outcome is the answer of a hook. Reason is a constant string, so that
// answering costs nothing.
type Outcome struct {
	Verdict Verdict
	Reason  string
}

// Layer is one mechanism of context management on one thread. Its hooks are
// the further interfaces of this file that it implements. A method Copy()
// Layer, if it has one, returns a copy that can go on from the same state: unlike
// Clone, it keeps what is under way.
type Layer interface {
	// Name is the name the registry knows the layer by.
	Name() string
	// Clone returns an independent copy with the same state, for a thread
	// that branches off.
	Clone() Layer
	// Reset returns the state to a new thread's state.
	Reset()
}

// BeforeRequest is called before every request of the conversation, after the
// round's input was appended.
type BeforeRequest interface {
	BeforeRequest(*Turn) Outcome
}

// AfterResponse is called when a response has ended and was appended.
type AfterResponse interface {
	AfterResponse(*Turn) Outcome
}

// PromptTooLong is called when the server refused the request because the
// prompt does not fit the window. Done means: send again.
type PromptTooLong interface {
	PromptTooLong(*Turn) Outcome
}

// IntentResult is called with what became of the layer's intent. It may ask
// for another one and answer Pending.
type IntentResult interface {
	IntentResult(*Turn, *prompt.Result) Outcome
}

// AfterCompaction is called on every layer when a layer has compacted the
// context.
type AfterCompaction interface {
	AfterCompaction(*Turn)
}

// ThreadStart is called when the thread begins, its prefix in place.
type ThreadStart interface {
	ThreadStart(*Turn) Outcome
}

// EndOfLoop is called when a response without tool calls has ended the query loop, after
// AfterResponse of all layers.
type EndOfLoop interface {
	EndOfLoop(*Turn) Outcome
}

// BackgroundResult is called with what became of a call that the layer made
// beside the conversation (Turn.Background). The answer must be final, but the
// layer may start further background calls.
type BackgroundResult interface {
	BackgroundResult(*Turn, *prompt.Result) Outcome
}

// Timer is called at a time the layer asks for: in the gap between a response
// and the next input, or while a request is under way. In a gap (Turn.Gap) its answer
// may be Pending; the thread's next request then waits for the call.
type Timer interface {
	// Wake returns when Timer is to be called, ns on the session's clock; 0 for never. It
	// is asked when the thread has begun, when a response has ended and after every
	// Timer. A later answer replaces an earlier one.
	Wake(*Turn) int64
	Timer(*Turn) Outcome
}

// Fork is asked before a sub-agent starts whether it begins with its parent's context
// instead of its own prefix. Layers of the thread are then clones of the parent's, as for
// a branch; ThreadStart can append to the context.
type Fork interface {
	Fork(*Turn) bool
}

// ThreadEnd is called when the last response of a thread has ended.
type ThreadEnd interface {
	ThreadEnd(*Turn) Outcome
}

// ServerHint is called when the server refuses a request with the hint that
// content should be cleared. Whatever the answer, the request is sent again.
type ServerHint interface {
	ServerHint(*Turn) Outcome
}

// AutoThreshold is implemented by layers that compact by themselves at a level of the
// client's count. A client shows how much is left to that level, or without one to the
// window.
type AutoThreshold interface {
	// AutoThreshold returns the level, tokens; false while the layer does not
	// compact by itself on this thread.
	AutoThreshold(*Turn) (int64, bool)
}

// BoundaryKind says what a layer did to the context.
type BoundaryKind uint8

// Things a layer does to the context.
const (
	boundaryNone     BoundaryKind = iota
	BoundaryCompact               // messages replaced by a summary
	BoundaryMicro                 // tool results cleared
	boundaryTruncate              // messages dropped
	BoundaryServer                // content cleared by the server for each request
	BoundaryStore                 // new tool results put to disk, or read back from there
)

var boundaryNames = [...]string{"none", "compaction", "microcompaction", "truncation", "server clearing", "storage"}

// String returns the lower-case name used in reports.
func (k BoundaryKind) String() string { return boundaryNames[min(int(k), len(boundaryNames)-1)] }

// Compacts reports whether rows count it as a compaction: messages went, with a
// summary in their place or without one.
func (k BoundaryKind) Compacts() bool { return k == BoundaryCompact || k == boundaryTruncate }

// Boundary is what a compaction reports about itself. Counts are tokens.
type Boundary struct {
	Kind   BoundaryKind
	Manual bool
	// Replayed says that the recording did it: the layer does not answer for what is
	// left.
	Replayed bool
	Before   int64 // context before it, by the server's count
	After    int64 // context after it
	Chained  bool  // the compacted context already held a summary
	// Reported is what the client reports as its size afterwards: After, or
	// the usage of the summary call where the client takes that for it. Left
	// 0, it is After.
	Reported int64
	// Uncounted is how much a clearing takes off the client's count at once, before the
	// next response's usage.
	Uncounted int64
	Cleared   int   // tool results cleared
	Deleted   int64 // tokens deleted by the server with the cached prefix kept
	// Standing are the tokens that earlier deletions leave out of requests and that
	// Before and After include. The loop sets it.
	Standing int64
	Restored int // files that came back
	// Remainder are the tokens of After that recordings of the client have beyond what it
	// is known to restore.
	Remainder int64
	Calls     int // summary calls made, failed ones included
	// Summarised counts the messages that were replaced: responses, prompts and tool
	// results.
	Summarised int
	// PreservedFrom and PreservedTo are the ids of the first and the last message entry
	// that were kept as they are, both 0 when none was.
	PreservedFrom, PreservedTo int32
}
