package results

import (
	"cmp"
	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/internal/study/confusion"
	"github.com/compactsim/compactsim/internal/study/recall"
	"github.com/compactsim/compactsim/sim/prompt"
)

// A figure of a row is declared here once: its member in rows.jsonl, its place
// in Row, how it adds up and what bounds it, whether every row has it, and the
// metrics that it is published as. Adding, writing, reading and checking rows,
// and the list of metrics follow from the declaration.

// field is a member of a row with its metrics.
type field struct {
	jsonlines.Member[Row]
	metrics []Metric
}

// number is the type of a figure in a row.
type number interface{ int | int64 | float64 }

// rowFields are the members of a row in the order of rows.jsonl.
var rowFields = []field{
	{Member: jsonlines.Label[Row]("cell")},
	{Member: jsonlines.At("strategy", func(r *Row) *string { return &r.Strategy }, jsonlines.Text{Shared: true})},
	{Member: jsonlines.At("session", func(r *Row) *string { return &r.Session }, jsonlines.Text{})},
	{Member: jsonlines.At("loop", func(r *Row) *Loop { return &r.Loop }, jsonlines.Choice[Loop]{Names: loopNames}).Or()},
	{Member: jsonlines.At("sessions", func(r *Row) *int { return &r.Sessions }, jsonlines.Count[int]())},
	counts(NameCalls, func(r *Row) *int { return &r.Calls }, Metric{place: atCalls, Unit: UnitCalls, Better: Lower,
		Definition: "requests answered by a model, summary calls included"}),
	split("calls_by_source", sourceNames[:], int(SourceOther),
		func(r *Row) *[NumSources]int { return &r.CallsBySource },
		func(a *[NumSources]int) []int { return a[:] }, jsonlines.Count[int]()),
	{Member: jsonlines.At("tokens", func(r *Row) *prompt.Usage { return &r.Usage }, usageForm),
		metrics: tokenMetrics()},
	split("tokens_by_source", sourceNames[:], int(SourceOther),
		func(r *Row) *[NumSources]prompt.Usage { return &r.UsageBySource },
		func(a *[NumSources]prompt.Usage) []prompt.Usage { return a[:] }, usageForm),
	{Member: jsonlines.At("cost_usd_by_class", func(r *Row) *Cost { return &r.CostByClass }, costForm),
		metrics: classCosts()},
	split("cost_usd_by_source", sourceNames[:], int(SourceOther),
		func(r *Row) *[NumSources]Cost { return &r.CostBySource },
		func(a *[NumSources]Cost) []Cost { return a[:] }, costForm, sourceCosts()...),
	amount(NameStorage, func(r *Row) *float64 { return &r.StorageUSD }, Metric{
		place: atStorage, Unit: UnitUSD, Better: Lower, Exact: true,
		Definition: "price of keeping cache entries, for providers that charge by time"}),
	{jsonlines.At("expected_loss_usd", func(r *Row) *float64 { return &r.ExpectedLossUSD }, jsonlines.Amount{}).Or(),
		[]Metric{expectedCost()}},
	{jsonlines.At("predicted_usd", func(r *Row) *float64 { return &r.PredictedUSD }, jsonlines.Amount{}).Or(),
		[]Metric{overPredicted()}},
	{Member: jsonlines.At("predicted_of_usd", func(r *Row) *float64 { return &r.PredictedOfUSD }, jsonlines.Amount{}).Or()},

	bounds(NameBound, func(r *Row) *float64 { return &r.BoundUSD },
		"no schedule of full compaction costs less, known the future", regret()),
	bounds("bound_reached_usd", func(r *Row) *float64 { return &r.ReachedUSD },
		"cost of the best schedule of full compaction that was found for bound_usd"),
	bounds("clear_bound_usd", func(r *Row) *float64 { return &r.ClearBoundUSD },
		"no schedule that clears tool results and makes no call costs less, known the future"),
	{Member: jsonlines.At("bounded", func(r *Row) *int { return &r.Bounded }, jsonlines.Count[int]()).Or()},

	counts(NameMisses, func(r *Row) *int { return &r.Misses }, Metric{
		place: atMisses, Unit: UnitCalls, Better: Lower,
		Definition: "calls that read less than the best prefix of their thread; the first call of a thread is not counted"}),
	split("misses_by_class", missNames, beyond,
		func(r *Row) *[prompt.NumMissClasses]int { return &r.MissesByClass },
		byMiss, jsonlines.Count[int](), missMetrics()...),
	{Member: jsonlines.At("missed_tokens", func(r *Row) *int64 { return &r.MissedTokens }, jsonlines.Count[int64]())},
	{Member: jsonlines.At("hit_calls", func(r *Row) *int { return &r.HitCalls }, jsonlines.Count[int]())},
	{jsonlines.At("later_calls", func(r *Row) *int { return &r.LaterCalls }, jsonlines.Count[int]()), []Metric{callHits()}},

	counts(NameCompactions, func(r *Row) *int { return &r.Compactions }, Metric{place: atCompaction, Unit: UnitCount,
		Definition: "times that messages were replaced by a summary"}),
	counts(NameMicrocompactions, func(r *Row) *int { return &r.Microcompactions }, Metric{
		place: atCompaction, Unit: UnitCount,
		Definition: "times that tool results were cleared without a summary"}),
	counts(NameRecompactions, func(r *Row) *int { return &r.Recompactions }, Metric{
		place: atCompaction, Unit: UnitCount, Better: Lower,
		Definition: "compactions of a context that already held a summary"}),
	largest(NameChainMax, func(r *Row) *int { return &r.ChainMax }, Metric{
		place: atCompaction, Unit: UnitCount, Better: Lower,
		Definition: "longest run of compactions on one thread; over several sessions the maximum"}),
	largest(NamePeakContext, func(r *Row) *int64 { return &r.PeakContext }, Metric{
		place: atCompaction, Unit: UnitTokens, Better: Lower,
		Definition: "largest request sent, tokens; over several sessions the maximum"}),
	counts(NameOverflows, func(r *Row) *int { return &r.Overflows }, Metric{
		place: atCompaction, Unit: UnitCalls, Better: Lower,
		Definition: "requests that a server refuses as too long"}),
	{Member: jsonlines.At("over_window", func(r *Row) *int { return &r.OverWindow }, jsonlines.Count[int]())},
	{Member: jsonlines.At("failed_compactions", func(r *Row) *int { return &r.FailedCompaction }, jsonlines.Count[int]())},

	amount(NameAddedLatency, func(r *Row) *float64 { return &r.AddedLatency }, Metric{
		place: atCompaction, Unit: UnitSeconds, Better: Lower,
		Definition: "waiting that context management added, seconds of the simulated clock, negative where earlier " +
			"first tokens outweigh it; calls of sub-agents and of conversations that run at the same time count each"}),
	split("added_latency_seconds_by_part", waitNames[:], beyond,
		func(r *Row) *[numWaits]float64 { return &r.Waits },
		func(a *[numWaits]float64) []float64 { return a[:] }, jsonlines.Amount{Signed: true}, waitMetrics()...).optional(),
	split("seconds_at_level", levelNames[:], pass, func(r *Row) *[numLevels]float64 { return &r.SecondsAt },
		func(a *[numLevels]float64) []float64 { return a[:] }, jsonlines.Amount{}, levelMetrics()...).optional(),
	{Member: jsonlines.At("percent_left", func(r *Row) *Left { return &r.Left }, leftForm).Or(),
		metrics: leftMetrics()},

	{Member: jsonlines.At("breaks", func(r *Row) *confusion.Matrix { return &r.Breaks }, breaksForm).Or(),
		metrics: breakMetrics()},
	{Member: jsonlines.At("needs", func(r *Row) *recall.Needs { return &r.Needs }, needsForm).Or(),
		metrics: needMetrics()},
	{Member: jsonlines.At("counts", func(r *Row) *Counts { return &r.Counts }, countForm).Or(),
		metrics: countMetrics()},
	{Member: jsonlines.At("firings", func(r *Row) *map[string]int { return &r.Firings }, jsonlines.Tally{}).Or()},
	{Member: jsonlines.At("reasons", func(r *Row) *map[string]int { return &r.Reasons }, jsonlines.Tally{}).Or()},
	{Member: jsonlines.At("logged_output_usd", func(r *Row) *float64 { return &r.LoggedOutputUSD }, jsonlines.Amount{}).Or()},
	{Member: jsonlines.At("unlogged_writes_usd", func(r *Row) *float64 { return &r.UnloggedWritesUSD }, jsonlines.Amount{}).Or()},
	{Member: jsonlines.At("unpriced_calls", func(r *Row) *int { return &r.Unpriced }, jsonlines.Count[int]())},
}

