package scenarios

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/internal/serving/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
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

// tally gathers the calls of sessions. It is safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	starts  map[string]int64 // of sessions by id, unix ns; 0 without a time
	calls   []tallied
	classes prompt.Usage
}

// tallied is a call with what it cost.
type tallied struct {
	at    int64 // unix ns, 0 for unknown
	usd   float64
	model string
}

func newTally(sessions []*traces.Session) *tally {
	t := &tally{starts: map[string]int64{}}
	for _, s := range sessions {
		t.starts[s.ID] = s.Start
	}
	return t
}

// add counts a call.
func (t *tally) add(r *results.CallRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.starts[r.Session]
	if at != 0 {
		at += r.Start
	}
	t.calls = append(t.calls, tallied{at, r.Cost.Total(), r.Model})
	t.classes.Add(&r.Usage)
}

// bill counts the calls that a log shows, those of summaries included.
func (t *tally) bill(s *traces.Session, prices *costmodel.Table) {
	table := calls.Of(s, prices)
	list := table.Records()
	for i := range table.Summaries {
		c := &table.Summaries[i]
		list = append(list, results.CallRecord{Session: s.ID, Model: c.Model.Name, Start: max(0, c.At-s.Start), Usage: c.Recorded.Usage, Cost: c.Cost})
	}
	for i := range list {
		t.add(&list[i])
	}
}

// sort gives calls an order that does not depend on workers.
func (t *tally) sort() {
	slices.SortFunc(t.calls, func(a, b tallied) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.usd, b.usd), cmp.Compare(a.model, b.model))
	})
}

// begins returns when windows of a length begin: one with the first call, the next with the first call
// after its end, and so on.
func (t *tally) begins(length time.Duration) (list []int64) {
	for _, c := range t.calls {
		if c.at != 0 && (len(list) == 0 || c.at >= list[len(list)-1]+int64(length)) {
			list = append(list, c.at)
		}
	}
	return list
}

// newUse returns what logs show of sessions: the weights of tokens and the windows that all else is held against.
func newUse(logged *tally, prices *costmodel.Table) Use {
	logged.sort()
	u := Use{windows: [2][]int64{logged.begins(fiveHours), logged.begins(week)}}
	for _, start := range logged.starts {
		if start == 0 {
			u.Undated++
		}
	}
	u.Weights = weigh(logged.calls, prices)
	u.Logged = u.tokens(logged)
	return u
}

// weigh returns the weights of the model whose calls cost most, at the prices of its last call.
func weigh(list []tallied, prices *costmodel.Table) *Weights {
	usd, last := map[string]float64{}, map[string]int64{}
	most := ""
	for _, c := range list {
		usd[c.model] += c.usd
		last[c.model] = c.at
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
	unit := per[results.ClassUncached]
	if unit == 0 {
		return nil
	}
	return &Weights{
		Model: price.Model.Name, InputUSD: unit, Uncached: 1, Read: per[results.ClassRead] / unit,
		Write5m: per[results.ClassWrite5m] / unit, Write1h: per[results.ClassWrite1h] / unit,
		WriteOther: per[results.ClassWriteOther] / unit, Output: per[results.ClassOutput] / unit,
	}
}

// tokens returns what calls use, in the windows of the logs.
func (u *Use) tokens(t *tally) Tokens {
	c := &t.classes
	out := Tokens{c.Uncached, c.Read, c.Write5m, c.Write1h, c.WriteOther, c.Output, nil}
	if u.Weights == nil {
		return out
	}
	t.sort()
	w := &Weighted{FiveHours: u.peaks(t.calls, u.windows[0]), Week: u.peaks(t.calls, u.windows[1])}
	for _, c := range t.calls {
		w.All += u.weight(c.usd)
	}
	out.Weighted = w
	return out
}

// weight returns the cost-weighted tokens of an amount in USD.
func (u *Use) weight(usd float64) float64 { return usd * 1e6 / u.Weights.InputUSD }

// peaks returns the fullest and the median window. A call counts in the last window that has begun, one
// before them all in the first: what a setting delays stays where its work was.
func (u *Use) peaks(list []tallied, begins []int64) Peaks {
	if len(begins) == 0 {
		return Peaks{}
	}
	sums := make([]float64, len(begins))
	for _, c := range list {
		if c.at == 0 {
			continue
		}
		i, found := slices.BinarySearch(begins, c.at)
		if !found {
			i = max(0, i-1)
		}
		sums[i] += u.weight(c.usd)
	}
	slices.Sort(sums)
	return Peaks{Windows: len(sums), Peak: sums[len(sums)-1], Typical: stats.Quantile(sums, 0.5)}
}
