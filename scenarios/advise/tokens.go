package advise

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// Windows of time in which tokens are counted.
const (
	fiveHours = 5 * time.Hour
	week      = 7 * 24 * time.Hour
)

// Weights say what tokens weigh: what they cost at the prices of the API, in uncached input tokens of
// one model. Of the reference itself, a token of each class weighs what the fields say.
type Weights struct {
	Model      string  `json:"model"` // the one whose calls were billed most
	InputUSD   float64 `json:"input_usd_per_mtok"`
	Uncached   float64 `json:"uncached"`
	Read       float64 `json:"read"`
	Write5m    float64 `json:"write_5m"`
	Write1h    float64 `json:"write_1h"`
	WriteOther float64 `json:"write_other"`
	Output     float64 `json:"output"`
}

// Tokens are what the sessions of an agent use.
type Tokens struct {
	Uncached   int64 `json:"input_uncached_tokens"`
	Read       int64 `json:"cache_read_tokens"`
	Write5m    int64 `json:"cache_write_5m_tokens"`
	Write1h    int64 `json:"cache_write_1h_tokens"`
	WriteOther int64 `json:"cache_write_other_tokens"`
	Output     int64 `json:"output_tokens"`
	// Weighted are cost-weighted tokens, nil where no model has a price.
	Weighted *Weighted `json:"weighted,omitempty"`
}

// Weighted counts cost-weighted tokens: of all calls, and of windows of time.
type Weighted struct {
	All       float64 `json:"tokens"`
	FiveHours Peaks   `json:"five_hours"`
	Week      Peaks   `json:"week"`
}

// Peaks are the cost-weighted tokens of the fullest window of time and of the median one.
type Peaks struct {
	Windows int     `json:"windows"` // with calls; 0 if no call has a time
	Peak    float64 `json:"peak"`
	Typical float64 `json:"typical"`
}

// Use is what the sessions of an agent use, in tokens.
type Use struct {
	Weights *Weights `json:"weights,omitempty"` // nil where no model has a price
	Logged  Tokens   `json:"logged"`
	AsIs    Tokens   `json:"as_is"`             // simulated without a change
	Undated int      `json:"undated,omitempty"` // sessions without a time, which are in no window
	windows [2][]int64
}

// tally gathers the calls of sessions.
type tally struct {
	sessions map[string]*used // by id
}

// used is what the calls of a session use.
type used struct {
	start   int64       // unix ns, 0 without a time
	calls   []sim.Spent // by the clock of the session
	classes prompt.Usage
}

func newTally(sessions []*traces.Session) *tally {
	t := &tally{map[string]*used{}}
	for _, s := range sessions {
		t.sessions[s.ID] = &used{start: s.Start}
	}
	return t
}

func (t *tally) add(r *results.CallRecord) {
	u := t.sessions[r.Session]
	u.calls = append(u.calls, sim.Spent{Start: r.Start, USD: r.Cost.Total(), Model: r.Model})
	u.classes.Add(&r.Usage)
}

// bill counts the calls that a log shows, calls for summaries included.
func (t *tally) bill(s *traces.Session, prices *costmodel.Table) {
	table := calls.Of(s, prices)
	list := table.Records()
	for i := range table.Apart {
		c := &table.Apart[i]
		list = append(list, results.CallRecord{Session: s.ID, Model: c.Model.Name, Start: max(0, c.At-s.Start), Usage: c.Recorded.Usage, Cost: c.Cost})
	}
	for i := range list {
		t.add(&list[i])
	}
}

// sorted returns all calls in an order that does not depend on workers, with the times at which they start, unix ns, 0 for unknown, and
// their tokens.
func (t *tally) sorted() (list []sim.Spent, classes prompt.Usage) {
	byStart := func(a, b *used) int { return cmp.Compare(a.start, b.start) }
	for _, u := range slices.SortedFunc(maps.Values(t.sessions), byStart) { // so that the calls are nearly in order
		for _, c := range u.calls {
			if c.Start += u.start; u.start == 0 {
				c.Start = 0
			}
			list = append(list, c)
		}
		classes.Add(&u.classes)
	}
	slices.SortFunc(list, func(a, b sim.Spent) int {
		if a.Start != b.Start {
			return cmp.Compare(a.Start, b.Start)
		}
		return cmp.Or(cmp.Compare(a.USD, b.USD), cmp.Compare(a.Model, b.Model))
	})
	return list, classes
}