// rowForm is the encoded form of a row.
var rowForm = jsonlines.NewObject(jsonlines.Pass, membersOf(rowFields)...).Need("row")

func membersOf(fields []field) []jsonlines.Member[Row] {
	var list []jsonlines.Member[Row]
	for _, f := range fields {
		list = append(list, f.Member)
	}
	return list
}

// counts declares a count that adds up and is a figure under its own name.
func counts[T int | int64](name string, at func(*Row) *T, m Metric) field {
	m.Exact = true
	return field{jsonlines.At(name, at, jsonlines.Count[T]()), []Metric{named(name, at, m)}}
}

// largest declares a count of which added rows keep the largest.
func largest[T int | int64](name string, at func(*Row) *T, m Metric) field {
	m.Exact, m.Kind = true, KindMaximum
	return field{jsonlines.At(name, at, jsonlines.Largest[T]()), []Metric{named(name, at, m)}}
}

// amount declares a cost or a time. Only waiting may be negative: first tokens
// can come earlier than recorded.
func amount(name string, at func(*Row) *float64, m Metric, more ...Metric) field {
	form := jsonlines.Amount{Signed: m.Unit == UnitSeconds}
	return field{jsonlines.At(name, at, form), append([]Metric{named(name, at, m)}, more...)}
}

