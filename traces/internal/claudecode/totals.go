package claudecode

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Claude Code since 2.1.277 writes how many tokens it has used, by model and summed over resumes, into a line of type
// cost-state. In runs of 2.1.277 to 2.1.332 against a server that knew the bill it was the bill of 81 of 82 sessions,
// calls that no line shows included: summaries, streams that were cut, titles. Since 2.1.300 a line of type api-request
// stands for each request, and the lines of its answer name it.

// total is a cost-state line.
type total struct {
	line   int32
	start  int64 // when the count began, unix ms; a resumed or forked session keeps it
	models []modelTotal
}

// modelTotal are the tokens of a model.
type modelTotal struct {
	model string // without terms of service and date
	name  string // as logged
	prompt.Usage
}

// request is a line that tells of a request: an api-request line, or an error in the place of an answer.
type request struct {
	id   prompt.Digest // zero for an error
	line int32
	// refused says that the server refused the request, which costs nothing.
	refused bool
}

var errNoTotal = errors.New("cost-state without token counts by model; it is left out")

// total reads the tokens of a cost-state line by model.
func (p *counter) total(t *total) {
	t.models = nil
	sound := true
	for name := range p.Distinct {
		m := modelTotal{name: strings.ToValidUTF8(string(name), "\uFFFD")}
		m.model = plainModel(m.name)
		split := int64(0)
		count := func(to *int64) {
			n, ok := p.Int()
			*to, sound = n, sound && ok && n >= 0 && n <= maxTotal
		}
		for field := range p.Distinct {
			switch string(field) {
			case "inputTokens":
				count(&m.Uncached)
			case "outputTokens":
				count(&m.Output)
			case "cacheReadInputTokens":
				count(&m.Read)
			case "cacheCreationInputTokens":
				count(&split)
			case "cacheCreationEphemeral1hInputTokens":
				count(&m.Write1h)
			default:
				p.Skip()
			}
		}
		m.Write5m = max(0, split-m.Write1h)
		t.models = append(t.models, m)
	}
	if !sound {
		t.models = nil
	}
}

// maxTotal is far above the tokens of a session.
const maxTotal = 1 << 50

// plainModel returns the name of a model without terms of service ("[1m]", "[fast]") and date.
func plainModel(name string) string {
	name, _, _ = strings.Cut(name, "[")
	if at := len(name) - len("-20250929"); at > 0 && name[at] == '-' && strings.Trim(name[at+1:], "0123456789") == "" {
		name = name[:at]
	}
	return name
}

// failed reads whether an error has a status of the server's.
func (p *counter) failed() (refused bool) {
	if p.Peek() != '{' {
		p.Skip()
		return false
	}
	for name := range p.Members {
		if string(name) != "status" {
			p.Skip()
			continue
		}
		n, ok := p.Int()
		refused = refused || ok && n >= 400
	}
	return refused
}

// counted is a total of a session at its place.
type counted struct {
	total
	src *source
	at  int64 // unix ns of the line before it
}

// ledger is what lines of a session say of all its calls.
type ledger struct {
	session *assembly.Session
	totals  []counted
	hints   []hint
}

// hint is a place at which a call may have been that no line shows.
type hint struct {
	src     *source
	line    int32
	at      int64
	compact bool  // the summary of a compaction, else a request without an answer
	input   int64 // expected, tokens
	output  int64
	model   string
}

