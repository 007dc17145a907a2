package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Formula is a quantity that a closed form gives from figures of the sessions, beside what their
// simulation gives. In all formulas r, w and w1 are the prices of a token that is read, written for
// five minutes and written for an hour, and g is the growth of a context per call.
type Formula struct {
	Name      string  `json:"name"`
	Form      string  `json:"formula"`
	Inputs    string  `json:"inputs"` // the formula's letters, from these sessions
	Unit      string  `json:"unit"`
	Value     float64 `json:"value"`
	Simulated float64 `json:"simulated"`
	Why       string  `json:"why,omitempty"` // what the formula leaves out, where the two differ by more than closeEnough

	leaves string // what the formula leaves out
	// find sets inputs, value and simulated value; false when sessions or prices lack what the formula needs.
	find func(*Formula, *scale) bool
}

// scale runs the simulations that formulas are compared with. After the first error it runs no more.
type scale struct {
	*figures
	*Plan
	ctx context.Context
	err error
}

// formulas are the closed forms of the costs of caching. The first is the identity of one clearing on a warm cache; the
// second the economic batch of clearing under C(M) = a·(P + M/2) + b·(P·g + M·c)/M, with a = r·(1−λ) + w·λ, b =
// (w−r)·(1−λ), λ the share of cold calls and c the part of g that is not cleared; the third the difference of two bills;
// the last the economic batch of compaction.
var formulas = []Formula{
	{Name: "calls until a clearing has paid", Form: "(w−r)·S / (r·C)", Unit: "calls", find: (*Formula).clearing,
		leaves: "it takes every later call for warm, and no other change of the messages"},
	{Name: "tokens to clear at once", Form: "√(2·b·P·g/a)", Unit: "tokens", find: (*Formula).batch,
		leaves: "it takes results to come evenly, to be cleared wherever they stand, and the conversation not to end"},
	{Name: "lifetime of 1h in place of 5m", Form: "(w1−w)·G − (w−r)·R", Unit: "USD", find: (*Formula).lifetime,
		leaves: "it leaves out compactions, and losses before the lifetime ends"},
	{Name: "context to compact at", Form: "L + √(2·g·K/r)", Unit: "tokens", find: (*Formula).threshold,
		leaves: "it knows one growth and no end"},
}

// closeEnough is the largest relative difference between simulation and formula that needs no explanation.
const closeEnough = 0.05

// figures are the inputs of closed forms from the sessions of an agent.
type figures struct {
	sessions []*traces.Session
	growth   float64 // tokens a call, of main conversations
	cold     float64 // share of their calls after a pause longer than warm
	median   int     // calls of a main conversation
	tokenPrices
}

// warm and warm1h are the two lifetimes of a cache entry, ns.
const warm, warm1h = 5 * time.Minute, time.Hour

// tokenPrices are the prices of a token, USD.
type tokenPrices struct {
	read, write, write1h, input, output float64 // write1h is write when there is no such lifetime
}

// formulas compares the closed forms with the simulation of the sessions of an agent.
func (p *Plan) formulas(ctx context.Context, f *figures) ([]Formula, error) {
	f.tokenPrices = p.pricesOf(common(f.sessions))
	if f.growth == 0 || f.read <= 0 || f.write <= f.read {
		return nil, nil
	}
	var list []Formula
	t := &scale{figures: f, Plan: p, ctx: ctx}
	for _, x := range formulas {
		ok := x.find(&x, t)
		if t.err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, t.err)
		}
		if !ok {
			continue
		}
		if x.Why = x.leaves + x.Why; math.Abs(x.Simulated-x.Value) <= closeEnough*math.Abs(x.Simulated) {
			x.Why = ""
		}
		list = append(list, x)
	}
	return list, nil
}