// begins returns when windows of a length begin: one with the first call, the next with the first call
// after its end, and so on.
func begins(calls []sim.Spent, length time.Duration) (list []int64) {
	for _, c := range calls {
		if c.Start != 0 && (len(list) == 0 || c.Start >= list[len(list)-1]+int64(length)) {
			list = append(list, c.Start)
		}
	}
	return list
}

// newUse returns what logs show of sessions: the weights of tokens and the windows that all else is held against.
func newUse(logged *tally, prices *costmodel.Table) Use {
	list, _ := logged.sorted()
	u := Use{windows: [2][]int64{begins(list, fiveHours), begins(list, week)}}
	for _, of := range logged.sessions {
		if of.start == 0 {
			u.Undated++
		}
	}
	u.Weights = weigh(list, prices)
	u.Logged = u.tokens(logged)
	return u
}

// weigh returns the weights of the model whose calls cost most, at the prices of its last call.
func weigh(list []sim.Spent, prices *costmodel.Table) *Weights {
	usd, last := map[string]float64{}, map[string]int64{}
	most := ""
	for _, c := range list {
		usd[c.Model] += c.USD
		last[c.Model] = c.Start
	}
	for model := range usd {
		if usd[model] > usd[most] || most != "" && usd[model] == usd[most] && model < most {
			most = model
		}
	}
	if usd[most] == 0 {
		return nil
	}
	var at time.Time
	if last[most] != 0 {
		at = time.Unix(0, last[most])
	}
	price, err := prices.Lookup(most, at)
	if err != nil {
		return nil
	}
	rate := price.Standard()
	per := rate.PerMTok(0)
	unit := per[measures.ClassUncached]
	if unit == 0 {
		return nil
	}
	return &Weights{
		Model: price.Model.Name, InputUSD: unit, Uncached: 1, Read: per[measures.ClassRead] / unit,
		Write5m: per[measures.ClassWrite5m] / unit, Write1h: per[measures.ClassWrite1h] / unit,
		WriteOther: per[measures.ClassWriteOther] / unit, Output: per[measures.ClassOutput] / unit,
	}
}

// tokens returns what calls use, in the windows of the logs.
func (u *Use) tokens(t *tally) Tokens {
	list, c := t.sorted()
	out := Tokens{c.Uncached, c.Read, c.Write5m, c.Write1h, c.WriteOther, c.Output, nil}
	if u.Weights == nil {
		return out
	}
	w := &Weighted{FiveHours: u.peaks(list, u.windows[0]), Week: u.peaks(list, u.windows[1])}
	for _, c := range list {
		w.All += u.weight(c.USD)
	}
	out.Weighted = w
	return out
}

// weight returns the cost-weighted tokens of an amount in USD.
func (u *Use) weight(usd float64) float64 { return usd * 1e6 / u.Weights.InputUSD }

// peaks returns the fullest and the median window. A call counts in the last window that has begun, one
// before them all in the first: what a setting delays stays where its work was.
func (u *Use) peaks(list []sim.Spent, begins []int64) Peaks {
	if len(begins) == 0 {
		return Peaks{}
	}
	sums := make([]float64, len(begins))
	for _, c := range list {
		if c.Start == 0 {
			continue
		}
		i, found := slices.BinarySearch(begins, c.Start)
		if !found {
			i = max(0, i-1)
		}
		sums[i] += u.weight(c.USD)
	}
	slices.Sort(sums)
	return Peaks{Windows: len(sums), Peak: sums[len(sums)-1], Typical: stats.Quantile(sums, 0.5)}
}

