package live

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/summarizer/wire"
)

// Names of the provider's compaction at a threshold (platform.claude.com,
// compaction).
const (
	compactBeta = "compact-2026-01-12"
	compactEdit = "compact_20260112"
	// MinTrigger is the smallest threshold the provider takes, tokens. A call
	// below it is answered without a compaction.
	MinTrigger = 50_000
)

// Server says how the provider is asked to compact, for calls that are made in
// that way: by a threshold below the call's size and a stop behind the block.
type Server struct {
	Trigger      int64  // tokens of input; 0 for MinTrigger
	Instructions string // in the place of the provider's own; "" for those
	// Edits are declared ahead of the compaction: JSON objects in the provider's
	// form, as for clearing tool results. Betas must name what they need.
	Edits []jsontext.Value
}

func (s *Server) validate() error {
	if s.Trigger != 0 && s.Trigger < MinTrigger {
		return fmt.Errorf("server trigger %d: the provider takes at least %d tokens", s.Trigger, MinTrigger)
	}
	for i, e := range s.Edits {
		if !e.IsValid() || e.Kind() != '{' {
			return fmt.Errorf("server edit %d is no JSON object", i+1)
		}
	}
	return nil
}

// declare asks for the compaction in a request.
func (s *Server) declare(r *wire.Request) {
	r.Betas = append(append([]string{}, r.Betas...), compactBeta)
	r.ContextManagement = s.object()
}

// object is the object of server-side edits.
func (s *Server) object() jsontext.Value {
	out := []byte(`{"edits":[`)
	for _, e := range s.Edits {
		out = append(append(out, e...), ',')
	}
	out = fmt.Appendf(out, `{"type":%q,"trigger":{"type":"input_tokens","value":%d},"pause_after_compaction":true`, compactEdit, max(s.Trigger, MinTrigger))
	if s.Instructions != "" {
		out = append(out, `,"instructions":`...)
		out, _ = jsontext.AppendQuote(out, clean(s.Instructions))
	}
	return append(out, `}]}`...)
}
