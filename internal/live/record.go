package live

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// Call describes one live call, without its texts.
type Call struct {
	Cell     string `json:"cell"`
	Session  string `json:"session"`
	Thread   int32  `json:"thread"`
	Round    int32  `json:"round"`  // call of the thread ahead of which it was made, from 0
	Number   int32  `json:"number"` // among the live calls of the session in this cell, from 1
	Source   string `json:"source"`
	Way      string `json:"way"`
	Model    string `json:"model"`
	Replayed bool   `json:"replayed"`        // the answer was stored ahead of the run
	Shared   bool   `json:"shared,omitzero"` // the answer is another call's of the run
	Failed   string `json:"failed,omitzero"` // why it gave no summary
	// Answered says that there was a reply, whatever came of it. Refused is why the
	// server did not take the request, in its words: a report that is written has
	// none, as it holds no text.
	Answered bool   `json:"-"`
	Refused  string `json:"-"`

	Usage     prompt.Usage `json:"usage"`     // by the server, tokens
	Predicted prompt.Usage `json:"predicted"` // input by the cache model, output by the stub
	// Wasted is what attempts that broke off were billed, those of a call that
	// failed included: no part of Usage. Estimated says that the server gave no
	// count, so that Usage is estimated from bytes.
	Wasted    prompt.Usage `json:"wasted,omitzero"`
	Estimated bool         `json:"estimated,omitzero"`
	Attempts  int32        `json:"attempts"`
	Seconds   float64      `json:"seconds"` // from the request to the end of the response
	// Betas, Edits, Thinking and Effort are what was asked for beside the content:
	// beta features, types of edits, mode and budget, the provider's name.
	Betas    []string `json:"betas,omitzero"`
	Edits    []string `json:"edits,omitzero"`
	Thinking string   `json:"thinking,omitzero"`
	Effort   string   `json:"effort,omitzero"`
	// Thought is the part of the output that was thinking, tokens; Cleared what the
	// declared edits took out.
	Thought int64        `json:"thought_tokens,omitzero"`
	Cleared wire.Cleared `json:"cleared,omitzero"`

	Tokens   int32     `json:"tokens"` // of the summary
	Bytes    int32     `json:"bytes"`
	Sections []Section `json:"sections,omitzero"` // in the order of the summary
	// Kinds are the entities of what was summarised, and how many the summary
	// has, by kind in order of first appearance.
	Kinds []Share `json:"kinds,omitzero"`
	// Drift is how many the summary has of the entities that earlier summaries of
	// its chain stood for: those of the one before first.
	Drift []Share `json:"drift,omitzero"`

	key  cassette.Key
	made bool  // for this call or for another that it is equal to
	cost int64 // nano-USD that it cost when it was made
}

// Section is a section of a summary.
type Section struct {
	Title string `json:"title"`
	Bytes int    `json:"bytes"` // of its text, without the title
}

// Share is a part of what there is.
type Share struct {
	Kind string `json:"kind,omitzero"`
	All  int    `json:"all"`
	Kept int    `json:"kept"`
}

func keptOf(list []cassette.Entity) int32 {
	var n int32
	for _, e := range list {
		if e.Kept {
			n++
		}
	}
	return n
}

// kinds counts entities by kind.
func kinds(list []cassette.Entity) []Share {
	var shares []Share
	for _, e := range list {
		i := slices.IndexFunc(shares, func(s Share) bool { return s.Kind == e.Kind })
		if i < 0 {
			i = len(shares)
			shares = append(shares, Share{Kind: e.Kind})
		}
		shares[i].All++
		if e.Kept {
			shares[i].Kept++
		}
	}
	return shares
}