// named completes the metric of a figure.
func named[T number](name string, at func(*Row) *T, m Metric) Metric {
	m.Name = name
	if m.Value == nil {
		m.Value = func(r *Row) (float64, bool) { return float64(*at(r)), true }
	}
	return m
}

// What becomes of a part with an unknown name, besides a place for others.
const (
	refuse = int(jsonlines.Refuse)
	pass   = int(jsonlines.Pass)
	beyond = int(jsonlines.Beyond)
)

// split declares figures by name.
func split[A any, E comparable](name string, names []string, strange int, at func(*Row) *A, all func(*A) []E,
	part jsonlines.Part[E], metrics ...Metric,
) field {
	return field{jsonlines.At(name, at, jsonlines.ByName(names, all, part, jsonlines.Strange(strange))), metrics}
}

// optional declares that the field is left out when it is empty.
func (f field) optional() field {
	f.Member = f.Or()
	return f
}

var usageForm = jsonlines.NewObject(jsonlines.Refuse,
	tokensOf(ClassUncached, func(u *prompt.Usage) *int64 { return &u.Uncached }),
	tokensOf(ClassRead, func(u *prompt.Usage) *int64 { return &u.Read }),
	tokensOf(ClassWrite5m, func(u *prompt.Usage) *int64 { return &u.Write5m }),
	tokensOf(ClassWrite1h, func(u *prompt.Usage) *int64 { return &u.Write1h }),
	tokensOf(ClassWriteOther, func(u *prompt.Usage) *int64 { return &u.WriteOther }),
	tokensOf(ClassOutput, func(u *prompt.Usage) *int64 { return &u.Output }),
).Sum(func(u, v *prompt.Usage) { u.Add(v) })

func tokensOf(c Class, at func(*prompt.Usage) *int64) jsonlines.Member[prompt.Usage] {
	return jsonlines.At(c.String(), at, jsonlines.Count[int64]()).Or()
}