// tokensNote says what the columns of advice in tokens are.
const tokensNote = "LOGGED is what the logs show. OWN is the client simulated without a change, with the calls that are in no log, " +
	"such as summaries and repeated fetches; % compares each row with it. A five-hour window, or a week, begins with the first logged " +
	"call after the last one ended. PEAK is the fullest window, TYPICAL the median one. Unseen sessions " +
	"are those not used to choose the value. The limits of plans are not known here."

// used says what the logs of all agents show, in tokens.
func (a *Advice) used() string {
	var all prompt.Usage
	for i := range a.Agents {
		t := &a.Agents[i].Use.Logged
		all.Add(&prompt.Usage{Uncached: t.Uncached, Read: t.Read, Write5m: t.Write5m, Write1h: t.Write1h, WriteOther: t.WriteOther, Output: t.Output})
	}
	if all.Input() == 0 {
		return "what was used is not known: the logs have no token counts"
	}
	return fmt.Sprintf("logged: %s input tokens, %s read from the cache, and %s output tokens",
		document.Tokens(all.Input()), document.Percent(float64(all.Read)/float64(all.Input())), document.Tokens(all.Output))
}

// inTokens returns what the sessions use, and what to set in each client.
func (a *Advice) inTokens() (list []document.Section) {
	for i := range a.Agents {
		list = append(list, a.Agents[i].section(AsTokens, cmp.Or(a.Again, anywhere)))
	}
	return list
}

// usage is a row of the tables of tokens: what is used, as logged or with a change.
type usage struct {
	label, setting string
	tokens         *Tokens
}

// usages returns the rows of the tables of tokens.
func (x *AgentAdvice) usages() []usage {
	list := []usage{{"logged", "", &x.Use.Logged}, {"own", "", &x.Use.AsIs}}
	for i := range x.Changes {
		c := &x.Changes[i]
		list = append(list, usage{strconv.Itoa(i+1) + ". " + c.Does, c.Assign, &c.Tokens})
	}
	if x.Together != nil {
		list = append(list, usage{x.Together.text(), "", &x.Together.Tokens})
	}
	return list
}

// tokens returns the tables of tokens: by class, and by window of time.
func (x *AgentAdvice) tokens() []document.Block {
	blocks := []document.Block{x.byClass()}
	w := x.Use.Weights
	if w == nil {
		return append(blocks, document.Text{Text: "No model here has a price, so tokens have no weight; --price-as bills them as another model."})
	}
	if x.Use.Logged.Weighted.Week.Windows > 0 {
		blocks = append(blocks, x.byWindow())
	}
	text := fmt.Sprintf("A cost-weighted token costs as much as an uncached input token of %s at the API; that model's other tokens weigh: %s. "+
		"Calls of other models and price tiers are weighted by their own prices.", w.Model, x.weights())
	if n := x.Use.Undated; n > 0 {
		text += fmt.Sprintf(" %s without a time in no window.", document.Count(n, "session"))
	}
	if x.Unpriced > 0 {
		text += fmt.Sprintf(" %s of models without a price weigh nothing.", document.Count(x.Unpriced, "call"))
	}
	return append(blocks, document.Text{Text: text})
}

// classTitles are the titles of the columns of tokens by class.
var classTitles = [measures.NumClasses]string{"UNCACHED", "READ", "WRITTEN 5M", "WRITTEN 1H", "WRITTEN", "OUTPUT"}

// classesUsed reports which classes have a token in any row.
func (x *AgentAdvice) classesUsed() (used [measures.NumClasses]bool) {
	for _, u := range x.usages() {
		for i, n := range u.tokens.classes() {
			used[i] = used[i] || n > 0
		}
	}
	return used
}

// weights lists what tokens of the used classes weigh.
func (x *AgentAdvice) weights() string {
	w, used := x.Use.Weights, x.classesUsed()
	var list []string
	for i, weight := range []float64{w.Uncached, w.Read, w.Write5m, w.Write1h, w.WriteOther, w.Output} {
		if used[i] && measures.Class(i) != measures.ClassUncached {
			list = append(list, fmt.Sprintf("%s %.3g", strings.ToLower(classTitles[i]), weight))
		}
	}
	return strings.Join(list, ", ")
}

