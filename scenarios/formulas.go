package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Formula is a quantity by a closed form over figures of the sessions, next to what the simulation of them finds.
type Formula struct {
	Name      string  `json:"name"`
	Form      string  `json:"formula"`
	Inputs    string  `json:"inputs"` // the formula's letters, from these sessions
	Unit      string  `json:"unit"`
	Value     float64 `json:"value"`
	Simulated float64 `json:"simulated"`
	Why       string  `json:"why,omitempty"` // what the formula leaves out, where the two differ by more than closeEnough
}

// formula declares a closed form: find gives its inputs, its value and what the simulation finds, false where the
// sessions or the prices do not have what it takes. In all of them r, w and w1 are the prices of a token that is read,
// written for five minutes and written for an hour, and g is what a context grows by in a call.
type formula struct {
	name, form, unit string
	leaves           string // what it does not know
	find             func(*Plan, context.Context, *figures) (Formula, bool, error)
}

// formulas are the closed forms of the costs of caching. The first is the identity of one clearing on a warm cache; the
// second the economic batch of clearing under C(M) = a·(P + M/2) + b·(P·g + M·c)/M, with a = r·(1−λ) + w·λ, b =
// (w−r)·(1−λ), λ the share of cold calls and c the part of g that is not cleared; the third the difference of two bills;
// the last the economic batch of compaction.
var formulas = []formula{
	{
		"calls until a clearing has paid", "(w−r)·S / (r·C)", "calls",
		"it takes every later call for warm, and no other change of the messages", (*Plan).clearing,
	},
	{
		"tokens to clear at once", "√(2·b·P·g/a)", "tokens",
		"it takes results to come evenly, to be cleared wherever they stand, and the conversation not to end", (*Plan).batch,
	},
	{
		"lifetime of 1h in place of 5m", "(w1−w)·G − (w−r)·R", "USD",
		"it leaves out compactions, and losses before the lifetime ends", (*Plan).lifetime,
	},
	{
		"context to compact at", "L + √(2·g·K/r)", "tokens",
		"it knows one growth and no end", (*Plan).threshold,
	},
}

// closeEnough is how far the simulation may be from the formula without a word.
const closeEnough = 0.05

// figures are what closed forms take from the sessions of an agent.
type figures struct {
	sessions []*traces.Session
	growth   float64 // tokens a call, of main conversations
	cold     float64 // share of their calls behind a pause of more than five minutes
	median   int     // calls of a main conversation
	tokenPrices
}

// tokenPrices are those of a token, USD.
type tokenPrices struct {
	read, write, write1h, input, output float64 // write1h is write where there is no such lifetime
}

