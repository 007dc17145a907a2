package claudecode

import (
	"slices"

	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// stopReason reports whether a text is a stop reason of the API (platform.claude.com, stop reasons): the output of a line
// without one is not final.
func stopReason(text []byte) bool {
	switch string(text) {
	case "end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded", "compaction":
		return true
	}
	return false
}

// passes are what a server did under the id of one response, as iterations of its usage. Nearly always that is one
// pass, which is the response.
type passes struct {
	ahead    []assembly.Usage  // passes of the model before the last one
	advice   []assembly.Advice // passes of an advisor, another model with a context of its own
	fallback bool              // another model refused, and the server asked this one
	// summaries are passes in which the server summarized the context; no sum has them.
	summaries []assembly.Usage
}

// counter reads the counts of lines: tokens, and under what terms a response was served.
type counter struct {
	jsonscan.Scanner
	passes passes // of the response under way
	terms  terms  // of the response
}

// usage reads the token counts of a response. A response in which the model
// asked an advisor has several passes under one id; the counts at the top are
// sums over the model's passes, though no request was that large, and the advisor's passes are in
// none. The usage is the last pass's.
func (p *counter) usage(u *assembly.Usage, all *passes) {
	p.passes = passes{ahead: p.passes.ahead[:0]}
	p.counts(u, true)
	*all = p.passes
	last := len(all.ahead) - 1
	if last >= 1 && u.OK && u.Same(&all.ahead[last]) {
		u.Doubt = true // the counts at the top are the last pass's: no sum has the ones before it
		last = 0
	}
	if last < 1 {
		all.ahead = nil
		return
	}
	searches := u.Searches
	*u = all.ahead[last]
	u.Searches = searches
	all.ahead = slices.Clone(all.ahead[:last])
}

// counts reads token counts. A whole response lists its passes, which are kept by their type. Clients of all versions log the
// four counts: one that is missing, negative or absurd makes the usage unusable, but for
// the count of output, which can be derived.
func (p *counter) counts(u *assembly.Usage, whole bool) {
	const none = -1
	input, output, read, created := int64(none), int64(none), int64(none), int64(none)
	split5m, split1h := int64(none), int64(none)
	if p.Peek() != '{' {
		p.Skip()
		return
	}
	var typ, model string
	var seen jsonscan.Seen
	u.OK, u.Reasoning = true, -1
	for name := range p.Members {
		switch string(name) {
		case "input_tokens":
			p.Once(&seen, 0)
			input = p.count(u)
		case "output_tokens":
			p.Once(&seen, 1)
			ok := u.OK
			output = p.count(u)
			u.OK = ok
		case "cache_read_input_tokens":
			p.Once(&seen, 2)
			read = p.count(u)
		case "cache_creation_input_tokens":
			p.Once(&seen, 3)
			created = p.count(u)
		case "cache_creation":
			p.Once(&seen, 4)
			split5m, split1h = p.creation(u)
		case "speed":
			p.terms.speed = p.term()
		case "inference_geo":
			p.terms.geo = p.term()
		case "service_tier":
			p.terms.tier = p.term()
		case "server_tool_use":
			u.Searches = p.searches()
		case "iterations":
			p.Once(&seen, 5)
			if !whole {
				p.Skip()
				continue
			}
			for range p.Elements {
				p.counts(new(assembly.Usage), false)
			}
		case "type":
			typ = string(p.Str())
		case "model":
			model = string(p.Str())
		default:
			p.Skip()
		}
	}
	settle(u, input, output, read, created, split5m, split1h)
	if whole || !u.OK {
		return
	}
	switch typ {
	case "message":
		p.passes.ahead = append(p.passes.ahead, *u)
	case "advisor_message":
		p.passes.advice = append(p.passes.advice, assembly.Advice{Model: model, Usage: u.Usage})
	case "compaction":
		p.passes.summaries = append(p.passes.summaries, *u)
	case "fallback_message":
		p.passes.fallback = true
	}
}

// settle makes a usage of counts, -1 for those that are not logged.
func settle(u *assembly.Usage, input, output, read, created, split5m, split1h int64) {
	zeroed := input == 0 && read == 0 && created == 0 // as in copies that 2.1.226 makes of earlier calls
	logged := max(split5m, 0) + max(split1h, 0)
	u.Doubt = (split5m >= 0 || split1h >= 0) && created >= 0 && created != logged
	if split5m >= 0 || split1h >= 0 {
		created = max(created, logged)
	}
	u.Bad = u.Bad || output < 0 || min(input, read, created) < 0
	u.OK = u.OK && min(input, read, created) >= 0 && !zeroed
	u.Uncached, u.Read, u.Output = max(input, 0), max(read, 0), max(output, 0)
	u.Write1h = max(split1h, 0)
	u.Write5m = max(created, 0) - u.Write1h
	u.Assumed = u.Write5m > max(split5m, 0)
	if total := u.Input(); total == 0 || total > assembly.MaxTokens {
		u.OK = false
	}
}

// terms are what a call was served under besides the usual, "" for the usual.
type terms struct{ speed, geo, tier string }

// term reads a term of service; what is usual is none.
func (p *counter) term() string {
	if kind := p.Peek(); kind != '"' && kind != 'n' {
		return string(p.Raw())
	}
	if text := p.Str(); !assembly.Usual(string(text)) {
		return string(text)
	}
	return ""
}

// named returns the name of a model with terms of service, which have prices of their own.
func (t *terms) named(model []byte) []byte {
	if *t == (terms{}) {
		return model
	}
	return []byte(assembly.Served(string(model), t.speed, t.geo, t.tier))
}

// searches returns how often the server searched the web.
func (p *counter) searches() (n int64) {
	for name := range p.Members {
		if string(name) == "web_search_requests" {
			n, _ = p.Int()
		} else {
			p.Skip()
		}
	}
	return min(max(n, 0), maxSearches)
}

// maxSearches is far above the number of searches that one call makes.
const maxSearches = 10_000

// creation reads what was written by lifetime, -1 for one that is not logged.
func (p *counter) creation(u *assembly.Usage) (split5m, split1h int64) {
	split5m, split1h = -1, -1
	for name := range p.Distinct {
		switch string(name) {
		case "ephemeral_5m_input_tokens":
			split5m = p.count(u)
		case "ephemeral_1h_input_tokens":
			split1h = p.count(u)
		default:
			p.Skip()
		}
	}
	return split5m, split1h
}

// count reads one token count, of which null is none.
func (p *counter) count(u *assembly.Usage) int64 {
	n, ok := p.Int()
	if !ok || n < 0 || n > assembly.MaxTokens {
		u.OK, u.Bad = false, true
		return 0
	}
	return n
}