// openLedger collects the totals of a recording and the requests to which no line has an answer.
func openLedger(rec *recording, s *assembly.Session) *ledger {
	l := &ledger{session: s}
	at := map[*source]int64{}
	for _, e := range rec.entries {
		if e.at != 0 {
			at[e.src] = max(at[e.src], e.at)
		}
		if e.kind != recordOther && e.kind != recordPass {
			continue
		}
		if i, ok := slices.BinarySearchFunc(e.src.totals, e.line, func(t total, line int32) int { return cmp.Compare(t.line, line) }); ok {
			l.totals = append(l.totals, counted{e.src.totals[i], e.src, at[e.src]})
		}
		if i, ok := slices.BinarySearchFunc(e.src.requests, e.line, func(r request, line int32) int { return cmp.Compare(r.line, line) }); ok && e.src.unanswered(i) {
			l.hints = append(l.hints, hint{src: e.src, line: e.line, at: at[e.src], output: 1})
		}
	}
	if len(l.totals) == 0 {
		return nil
	}
	return l
}

// unanswered reports whether a request may have been billed and has no answer in any line.
func (s *source) unanswered(i int) bool {
	r := &s.requests[i]
	if r.id.IsZero() { // an error tells of a request where no line of its own does
		return !r.refused && !slices.ContainsFunc(s.requests, func(o request) bool { return !o.id.IsZero() })
	}
	refused := i+1 < len(s.requests) && s.requests[i+1].refused
	return !s.answered[r.id] && !refused && s.naming
}

// nameRequests reports whether most answers name a request that a line of the file stands for: in a recording whose ids
// were replaced, none does, and all requests look unanswered.
func (s *source) nameRequests() bool {
	known, ids := 0, map[prompt.Digest]bool{}
	for i := range s.requests {
		ids[s.requests[i].id] = true
	}
	for id := range s.answered {
		if ids[id] {
			known++
		}
	}
	return 2*known > len(s.answered)
}

// reconcile makes the calls that no line shows of what totals have beyond the calls of lines.
func reconcile(ledgers []*ledger) {
	slices.SortStableFunc(ledgers, func(a, b *ledger) int {
		return cmp.Or(cmp.Compare(a.totals[0].start, b.totals[0].start), cmp.Compare(a.totals[0].at, b.totals[0].at), cmp.Compare(a.session.ID, b.session.ID))
	})
	for i, l := range ledgers {
		var from *ledger
		for j := i - 1; j >= 0 && ledgers[j].totals[0].start == l.totals[0].start && from == nil; j-- {
			if ledgers[j].shares(l) {
				from = ledgers[j]
			}
		}
		l.settle(from)
	}
}

// calls calls f with each call of the session.
func (l *ledger) calls(f func(c *assembly.Call)) {
	for _, t := range l.session.Threads {
		for i := range t.Calls {
			f(t.Calls[i].Call)
		}
	}
}

// shares reports whether another session repeats a call of this one.
func (l *ledger) shares(o *ledger) bool {
	ids, shares := map[string]bool{}, false
	l.calls(func(c *assembly.Call) { ids[c.ID] = true })
	o.calls(func(c *assembly.Call) { shares = shares || ids[c.ID] })
	return shares
}

// usages are tokens by model.
type usages map[string]prompt.Usage

// add adds the tokens of a model, times a sign.
func (u usages) add(model string, by *prompt.Usage, sign int64) {
	x := u[model]
	x.Uncached, x.Read, x.Output = x.Uncached+sign*by.Uncached, x.Read+sign*by.Read, x.Output+sign*by.Output
	x.Write5m, x.Write1h = x.Write5m+sign*by.Write5m, x.Write1h+sign*by.Write1h
	u[model] = x
}

// holds reports whether the tokens of every model are at least a total's.
func (u usages) holds(t *total) bool {
	for i := range t.models {
		m, have := &t.models[i], u[t.models[i].model]
		if have.Uncached < m.Uncached || have.Read < m.Read || have.Output < m.Output || have.Writes() < m.Writes() {
			return false
		}
	}
	return true
}

// sums returns the tokens of a total by model.
func (t *total) sums() usages {
	u := usages{}
	for i := range t.models {
		u.add(t.models[i].model, &t.models[i].Usage, 1)
	}
	return u
}

