package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// Names of the provider's compactions (platform.claude.com, compaction).
const (
	onDemandBeta = "compact-2026-09-04"
	compactBeta  = "compact-2026-01-12"
	compactEdit  = "compact_20260112"
	// MinTrigger is the smallest threshold the provider takes, tokens. A call
	// below it is answered without a compaction.
	MinTrigger = 50_000
)

// Server says what the provider is asked to do to the context of a call: what to
// leave out of it, and for calls that are made in that way, how to compact it.
type Server struct {
	// Trigger asks for the compaction by a threshold, tokens of input, and a stop
	// behind the block, as was offered ahead of the compaction on demand; 0 for that
	// on demand. The provider takes MinTrigger at least.
	Trigger int64
	// Instructions stand in the place of the provider's own; "" for those, or for
	// this program's where the strategy wants some.
	Instructions string
	// Clear are the edits that a strategy declares.
	Clear Clearing
	// Edits are declared besides: JSON objects in the provider's form.
	Edits []jsontext.Value
}

// Validate returns what is wrong with it.
func (s *Server) Validate() error {
	var errs []error
	if s.Trigger != 0 && s.Trigger < MinTrigger {
		errs = append(errs, fmt.Errorf("server trigger %d: the provider takes at least %d tokens", s.Trigger, MinTrigger))
	}
	for i, e := range s.Edits {
		if !e.IsValid() || e.Kind() != '{' {
			errs = append(errs, fmt.Errorf("server edit %d is no JSON object", i+1))
		} else if typeOf(e) == "" {
			errs = append(errs, fmt.Errorf("server edit %d has no type", i+1))
		}
	}
	return errors.Join(errs...)
}

// onDemand reports whether a call is a compaction on demand.
func (s *Server) onDemand(p *plan) bool { return p.kind == kindServer && s.Trigger == 0 }

// declare puts into a request what the provider is asked to do to its context.
// Instructed says that the strategy has instructions of its own.
func (s *Server) declare(r *wire.Request, p *plan, instructed bool) {
	words := s.Instructions
	if words == "" && instructed {
		words = serverInstructions("")
	}
	switch {
	case s.onDemand(p):
		r.Compaction = &wire.Compaction{Instructions: clean(words)}
	case p.kind == kindServer:
		r.ContextManagement = s.object(p.edits.objects(r.Tools), words)
	case !p.edits.none():
		r.ContextManagement = editsObject(p.edits.objects(r.Tools))
	}
}

// betas returns the beta features that a call needs for what it declares, behind
// those asked for in every call.
func (s *Server) betas(all []string, p *plan) []string {
	list := slices.Clone(all)
	add := func(beta string) {
		if !slices.Contains(list, beta) {
			list = append(list, beta)
		}
	}
	if p.edits.clears() {
		add(editingBeta)
	}
	switch {
	case s.onDemand(p):
		add(onDemandBeta)
	case p.kind == kindServer || p.edits.compacts():
		add(compactBeta)
	}
	return list
}

// form names the way in which the provider is asked for a compaction.
func (s *Server) form() string {
	if s.Trigger == 0 {
		return "on-demand"
	}
	return fmt.Sprintf("threshold/%d", s.Trigger)
}

// object is the object of edits with the compaction by a threshold at its end.
func (s *Server) object(edits []jsontext.Value, words string) jsontext.Value {
	compact := fmt.Appendf(nil, `{"type":%q,"trigger":{"type":"input_tokens","value":%d},"pause_after_compaction":true`, compactEdit, max(s.Trigger, MinTrigger))
	if words != "" {
		compact = append(compact, `,"instructions":`...)
		compact, _ = jsontext.AppendQuote(compact, clean(words))
	}
	return editsObject(append(slices.Clone(edits), append(compact, '}')))
}

// editsObject is the object that declares edits.
func editsObject(edits []jsontext.Value) jsontext.Value {
	texts := make([]string, len(edits))
	for i, e := range edits {
		texts[i] = string(e)
	}
	return jsontext.Value(`{"edits":[` + strings.Join(texts, ",") + `]}`)
}