// byClass lists tokens by class, without classes that nothing uses.
func (x *AgentAdvice) byClass() *document.Table {
	used := x.classesUsed()
	t := &document.Table{Columns: document.Left("TOKENS")}
	for i, title := range classTitles {
		if used[i] {
			t.Columns = append(t.Columns, document.Right(document.UnitTokens, title)...)
		}
	}
	t.Columns = append(t.Columns, document.Right("", "COST-WEIGHTED", "%")...)
	for i, u := range x.usages() {
		row := []any{u.label}
		for j, n := range u.tokens.classes() {
			if used[j] {
				row = append(row, document.Tokens(n))
			}
		}
		weighted, change := document.Dash, ""
		if w := u.tokens.Weighted; w != nil {
			weighted = document.Tokens(w.All)
			if i > 1 {
				change = document.SignedPercent(w.All/x.Use.AsIs.Weighted.All - 1)
			}
		}
		t.Rows = append(t.Rows, append(row, weighted, change))
	}
	return t
}

// byWindow lists cost-weighted tokens of five hours and of a week.
func (x *AgentAdvice) byWindow() *document.Table {
	logged := x.Use.Logged.Weighted
	t := &document.Table{
		Columns: append(document.Left("COST-WEIGHTED"), document.Right("", "PEAK 5 H", "TYPICAL 5 H", "PEAK WEEK", "TYPICAL WEEK")...),
		Notes: []string{fmt.Sprintf("Of %s of five hours and %s.", document.Count(logged.FiveHours.Windows, "window"),
			document.Count(logged.Week.Windows, "week"))},
	}
	figure := func(n, was float64, changed bool) string {
		text := document.Tokens(n)
		if changed && was > 0 {
			text += " (" + document.SignedPercent(n/was-1) + ")"
		}
		return text
	}
	was := x.Use.AsIs.Weighted
	for i, u := range x.usages() {
		w := u.tokens.Weighted
		t.Rows = append(t.Rows, []any{u.label,
			figure(w.FiveHours.Peak, was.FiveHours.Peak, i > 1), figure(w.FiveHours.Typical, was.FiveHours.Typical, i > 1),
			figure(w.Week.Peak, was.Week.Peak, i > 1), figure(w.Week.Typical, was.Week.Typical, i > 1)})
	}
	return t
}

// classes returns tokens by class.
func (t *Tokens) classes() [measures.NumClasses]int64 {
	return [measures.NumClasses]int64{t.Uncached, t.Read, t.Write5m, t.Write1h, t.WriteOther, t.Output}
}

// tokenData returns what is used, for programs: a row for the log, one for the client's own
// settings, one for each change and one for all changes together.
func (a *Advice) tokenData() *document.Table {
	t := &document.Table{Columns: document.Columns("agent", "row", "set", measures.NameUncachedTokens, measures.NameReadTokens,
		measures.NameWrite5mTokens, measures.NameWrite1hTokens, measures.NameWriteOtherTokens, measures.NameOutputTokens,
		"weighted_tokens", "five_hours_peak", "five_hours_typical", "week_peak", "week_typical")}
	for i := range a.Agents {
		for _, u := range a.Agents[i].usages() {
			row := []any{a.Agents[i].Agent, u.label, u.setting}
			for _, n := range u.tokens.classes() {
				row = append(row, n)
			}
			weighted := []any{nil, nil, nil, nil, nil}
			if w := u.tokens.Weighted; w != nil {
				weighted[0] = w.All
				if w.Week.Windows > 0 {
					copy(weighted[1:], []any{w.FiveHours.Peak, w.FiveHours.Typical, w.Week.Peak, w.Week.Typical})
				}
			}
			t.Rows = append(t.Rows, append(row, weighted...))
		}
	}
	return t
}