// base returns the total that a fork took over from the session it left, and the calls that it repeats.
func (l *ledger) base(from *ledger) (usages, map[string]bool) {
	if from == nil {
		return usages{}, nil
	}
	repeated := map[string]bool{}
	from.calls(func(c *assembly.Call) { repeated[c.ID] = true })
	first := int64(0)
	l.calls(func(c *assembly.Call) {
		if !repeated[c.ID] {
			first = assembly.Earlier(first, c.First)
		}
	})
	own := l.totals[0].sums()
	for i := range slices.Backward(from.totals) {
		if t := &from.totals[i]; own.holds(&t.total) && (first == 0 || t.at <= first) {
			return t.sums(), repeated
		}
	}
	return usages{}, nil // none that it can have begun with: what it counts is its own
}

// settle makes the calls that no line of the session shows. From is the session that it was forked from, nil for none.
func (l *ledger) settle(from *ledger) {
	s := l.session
	s.Summed = true
	l.expect()
	before, repeated := l.base(from) // what the totals had before the session, and of earlier counts
	told := usages{}                 // calls that no line shows, so far
	last, since := before, int64(0)
	for i := range l.totals {
		t := &l.totals[i]
		sums := t.sums()
		if i > 0 && !sums.holds(&l.totals[i-1].total) {
			if t.start == l.totals[i-1].start {
				s.Problem(assembly.Place{Source: t.src.File, Line: t.line}, "the client's sum of all calls (cost-state) falls; the line is left out")
				t.total = l.totals[i-1].total
				continue
			}
			for m, u := range last { // a count that began anew
				before.add(m, &u, -1)
			}
		}
		last = sums
		over := usages{}
		for m, u := range sums {
			over.add(m, &u, 1)
		}
		for m, u := range before {
			over.add(m, &u, -1)
		}
		l.calls(func(c *assembly.Call) {
			if !repeated[c.ID] && c.OK && t.has(c) {
				over.add(plainModel(c.Model), &c.Usage.Usage, -1)
				for k := range c.Advice { // where the client counts them
					if a := &c.Advice[k]; sums[plainModel(a.Model)] != (prompt.Usage{}) {
						over.add(plainModel(a.Model), &a.Usage, -1)
					}
				}
			}
		})
		l.place(t, over, told, since)
		since = t.at
	}
}

// has reports whether a call had ended when the total was written.
func (t *counted) has(c *assembly.Call) bool {
	if c.Source == t.src.File {
		return c.Line < t.line
	}
	return c.Last <= t.at
}

// expect says what calls at hints may have had.
func (l *ledger) expect() {
	for i := range l.hints { // the next call of the same file repeats the request
		h := &l.hints[i]
		line := int32(0)
		l.calls(func(c *assembly.Call) {
			if c.Source == h.src.File && c.Line > h.line && (line == 0 || c.Line < line) {
				line, h.input, h.model = c.Line, c.Input(), plainModel(c.Model)
			}
		})
	}
	l.hints = slices.DeleteFunc(l.hints, func(h hint) bool { return h.model == "" })
	for _, t := range l.session.Threads {
		for i := range t.Happened {
			ev := &t.Happened[i]
			if n := int(ev.Round); len(ev.Text) > 0 && n > 0 && n <= len(t.Calls) {
				c := t.Calls[n-1].Call
				h := hint{line: ev.Line, at: ev.At, compact: true, input: c.Input() + c.Output, model: plainModel(c.Model), output: 1}
				for b := range ev.Text {
					h.output += int64(ev.Text[b].Bytes)
				}
				h.src = &source{File: ev.Source}
				l.hints = append(l.hints, h)
			}
		}
	}
	slices.SortStableFunc(l.hints, func(a, b hint) int { return cmp.Compare(a.at, b.at) })
}