// record notes a call for the report.
func (s *Summarizer) record(c *summarizer.Call, p *plan, got *cassette.Cassette, a *prompt.Answer, replayed bool) {
	m := a.Measured
	call := Call{
		Cell: s.opts.Name, Session: c.Session.ID, Thread: c.Thread, Round: c.Round, Number: c.Intent.Number,
		Source: c.Intent.Source, Way: c.Intent.Way, Model: p.model, Failed: a.Failed,
		Usage: m.Usage, Predicted: m.Predicted, Wasted: m.Wasted, Estimated: got.Reply != nil && got.Reply.Estimated,
		Attempts: m.Attempts, Seconds: float64(a.Total) / 1e9,
		Tokens: a.Summary, Bytes: a.Bytes, Kinds: kinds(got.Entities),
		Betas: p.betas, Edits: p.edits.names(), Thinking: p.thinking.String(), Effort: p.effort,
		key: p.key, made: !replayed, cost: nanos(s.price(p.model, m.Usage, m.Wasted)),
	}
	if got.Reply != nil {
		call.Answered = true
		call.Thought, call.Cleared = got.Reply.Thinking, got.Reply.Cleared
	}
	call.Refused = refused(got)
	if w, ok := s.memory.find(a.Digest); ok && a.Failed == "" {
		call.Sections = sectionsOf(w.text, p.sections())
		call.Drift = s.drift(c.Session.Project, w)
	}
	s.ledger.update(func(r *Report) { r.Calls = append(r.Calls, call) })
}

// refused returns why a server did not take the request of a call, "" for one that
// it took. A stored call without texts has lost the server's words.
func refused(got *cassette.Cassette) string {
	f := got.Failure
	if f == nil || f.Cause != wire.CauseRequest {
		return ""
	}
	if !got.Texts || f.Message == "" {
		return fmt.Sprintf("HTTP %d", f.Status)
	}
	return fmt.Sprintf("HTTP %d, %s", f.Status, f.Message)
}

// maxDrift is how many summaries back a chain is followed.
const maxDrift = 8

// drift returns what a summary has of the entities of those it was made from.
func (s *Summarizer) drift(root string, w written) []Share {
	if s.opts.Fidelity == nil || w.lost {
		return nil
	}
	var list []Share
	for from := w.from; len(list) < maxDrift && !from.IsZero(); {
		earlier, ok := s.memory.find(from)
		if !ok || len(earlier.entities) == 0 || earlier.lost {
			break
		}
		list = append(list, Share{All: len(earlier.entities), Kept: s.opts.Fidelity.Survive(root, earlier.entities, w.text)})
		from = earlier.from
	}
	return list
}

// from returns the summary that a call has among the messages it summarises, or
// brings up to date: the newest one, zero for none.
func (s *Summarizer) from(c *summarizer.Call, p *plan) prompt.Digest {
	if !c.Intent.Base.IsZero() {
		return c.Intent.Base
	}
	for i := c.Context.Len() - 1; i >= p.pivot; i-- {
		if d := c.Context.BlockAt(i).Digest; c.Context.At(i).Kind == prompt.KindSummary {
			if _, ok := s.memory.find(d); ok {
				return d
			}
		}
	}
	return prompt.Digest{}
}

// settle orders the calls and says of each whether it was made, replayed or
// shared. Which of several equal calls was the first depends on the machine; here
// it is the first in order.
func (r *Report) settle() {
	inOrder(r.Calls)
	made := map[cassette.Key]int{}
	for i := range r.Calls {
		if r.Calls[i].made {
			made[r.Calls[i].key]++
		}
	}
	seen := map[cassette.Key]bool{}
	var cost int64
	r.Replayed, r.Shared = 0, 0
	for i := range r.Calls {
		c := &r.Calls[i]
		c.made = made[c.key] > 0
		if c.made {
			made[c.key]--
		}
		c.Replayed = !c.made && !seen[c.key]
		c.Shared = !c.made && seen[c.key]
		seen[c.key] = true
		switch {
		case c.Replayed:
			r.Replayed++
			cost += c.cost
		case c.Shared:
			r.Shared++
		}
	}
	r.ReplayedUSD = float64(cost) / nano
}

// inOrder sorts calls by cell, session and number: the order in which they were
// made depends on the machine.
func inOrder(calls []Call) {
	slices.SortStableFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Number, b.Number))
	})
}