// figuresOf measures the main conversations of sessions.
func figuresOf(sessions []*traces.Session) *figures {
	f := &figures{sessions: sessions}
	var grown, steps, cold, calls float64
	var lengths []float64
	for _, s := range sessions {
		for i := range s.Threads {
			rounds := s.Threads[i].Rounds
			if s.Threads[i].Kind != traces.ThreadMain || len(rounds) == 0 {
				continue
			}
			lengths = append(lengths, float64(len(rounds)))
			calls += float64(len(rounds))
			for r := range rounds[1:] {
				if rounds[r+1].Wait > int64(warm) {
					cold++
				}
				if d := rounds[r+1].Usage.Input() - rounds[r].Usage.Input(); d > 0 {
					grown, steps = grown+float64(d), steps+1
				}
			}
		}
	}
	if steps > 0 {
		f.growth, f.cold, f.median = grown/steps, cold/calls, int(middle(lengths))
	}
	return f
}

// middle returns the upper median of a list.
func middle(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// common returns the last of the sessions that begin with the model most of them begin with.
func common(sessions []*traces.Session) (at *traces.Session) {
	counts := map[string]int{}
	most := 0
	for _, s := range sessions {
		if len(s.Models) > 0 {
			if counts[s.Models[0]]++; counts[s.Models[0]] > most {
				most, at = counts[s.Models[0]], s
			}
		}
	}
	return at
}

// pricesOf returns the prices of the model that a session begins with, zero for an unknown model.
func (p *Plan) pricesOf(s *traces.Session) (x tokenPrices) {
	if s == nil || len(s.Models) == 0 {
		return x
	}
	price, err := p.Prices.Lookup(s.Models[0], s.StartTime())
	if err != nil {
		return x
	}
	standard := price.Standard()
	rate := standard.PerMTok(0)
	return tokenPrices{
		read: rate[results.ClassRead] / 1e6, write1h: rate[results.ClassWrite1h] / 1e6,
		write: max(rate[results.ClassWrite5m], rate[results.ClassWriteOther]) / 1e6,
		input: rate[results.ClassUncached] / 1e6, output: rate[results.ClassOutput] / 1e6,
	}
}

// changeLog notes the compactions and clearings of a run.
type changeLog struct{ list []change }

type change struct {
	sim.Point
	strategies.Boundary
}

func (c *changeLog) Changed(p sim.Point, _ string, b strategies.Boundary) {
	c.list = append(c.list, change{p, b})
}

// Checked, Answered and Served do nothing.
func (*changeLog) Checked(sim.Point, strategies.Check)                        {}
func (*changeLog) Answered(sim.Point, string, string, strategies.Outcome)     {}
func (*changeLog) Served(sim.Point, string, *prompt.Request, *prompt.Outcome) {}

// Closed forms of clearing are compared with this clearing: tool results older than the newest protected tokens go as
// soon as there is enough for one clearing, on a window that no conversation fills.
const protected, oneClearing, endless = 40_000, 20_000, 1 << 30

// config returns the configuration of a strategy; an error goes to t.err.
func (t *scale) config(strategy string, assignments ...string) sim.Config {
	c, err := t.Config(strategy, assignments)
	if t.err == nil {
		t.err = err
	}
	c.Breaks = false
	return c
}

// clears returns the configuration that clears so many tokens at once.
func (t *scale) clears(tokens int) sim.Config {
	c := t.config("microcompact/v1",
		"microcompact.trigger={measure: client_tokens, fixed: 1}", "microcompact.count=true",
		"microcompact.threshold="+strconv.Itoa(protected), "microcompact.min_saved="+strconv.Itoa(tokens))
	c.Window, c.Needs = endless, nil
	return c
}

// run returns the rows of sessions by configuration; none after an error.
func (t *scale) run(sessions []*traces.Session, workers int, list ...sim.Config) [][]results.Row {
	if t.err != nil {
		return make([][]results.Row, len(list))
	}
	rows, err := sim.Runner{Workers: workers}.Run(t.ctx, sessions, list)
	t.err = err
	return rows
}

// cheapest returns the index of the configuration that costs the least, and the cost of each, USD.
func (t *scale) cheapest(list []sim.Config) (int, []float64) {
	var usd []float64
	for _, rows := range t.run(t.sessions, t.Workers, list...) {
		usd = append(usd, usdOf(rows))
	}
	return slices.Index(usd, slices.Min(usd)), usd
}

// at names a call of a conversation.
type at struct{ thread, round int32 }

// calls runs a session and returns the calls of its conversations, and what changed their contexts.
func (t *scale) calls(c sim.Config, s *traces.Session) (map[at]results.CallRecord, []change) {
	records, seen := map[at]results.CallRecord{}, &changeLog{}
	c.Observer = seen
	c.Record = func(r *results.CallRecord) {
		if r.Round >= 0 {
			records[at{r.Thread, r.Round}] = *r
		}
	}
	t.run([]*traces.Session{s}, 1, c)
	return records, seen.list
}

// clearing compares the first clearing of each conversation, up to the next, with a run without
// clearing. It counts those where the cache is warm and enough calls follow for the formula.
func (x *Formula) clearing(t *scale) bool {
	with, without := t.clears(oneClearing), t.config("none")
	without.Window, without.Needs = endless, nil
	var formula, found []float64
	var removed, behind float64
	for _, s := range t.sessions {
		cleared, changes := t.calls(with, s)
		if len(changes) == 0 {
			continue
		}
		whole, _ := t.calls(without, s)
		for i, c := range changes {
			same := func(o change) bool { return o.Thread == c.Thread }
			if slices.ContainsFunc(changes[:i], same) {
				continue
			}
			from, to := at{c.Thread, c.Round}, int32(len(s.Threads[c.Thread].Rounds))
			if next := slices.IndexFunc(changes[i+1:], same); next >= 0 {
				to = changes[i+1+next].Round
			}
			a, b := whole[from].Usage, cleared[from].Usage
			taken := float64(a.Input() - b.Input())
			again := float64(a.Read-b.Read) - taken
			n := (t.write - t.read) * again / (t.read * taken)
			if taken <= 0 || again <= 0 || n > float64(to-c.Round) {
				continue
			}
			removed, behind = removed+taken, behind+again
			formula, found = append(formula, n), append(found, paid(whole, cleared, from, to, t.read*taken))
		}
	}
	n := float64(len(formula))
	if n == 0 {
		return false
	}
	x.Inputs = fmt.Sprintf("S %s, C %s, %.0f clearings", tokens(behind/n), tokens(removed/n), n)
	x.Value, x.Simulated = middle(formula), middle(found)
	return true
}

// paid returns after how many calls a clearing has paid for itself, or how many there were; saved is what it saved on
// the first.
func paid(whole, cleared map[at]results.CallRecord, from at, to int32, saved float64) float64 {
	owed, was := 0.0, 0.0
	for call := from; call.round < to; call.round++ {
		a, b := whole[call], cleared[call]
		owed += b.Cost.Total() - a.Cost.Total()
		if call == from {
			was = owed + saved
		}
		if n := float64(call.round - from.round); owed <= 0 {
			return n + was/(was-owed)
		}
		was = owed
	}
	return float64(to - from.round)
}

// batch tries clearings of the size that the formula gives, and of a quarter to four times that.
func (x *Formula) batch(t *scale) bool {
	carry, premium := t.read*(1-t.cold)+t.write*t.cold, (t.write-t.read)*(1-t.cold)
	x.Value = math.Sqrt(2 * premium * protected * t.growth / carry)
	x.Inputs = fmt.Sprintf("P %s, g %s, λ %.2f", tokens(protected), tokens(t.growth), t.cold)
	var configs []sim.Config
	sizes := []float64{0.25, 0.5, math.Sqrt2 / 2, 1, math.Sqrt2, 2, 4}
	for _, size := range sizes {
		configs = append(configs, t.clears(int(size*x.Value)))
	}
	best, usd := t.cheapest(configs)
	x.Simulated = sizes[best] * x.Value
	x.Why = fmt.Sprintf("; at the formula's size the sessions cost %.1f %% more than at the best tried",
		100*(usd[slices.Index(sizes, 1)]/usd[best]-1))
	return slices.Max(usd) > usd[best] // equal where no result may be cleared
}

func usdOf(rows []results.Row) (usd float64) {
	for i := range rows {
		usd += rows[i].CostUSD()
	}
	return usd
}

// lifetime compares the client as it is, asking for an hour, with itself asking for five minutes.
func (x *Formula) lifetime(t *scale) bool {
	if t.write1h <= t.write {
		return false
	}
	var written, rested float64 // G and R
	for _, s := range t.sessions {
		rate := t.pricesOf(s)
		if rate.write1h <= rate.write {
			continue
		}
		var long, short float64
		for i := range s.Threads {
			var last, head int64 // other sessions keep the head warm: what the first call reads
			for r := range s.Threads[i].Rounds {
				now, wait := s.Threads[i].Rounds[r].Usage.Input(), time.Duration(s.Threads[i].Rounds[r].Wait)
				switch {
				case r == 0:
					head = s.Threads[i].Rounds[r].Usage.Read
					last = head
				case wait > warm1h:
					last = head
				case wait > warm:
					short += float64(max(0, min(now, last)-head))
				}
				long += float64(max(0, now-last))
				last = now
			}
		}
		written, rested = written+long, rested+short
		x.Value += (rate.write1h-rate.write)*long - (rate.write-rate.read)*short
	}
	x.Inputs = fmt.Sprintf("G %s, R %s", tokens(written), tokens(rested))
	both := [][]string{{"client.ttl.choice=1h"}, {"client.ttl.choice=5m"}}
	rows, err := t.ownRows(t.ctx, t.sessions, both, sim.RefetchNever)
	if t.err = err; err != nil {
		return false
	}
	x.Simulated = usdOf(rows[0]) - usdOf(rows[1])
	return x.Simulated != 0 // equal where the client asks for no lifetime
}

// Expectations of the formula: output and instruction of a summary call, tokens (medians of recorded compactions,
// summarizer.Default; instruction assumed).
const closedOutput, closedInstruction = 4900, 1500

// threshold tries full compaction at 60,000 to 180,000 tokens and compares the formula with the cheapest when the
// agent acts as recorded. Where they differ it also gives the cheapest in a closed loop.
func (x *Formula) threshold(t *scale) bool {
	var open, closed []sim.Config
	for n := 60_000; n <= 180_000; n += 10_000 {
		at := fmt.Sprintf("full-compact.trigger={measure: client_tokens, fixed: %d}", n)
		c := t.config("auto-compact/167k", at)
		c.Agent.Refetch = sim.RefetchFitted
		closed = append(closed, c)
		c.Needs, c.Agent.Refetch = nil, sim.RefetchNever
		open = append(open, c)
	}
	best, _ := t.cheapest(open)
	again, _ := t.cheapest(closed)
	seen := &changeLog{}
	open[best].Observer = seen
	t.run(t.sessions, 1, open[best])
	var n, left float64
	for i := range seen.list {
		if b := &seen.list[i]; b.Kind == strategies.BoundaryCompact && !b.Manual {
			n, left = n+1, left+float64(b.After)
		}
	}
	if n == 0 {
		return false
	}
	left /= n
	price := left*(t.write-t.read) + closedOutput*t.output + closedInstruction*t.input
	// A cycle of n calls reads n·left + g·n²/2 and ends with a call that reads it all. The cost per
	// call is least when reading g·n²/2 tokens costs as much as price and a read of left.
	x.Value = left + math.Sqrt(2*t.growth*(price+left*t.read)/t.read)
	x.Simulated = float64(60_000 + 10_000*best)
	x.Inputs = fmt.Sprintf("L %s, g %s, K $%.2f", tokens(left), tokens(t.growth), price+left*t.read)
	x.Why = "; with what is forgotten fetched again the best is " + tokens(float64(60_000+10_000*again))
	return true
}

func tokens(n float64) string { return document.Tokens(n) }