// place divides what a total has beyond the calls of lines and what was told already among the hints since the total
// before it. What a model has without a hint becomes one call at the place of the total.
func (l *ledger) place(t *counted, over, told usages, since int64) {
	s := l.session
	for _, model := range slices.Sorted(maps.Keys(over)) {
		was, now := told[model], over[model]
		short := int64(0)
		more := func(now, was int64) int64 {
			short = min(short, now)
			return max(0, now-max(0, was))
		}
		u := prompt.Usage{
			Uncached: more(now.Uncached, was.Uncached), Read: more(now.Read, was.Read), Output: more(now.Output, was.Output),
			Write5m: more(now.Write5m, was.Write5m), Write1h: more(now.Write1h, was.Write1h),
		}
		if short < 0 && t == &l.totals[len(l.totals)-1] {
			s.Problem(assembly.Place{Source: t.src.File, Line: t.line},
				"the client's sum of all calls (cost-state) has %s of %s fewer than the calls of lines; these are the bill", numbers.Counted(-short, "token", "tokens"), model)
		}
		if u == (prompt.Usage{}) {
			continue
		}
		told.add(model, &u, 1)
		name := l.named(model, t)
		var hints []hint
		for _, h := range l.hints {
			if h.model == model && h.at > since && h.at <= t.at {
				hints = append(hints, h)
			}
		}
		if len(hints) == 0 || u.Input() == 0 {
			s.Unshown = append(s.Unshown, assembly.Unshown{Place: assembly.Place{Source: t.src.File, Line: t.line}, At: t.at, Model: name, Usage: u})
			continue
		}
		for i, part := range divide(&u, hints) {
			h := &hints[i]
			s.Unshown = append(s.Unshown, assembly.Unshown{
				Place: assembly.Place{Source: h.src.File, Line: h.line}, At: h.at, Compact: h.compact, Cut: !h.compact, Model: name, Usage: part,
			})
		}
	}
}

// divide gives each hint its part of tokens: of the reads by what it is expected to have sent, of the output by what it
// is expected to have said. What is neither read nor written is the request for a summary, where there is one, and what
// is written the new input of a request that was sent again.
func divide(u *prompt.Usage, hints []hint) []prompt.Usage {
	parts := make([]prompt.Usage, len(hints))
	some := func(compact bool) bool {
		return slices.ContainsFunc(hints, func(h hint) bool { return h.compact == compact })
	}
	share := func(total int64, weight func(h *hint) int64, to func(u *prompt.Usage) *int64) {
		sum, done, given := int64(0), int64(0), int64(0)
		for i := range hints {
			sum += weight(&hints[i])
		}
		for i := range hints {
			done += weight(&hints[i])
			upTo := total
			if i < len(hints)-1 {
				upTo = int64(float64(total) * float64(done) / float64(max(1, sum)))
			}
			*to(&parts[i]) = upTo - given
			given = upTo
		}
	}
	only := func(compact bool) func(h *hint) int64 {
		each := !some(compact)
		return func(h *hint) int64 {
			if each || h.compact == compact {
				return 1
			}
			return 0
		}
	}
	share(u.Read, func(h *hint) int64 { return h.input }, func(u *prompt.Usage) *int64 { return &u.Read })
	share(u.Output, func(h *hint) int64 { return h.output }, func(u *prompt.Usage) *int64 { return &u.Output })
	share(u.Uncached, only(true), func(u *prompt.Usage) *int64 { return &u.Uncached })
	share(u.Write5m, only(false), func(u *prompt.Usage) *int64 { return &u.Write5m })
	share(u.Write1h, only(false), func(u *prompt.Usage) *int64 { return &u.Write1h })
	return parts
}

// named returns the name of a model as the session's calls have it, else as the total has it.
func (l *ledger) named(model string, t *counted) (name string) {
	l.calls(func(c *assembly.Call) {
		if name == "" && plainModel(c.Model) == model {
			name = c.Model
		}
	})
	if i := slices.IndexFunc(t.models, func(m modelTotal) bool { return m.model == model }); name == "" && i >= 0 {
		name = t.models[i].name
	}
	return name
}