// tokenMetrics are the metrics of Row.Usage.
func tokenMetrics() []Metric {
	tokens := func(name string, better Better, definition string, f func(*prompt.Usage) int64) Metric {
		return Metric{place: atTokens, Name: name, Unit: UnitTokens, Better: better, Exact: true, Definition: definition,
			Value: func(r *Row) (float64, bool) { return float64(f(&r.Usage)), true }}
	}
	const written = "input tokens written to the cache with "
	return []Metric{
		tokens(NameUncachedTokens, Lower, "input tokens neither read from nor written to the cache",
			func(u *prompt.Usage) int64 { return u.Uncached }),
		tokens(NameReadTokens, Neither, "input tokens read from the cache",
			func(u *prompt.Usage) int64 { return u.Read }),
		tokens(NameWrite5mTokens, Lower, written+"a lifetime of 5 minutes",
			func(u *prompt.Usage) int64 { return u.Write5m }),
		tokens(NameWrite1hTokens, Lower, written+"a lifetime of 1 hour",
			func(u *prompt.Usage) int64 { return u.Write1h }),
		tokens(NameWriteOtherTokens, Lower, written+"another or an unstated lifetime",
			func(u *prompt.Usage) int64 { return u.WriteOther }),
		tokens(NameOutputTokens, Neither, "tokens written by the model, summaries included",
			func(u *prompt.Usage) int64 { return u.Output }),
		ratio(Metric{place: atHitRatio, Name: NameHitRatio, Better: Higher,
			Definition: "cache_read_tokens / all input tokens; no sample without input"},
			func(r *Row) (int64, int64) { return r.Usage.Read, r.Usage.Input() }),
	}
}

var costForm = jsonlines.ByName(classNames[:], func(c *Cost) []float64 { return c[:] },
	jsonlines.Amount{}, jsonlines.Refuse)

// classCosts are the total cost and its parts by class. Storage belongs to no
// class and no source: it is the remainder of both.
func classCosts() []Metric {
	ms := []Metric{{place: atCost, Name: NameCost, Unit: UnitUSD, Better: Lower, Exact: true,
		Definition: "price of all calls of all sources, storage included",
		Value:      func(r *Row) (float64, bool) { return r.CostUSD(), true }}}
	for c := range Class(NumClasses) {
		ms = append(ms, costPart(atClassCosts, ByClass, c.String(), "cost_usd of the token class ",
			func(r *Row) float64 { return r.CostByClass[c] }))
	}
	return ms
}

func sourceCosts() []Metric {
	var ms []Metric
	for s := range Source(NumSources) {
		ms = append(ms, costPart(atSourceCosts, BySource, s.String(), "cost_usd of the calls of source ",
			func(r *Row) float64 { return r.CostBySource[s].Total() }))
	}
	return ms
}

// expectedCost is the cost with the expected cost of losses without a visible reason. A
// bill has none.
func expectedCost() Metric {
	return Metric{place: atExpected, Name: NameExpectedCost, Unit: UnitUSD, Better: Lower, Exact: true,
		Definition: "cost_usd and what losses of cached messages without a visible reason cost on average: " +
			"their rate by class and gap × what the call would cost more; no sample in billed rows",
		Value: func(r *Row) (float64, bool) {
			return r.CostUSD() + r.ExpectedLossUSD, r.Strategy != StrategyBilled
		}}
}

// overPredicted is how much dearer a bill is than a cache that works makes it.
func overPredicted() Metric {
	parts := func(r *Row) (float64, float64) { return r.PredictedOfUSD, r.PredictedUSD }
	return Metric{place: atExpected, Name: NameOverPredicted, Unit: UnitRate, Better: Lower, Kind: KindRatio,
		Definition: "billed input of calls that are not the first of a thread, over what the same requests cost on average with a " +
			"cache that works; nothing that calls read goes into the prediction; no sample outside sim check and billed rows",
		Parts: parts,
		Value: func(r *Row) (float64, bool) {
			part, base := parts(r)
			return part / cmp.Or(base, 1), base > 0
		}}
}

// bounds declares what a best schedule costs.
func bounds(name string, at func(*Row) *float64, definition string, more ...Metric) field {
	return amount(name, at, Metric{place: atBound, Unit: UnitUSD, Exact: true,
		Definition: definition + "; no sample where it was not sought (sim run --bound)",
		Value:      func(r *Row) (float64, bool) { return *at(r), r.Bounded > 0 }}, more...).optional()
}