// formulas holds the closed forms against the simulation of the sessions of an agent.
func (p *Plan) formulas(ctx context.Context, f *figures) ([]Formula, error) {
	f.tokenPrices = p.pricesOf(common(f.sessions))
	if f.growth == 0 || f.read <= 0 || f.write <= f.read {
		return nil, nil
	}
	var list []Formula
	for i := range formulas {
		d := &formulas[i]
		x, ok, err := d.find(p, ctx, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		if !ok {
			continue
		}
		x.Name, x.Form, x.Unit = d.name, d.form, d.unit
		if math.Abs(x.Simulated-x.Value) > closeEnough*math.Abs(x.Simulated) {
			x.Why = d.leaves + x.Why
		} else {
			x.Why = ""
		}
		list = append(list, x)
	}
	return list, nil
}

// figuresOf measures main conversations.
func figuresOf(sessions []*traces.Session) *figures {
	f := &figures{sessions: sessions}
	var grown, steps, cold, calls float64
	var lengths []int
	for _, s := range sessions {
		for i := range s.Threads {
			t := &s.Threads[i]
			if t.Kind != traces.ThreadMain || len(t.Rounds) == 0 {
				continue
			}
			lengths = append(lengths, len(t.Rounds))
			for r := range t.Rounds {
				calls++
				if r == 0 {
					continue
				}
				if t.Rounds[r].Wait > 5*60e9 {
					cold++
				}
				if d := t.Rounds[r].Usage.Input() - t.Rounds[r-1].Usage.Input(); d > 0 {
					grown, steps = grown+float64(d), steps+1
				}
			}
		}
	}
	if steps > 0 {
		slices.Sort(lengths)
		f.growth, f.cold, f.median = grown/steps, cold/calls, lengths[len(lengths)/2]
	}
	return f
}

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

// pricesOf returns the prices of the model that a session begins with, none where it is not known.
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

// Checked, Answered and Served take no notice.
func (*changeLog) Checked(sim.Point, strategies.Check)                        {}
func (*changeLog) Answered(sim.Point, string, string, strategies.Outcome)     {}
func (*changeLog) Served(sim.Point, string, *prompt.Request, *prompt.Outcome) {}

// Closed forms of clearing are held against this: results of tools beyond the newest protected tokens go when they are
// so many as one clearing takes, on a window that no conversation fills.
const protected, oneClearing, endless = 40_000, 20_000, 1 << 30

// clears returns the configuration of it, and that without a clearing.
func (p *Plan) clears(tokens int) (with, without sim.Config, err error) {
	if without, err = p.Config("none", nil); err != nil {
		return with, without, err
	}
	with, err = p.Config("microcompact/v1", []string{
		"microcompact.trigger={measure: client_tokens, fixed: 1}", "microcompact.count=true",
		"microcompact.threshold=" + strconv.Itoa(protected), "microcompact.min_saved=" + strconv.Itoa(tokens),
	})
	for _, c := range [...]*sim.Config{&with, &without} {
		c.Window, c.Needs, c.Breaks = endless, nil, false
	}
	return with, without, err
}

// at names a call of a conversation.
type at struct{ thread, round int32 }

// calls runs a session and returns the calls of its conversations, and what changed their contexts.
func calls(ctx context.Context, c sim.Config, s *traces.Session) (map[at]results.CallRecord, []change, error) {
	records, seen := map[at]results.CallRecord{}, &changeLog{}
	c.Observer = seen
	c.Record = func(r *results.CallRecord) {
		if r.Round >= 0 {
			records[at{r.Thread, r.Round}] = *r
		}
	}
	_, err := sim.Runner{Workers: 1}.Run(ctx, []*traces.Session{s}, []sim.Config{c})
	return records, seen.list, err
}

// clearing compares the first clearing of each conversation with a run without it, up to the next. It counts where the
// cache is warm and the formula says that enough calls follow.
func (p *Plan) clearing(ctx context.Context, f *figures) (x Formula, ok bool, err error) {
	with, without, err := p.clears(oneClearing)
	if err != nil {
		return x, false, err
	}
	var formula, found []float64
	var removed, behind float64
	for _, s := range f.sessions {
		cleared, changes, err := calls(ctx, with, s)
		if err != nil {
			return x, false, err
		}
		if len(changes) == 0 {
			continue
		}
		whole, _, err := calls(ctx, without, s)
		if err != nil {
			return x, false, err
		}
		first := map[int32]bool{}
		for i, c := range changes {
			if first[c.Thread] {
				continue
			}
			first[c.Thread] = true
			from, to := at{c.Thread, c.Round}, int32(len(s.Threads[c.Thread].Rounds))
			if next := slices.IndexFunc(changes[i+1:], func(o change) bool { return o.Thread == c.Thread }); next >= 0 {
				to = changes[i+1+next].Round
			}
			a, b := whole[from].Usage, cleared[from].Usage
			taken := float64(a.Input() - b.Input())
			again := float64(a.Read-b.Read) - taken
			n := (f.write - f.read) * again / (f.read * taken)
			if taken <= 0 || again <= 0 || n > float64(to-c.Round) {
				continue
			}
			removed, behind = removed+taken, behind+again
			formula, found = append(formula, n), append(found, paid(whole, cleared, from, to, f.read*taken))
		}
	}
	n := float64(len(formula))
	if n == 0 {
		return x, false, nil
	}
	slices.Sort(formula)
	slices.Sort(found)
	x.Inputs = fmt.Sprintf("S %s, C %s, %.0f clearings", tokens(behind/n), tokens(removed/n), n)
	x.Value, x.Simulated = formula[len(formula)/2], found[len(found)/2]
	return x, true, nil
}

// paid returns after how many calls a clearing had paid, or how many there were; saved is what the first saved.
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

// batch tries clearings of the size that the formula says, and of a quarter to four times as much.
func (p *Plan) batch(ctx context.Context, f *figures) (x Formula, ok bool, err error) {
	carry, premium := f.read*(1-f.cold)+f.write*f.cold, (f.write-f.read)*(1-f.cold)
	x.Value = math.Sqrt(2 * premium * protected * f.growth / carry)
	x.Inputs = fmt.Sprintf("P %s, g %s, λ %.2f", tokens(protected), tokens(f.growth), f.cold)
	var configs []sim.Config
	sizes := []float64{0.25, 0.5, math.Sqrt2 / 2, 1, math.Sqrt2, 2, 4}
	for _, size := range sizes {
		c, _, err := p.clears(int(size * x.Value))
		if err != nil {
			return x, false, err
		}
		configs = append(configs, c)
	}
	best, usd, err := p.cheapest(ctx, f.sessions, configs)
	if err != nil {
		return x, false, err
	}
	x.Simulated = sizes[best] * x.Value
	x.Why = fmt.Sprintf("; at the formula's size the sessions cost %.1f %% more than at the best tried",
		100*(usd[slices.Index(sizes, 1)]/usd[best]-1))
	return x, slices.Max(usd) > usd[best], nil // equal where no result may be cleared
}

func usdOf(rows []results.Row) (usd float64) {
	for i := range rows {
		usd += rows[i].CostUSD()
	}
	return usd
}

// lifetime compares the client as it is, asking for an hour, with itself asking for five minutes.
func (p *Plan) lifetime(ctx context.Context, f *figures) (x Formula, ok bool, err error) {
	if f.write1h <= f.write {
		return x, false, nil
	}
	var written, rested float64 // G and R
	for _, s := range f.sessions {
		rate := p.pricesOf(s)
		if rate.write1h <= rate.write {
			continue
		}
		var long, short float64
		for i := range s.Threads {
			var last, head int64 // head stays warm through others: what the first call reads
			for r := range s.Threads[i].Rounds {
				now, wait := s.Threads[i].Rounds[r].Usage.Input(), s.Threads[i].Rounds[r].Wait
				switch {
				case r == 0:
					head = s.Threads[i].Rounds[r].Usage.Read
					last = head
				case wait > 60*60e9:
					last = head
				case wait > 5*60e9:
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
	rows, err := p.ownRows(ctx, f.sessions, both, sim.RefetchNever)
	if err != nil {
		return x, false, err
	}
	x.Simulated = usdOf(rows[0]) - usdOf(rows[1])
	return x, x.Simulated != 0, nil // equal where the client asks for no lifetime
}

// Expectations of the formula: output and instruction of a summary call, tokens (medians of recorded compactions,
// summarizer.Default; instruction assumed).
const closedOutput, closedInstruction = 4900, 1500

// threshold tries full compaction at 60,000 to 180,000 tokens, and holds the formula against the cheapest if the agent
// acts as recorded. Where they differ it tells the cheapest in a closed loop too.
func (p *Plan) threshold(ctx context.Context, f *figures) (x Formula, ok bool, err error) {
	var open, closed []sim.Config
	for n := 60_000; n <= 180_000; n += 10_000 {
		at := fmt.Sprintf("full-compact.trigger={measure: client_tokens, fixed: %d}", n)
		c, err := p.Config("auto-compact/167k", []string{at})
		if err != nil {
			return x, false, err
		}
		c.Breaks, c.Agent.Refetch = false, sim.RefetchFitted
		closed = append(closed, c)
		c.Needs, c.Agent.Refetch = nil, sim.RefetchNever
		open = append(open, c)
	}
	at, _, err := p.cheapest(ctx, f.sessions, open)
	if err != nil {
		return x, false, err
	}
	again, _, err := p.cheapest(ctx, f.sessions, closed)
	if err != nil {
		return x, false, err
	}
	seen := &changeLog{}
	open[at].Observer = seen
	if _, err := (sim.Runner{Workers: 1}).Run(ctx, f.sessions, open[at:at+1]); err != nil {
		return x, false, err
	}
	var n, left float64
	for i := range seen.list {
		if b := &seen.list[i]; b.Kind == strategies.BoundaryCompact && !b.Manual {
			n, left = n+1, left+float64(b.After)
		}
	}
	if n == 0 {
		return x, false, nil
	}
	left /= n
	price := left*(f.write-f.read) + closedOutput*f.output + closedInstruction*f.input
	// A cycle of n calls reads n·left + g·n²/2 and ends with a call that reads it all: per call that is least where
	// g·n²/2 read once more equals the price.
	x.Value = left + math.Sqrt(2*f.growth*(price+left*f.read)/f.read)
	x.Simulated = float64(60_000 + 10_000*at)
	x.Inputs = fmt.Sprintf("L %s, g %s, K $%.2f", tokens(left), tokens(f.growth), price+left*f.read)
	x.Why = "; with what is forgotten fetched again the best is " + tokens(float64(60_000+10_000*again))
	return x, true, nil
}

// cheapest returns which configuration costs the least, and what each costs, USD.
func (p *Plan) cheapest(ctx context.Context, sessions []*traces.Session, list []sim.Config) (int, []float64, error) {
	rows, err := sim.Runner{Workers: p.Workers}.Run(ctx, sessions, list)
	if err != nil {
		return 0, nil, err
	}
	usd := make([]float64, len(rows))
	for i := range rows {
		usd[i] = usdOf(rows[i])
	}
	return slices.Index(usd, slices.Min(usd)), usd, nil
}

func tokens(n float64) string { return document.Tokens(n) }