// regret is the cost beyond that of the best schedule.
func regret() Metric {
	return Metric{place: atBound, Name: NameRegret, Unit: UnitUSD, Better: Lower, Exact: true,
		Definition: "cost_usd − bound_usd: what the best schedule of full compaction could save at most; " +
			"below 0 for what beats all of them, or passes the window; no sample without a bound",
		Value: func(r *Row) (float64, bool) { return r.CostUSD() - r.BoundUSD, r.Bounded > 0 }}
}

func costPart(at place, by, name, what string, f func(*Row) float64) Metric {
	return Metric{place: at, Name: "cost_usd_" + name, Unit: UnitUSD, Better: Lower, Exact: true, Definition: what + name,
		Of: NameCost, By: by, Value: func(r *Row) (float64, bool) { return f(r), true }}
}

var missNames = func() []string {
	var names []string
	for m := range prompt.MissClass(prompt.NumMissClasses) {
		names = append(names, m.String())
	}
	return names
}()

func byMiss(a *[prompt.NumMissClasses]int) []int { return a[:] }

func missMetrics() []Metric {
	var ms []Metric
	for i, name := range missNames[1:] {
		ms = append(ms, Metric{
			place: atMissClasses, Name: "misses_" + name, Unit: UnitCalls, Better: Lower, Exact: true,
			Definition: "misses of class " + name, Of: NameMisses, By: ByClass,
			Value: func(r *Row) (float64, bool) { return float64(r.MissesByClass[1+i]), true }})
	}
	return ms
}

func callHits() Metric {
	return ratio(Metric{place: atCallHits, Name: NameCallHitRatio, Better: Higher,
		Definition: "calls that read all of the best prefix of their thread / " +
			"calls that are not the first of their thread; no sample without later calls"},
		func(r *Row) (int64, int64) { return int64(r.HitCalls), int64(r.LaterCalls) })
}

// ratio makes m the ratio of the sums of two counts, without a sample when the base is
// zero.
func ratio(m Metric, parts func(*Row) (part, base int64)) Metric {
	m.Kind, m.Unit, m.Exact = KindRatio, UnitRatio, true
	m.Parts = func(r *Row) (float64, float64) {
		part, base := parts(r)
		return float64(part), float64(base)
	}
	m.Value = func(r *Row) (float64, bool) {
		part, base := parts(r)
		if base == 0 {
			return 0, false
		}
		return float64(part) / float64(base), true
	}
	return m
}

func waitMetrics() []Metric {
	definitions := [numWaits]string{
		WaitCompaction: "waiting for the calls of compactions, seconds",
		WaitFirstToken: "later first tokens of the conversation against the recording, seconds; negative for earlier ones",
		WaitOther:      "waiting for other calls that block the conversation and for background calls, seconds",
	}
	var ms []Metric
	for w, name := range waitNames {
		ms = append(ms, Metric{
			place: atWaits, Name: "added_latency_seconds_" + name, Unit: UnitSeconds, Better: Lower,
			Definition: definitions[w], Of: NameAddedLatency, By: ByPart,
			Value: func(r *Row) (float64, bool) { return r.Waits[w], true }})
	}
	return ms
}

func levelMetrics() []Metric {
	var ms []Metric
	for l := LevelWarning; l < numLevels; l++ {
		ms = append(ms, Metric{
			place: atLevels, Name: l.String() + "_seconds", Unit: UnitSeconds, Better: Lower, Group: groupLevels,
			Definition: "time that main conversations spent at the " + l.String() + " level, pauses of the person included; " +
				"levels are conditions of their own, and their times overlap",
			Value: func(r *Row) (float64, bool) { return r.SecondsAt[l], true }})
	}
	return ms
}

var leftForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.At("calls", func(l *Left) *int { return &l.Calls }, jsonlines.Count[int]()),
	jsonlines.At("sum", func(l *Left) *int64 { return &l.Sum }, jsonlines.Count[int64]()),
	jsonlines.At("most_used", func(l *Left) *int { return &l.Used }, jsonlines.Largest[int]()),
)

func leftMetrics() []Metric {
	return []Metric{
		ratio(Metric{place: atLeft, Name: "percent_left", Group: groupLevels,
			Definition: "share of its limit that the client showed as left, " +
				"mean over the calls of main conversations; no sample without calls"},
			func(r *Row) (int64, int64) { return r.Left.Sum, 100 * int64(r.Left.Calls) }),
		{place: atLeft, Name: "percent_left_least", Unit: UnitRatio, Better: Higher, Exact: true,
			Group: groupLevels, Kind: KindMinimum,
			Definition: "least share of its limit that the client showed as left at a call; " +
				"over several sessions the minimum; no sample without calls",
			Value: func(r *Row) (float64, bool) { return float64(100-r.Left.Used) / 100, r.Left.Calls > 0 }},
	}
}

// breaksForm holds calls by what was said and by what was missed, "none" for a
// hit.
var breaksForm = jsonlines.NewObject(jsonlines.Refuse,
	jsonlines.At("calls", func(b *confusion.Matrix) *[confusion.NumReasons][prompt.NumMissClasses]uint32 { return &b.Calls },
		jsonlines.ByName(namesOf[confusion.Reason](confusion.NumReasons),
			func(a *[confusion.NumReasons][prompt.NumMissClasses]uint32) [][prompt.NumMissClasses]uint32 {
				return a[:]
			},
			missForm, jsonlines.Refuse)).Or(),
	jsonlines.At("changed", func(b *confusion.Matrix) *[confusion.NumFields][prompt.NumMissClasses]uint32 { return &b.Changed },
		jsonlines.ByName(namesOf[confusion.Field](confusion.NumFields),
			func(a *[confusion.NumFields][prompt.NumMissClasses]uint32) [][prompt.NumMissClasses]uint32 {
				return a[:]
			},
			missForm, jsonlines.Refuse)).Or(),
	jsonlines.At("beside", func(b *confusion.Matrix) *[confusion.NumReasons]uint32 { return &b.Beside },
		jsonlines.ByName(namesOf[confusion.Reason](confusion.NumReasons),
			func(a *[confusion.NumReasons]uint32) []uint32 { return a[:] }, jsonlines.Count[uint32](), jsonlines.Refuse)).Or(),
).Sum(func(b, c *confusion.Matrix) {
	if *c != (confusion.Matrix{}) { // most runs have no detector, and there are hundreds of counts
		b.Merge(c)
	}
})

var missForm = jsonlines.ByName(missNames,
	func(a *[prompt.NumMissClasses]uint32) []uint32 { return a[:] }, jsonlines.Count[uint32](), jsonlines.Refuse)

// namesOf returns the names of the first n values of a type.
func namesOf[T interface {
	~uint8
	String() string
}](n int) []string {
	var names []string
	for v := range T(n) {
		names = append(names, v.String())
	}
	return names
}

// breakMetrics are what the client's break detector says, without a sample when it does
// not run.
func breakMetrics() []Metric {
	of := func(f func(*confusion.Matrix) int) func(*Row) (float64, bool) {
		return func(r *Row) (float64, bool) {
			if !r.Breaks.Ran() {
				return 0, false
			}
			return float64(f(&r.Breaks)), true
		}
	}
	definitions := map[confusion.Reason]string{
		confusion.Model:    "breaks said to come from another model",
		confusion.State:    "breaks said to come from something else that changed ahead of the conversation or beside it",
		confusion.Expiry5m: "breaks said to be possible expiries after more than 5 minutes",
		confusion.Expiry1h: "breaks said to be possible expiries after more than an hour",
		confusion.Server:   "breaks said to be likely the server's",
		confusion.Unknown:  "breaks without a reason: the length of the pause is not known",
	}
	ms := []Metric{{place: atBreaks, Name: NameBreaks, Unit: UnitCalls, Better: Lower, Exact: true,
		Definition: "calls of conversations that the client's break detector takes for broken; " +
			"no sample when it does not run",
		Value: of((*confusion.Matrix).Broke)}}
	for r := confusion.Model; int(r) < confusion.NumReasons; r++ {
		ms = append(ms, Metric{
			place: atBreaks, Name: "breaks_" + r.String(), Unit: UnitCalls, Better: Lower, Exact: true,
			Definition: definitions[r], Of: NameBreaks, By: ByPart,
			Value: of(func(b *confusion.Matrix) int { return b.Said(r) })})
	}
	return ms
}
