package validate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// What the index of needs says was lost is held against what agents did behind recorded compactions: by point, the
// strings that were known ahead of it and are used behind it, and whether a result showed them again before that; and
// the calls that read again, search and fail to edit, against points of the same size without a compaction.

// windows are the numbers of rounds behind a point that are looked at, 0 for all up to the next compaction.
var windows = [...]int{5, 20, 0}

// windowNames are those of windows in reports.
var windowNames = [...]string{"5", "20", "all"}

// Limits of matched points. Assumed.
const (
	apart     = 20   // rounds between a matched point and a compaction
	alike     = 0.25 // distance of the logarithms of the requests' sizes, at most
	matches   = 5    // points for each compaction
	perThread = 2    // of one thread
)

// Behind is what happened in some rounds behind a point.
type Behind struct {
	Rounds   int `json:"rounds"`
	Uses     int `json:"uses"`      // strings known ahead of the point and used again
	Lost     int `json:"lost"`      // of those, the ones that neither summary nor restored text has
	Fetched  int `json:"fetched"`   // lost ones that a result showed again before their use; without compaction, of all
	Again    int `json:"again"`     // reads of files that were read before
	Searches int `json:"searches"`  // calls that search
	Failed   int `json:"bad_edits"` // edits that failed
}

// looked is how often the agent looked for something, by 100 rounds.
func (b *Behind) looked() float64 {
	return 100 * float64(b.Again+b.Searches+b.Failed) / float64(max(1, b.Rounds))
}

// Moment is a compaction, or a point of the same size without one.
type Moment struct {
	Session string                `json:"session"`
	Thread  int32                 `json:"thread"`
	Round   int32                 `json:"round"`
	Tokens  int64                 `json:"tokens"` // of the request ahead
	Windows [len(windows)]Behind  `json:"windows"`
	Matched [len(windows)]float64 `json:"matched"` // looks by 100 rounds at the points matched with it
	Points  int                   `json:"points"`  // matched
	lost    []fate
}

// fate is what became of one lost string: how it was used, and whether it was fetched ahead of that.
type fate struct {
	kind    results.NeedKind
	fetched bool
}

// KindFate is how often agents fetch what they lost before they use it, by kind.
type KindFate struct {
	Kind    string           `json:"kind"`
	Uses    int              `json:"uses"`
	Kept    int              `json:"kept"` // word for word in the summary or in what came back
	Fetched profile.Estimate `json:"fetched"`
	// Predicted is the mean of what the other sessions say, for each lost string.
	Predicted float64 `json:"predicted"`
	// Without is the share that a result showed again where nothing was lost.
	Without profile.Estimate `json:"without_compaction"`
}

// Fidelity is what agents did behind recorded compactions.
type Fidelity struct {
	Compactions []Moment             `json:"compactions"`
	Matched     []Moment             `json:"matched"`
	Kinds       []KindFate           `json:"kinds"`
	Rank        [len(windows)]Ranked `json:"rank"`
	Brier       float64              `json:"brier"`      // of predictions by kind, from other sessions
	BrierOne    float64              `json:"brier_flat"` // of one share for all kinds, from other sessions
}

// Ranked are rank correlations (Spearman) of what was lost with how much more often the agent looked for something than
// at matched points: of the share of uses that was lost, and of how many were by 100 rounds. 0 without three
// compactions that differ.
type Ranked struct {
	N      int     `json:"n"`
	Share  float64 `json:"share"`
	Number float64 `json:"number"`
}

// CheckFidelity holds the index of needs against the recorded compactions of a corpus.
func CheckFidelity(ctx context.Context, corpus *traces.Corpus) (*Fidelity, error) {
	f := &Fidelity{}
	var free []Moment
	var found [results.NumNeedKinds]KindFate
	var again, seen [results.NumNeedKinds]int
	for _, s := range corpus.Sessions {
		x, err := needs.Build(ctx, corpus, s)
		if err != nil {
			return nil, err
		}
		for i := range s.Threads {
			if t := newTrail(s, x, int32(i)); t != nil {
				f.Compactions = append(f.Compactions, t.compactions(&found)...)
				free = append(free, t.free(&again, &seen)...)
			}
		}
	}
	f.match(free)
	f.fit(found, again, seen)
	for w := range windows {
		f.Rank[w] = f.rank(w)
	}
	return f, nil
}

// trail is a main thread with what is needed to look back from a round.
type trail struct {
	s      *traces.Session
	x      *needs.Index
	thread int32
	main   *traces.Thread
	round  map[int32]int32 // of blocks of requests
	failed map[int32]bool  // calls whose result is an error
	cuts   []int32         // rounds of compactions and clearings
}

func newTrail(s *traces.Session, x *needs.Index, thread int32) *trail {
	t := &trail{s: s, x: x, thread: thread, main: &s.Threads[thread], round: map[int32]int32{}, failed: map[int32]bool{}}
	if t.main.Kind != traces.ThreadMain || len(x.Thread(thread)) == 0 {
		return nil
	}
	for r := range t.main.Rounds {
		in := t.main.Rounds[r].Input
		for b := in.From; b < in.To; b++ {
			t.round[b] = int32(r)
			if bl := &s.Blocks[b]; bl.Kind == prompt.KindToolResult && bl.Flags&prompt.FlagError != 0 {
				t.failed[bl.Call] = true
			}
		}
	}
	for i := range t.main.Events {
		if e := &t.main.Events[i]; e.Kind != traces.EventForget {
			t.cuts = append(t.cuts, e.Round)
		}
	}
	return t
}

// moment is a point ahead of a round without figures.
func (t *trail) moment(round int32) Moment {
	m := Moment{Session: t.s.ID, Thread: t.thread, Round: round}
	if round > 0 {
		m.Tokens = t.main.Rounds[round-1].Usage.Input()
	}
	return m
}

// compactions returns the compactions of the thread whose summary can be read, and adds up what became of strings.
func (t *trail) compactions(found *[results.NumNeedKinds]KindFate) (list []Moment) {
	for i := range t.main.Events {
		e := &t.main.Events[i]
		if e.Kind != traces.EventCompact || e.Summary.Len() == 0 || int(e.Round) >= len(t.main.Rounds) || e.Round == 0 {
			continue
		}
		m := t.moment(e.Round)
		kept := func(block int32) bool {
			r, asked := t.round[block]
			return block >= e.Summary.From && block < e.Summary.To || asked && r == e.Round
		}
		t.look(&m, kept, func(n *needs.Need, lost, fetched bool) {
			found[n.Kind].Uses++
			if !lost {
				found[n.Kind].Kept++
				return
			}
			m.lost = append(m.lost, fate{n.Kind, fetched})
		})
		list = append(list, m)
	}
	return list
}

// free returns the points that are far from what shortens the context.
func (t *trail) free(again, seen *[results.NumNeedKinds]int) (list []Moment) {
	for r := int32(apart); int(r)+apart < len(t.main.Rounds); r += apart / 2 {
		if slices.ContainsFunc(t.cuts, func(c int32) bool { return c > r-apart && c < r+apart }) {
			continue
		}
		m := t.moment(r)
		t.look(&m, func(int32) bool { return false }, func(n *needs.Need, _, fetched bool) {
			seen[n.Kind]++
			if fetched {
				again[n.Kind]++
			}
		})
		list = append(list, m)
	}
	return list
}

// look fills in what happened behind a point, up to the next compaction. Tell is told of every string that was known
// ahead of it and is used behind it for the first time.
func (t *trail) look(m *Moment, kept func(int32) bool, tell func(n *needs.Need, lost, fetched bool)) {
	end := int32(len(t.main.Rounds))
	for _, c := range t.cuts {
		if c > m.Round {
			end = min(end, c)
		}
	}
	read := map[int32]bool{}
	for r := range m.Round {
		t.actions(r, func(b *prompt.Block) { read[b.Object] = read[b.Object] || b.Op == prompt.OpRead })
	}
	known := map[uint64]bool{} // terms that were used behind the point
	for r := m.Round; r < end; r++ {
		var now Behind
		now.Rounds = 1
		t.actions(r, func(b *prompt.Block) {
			switch {
			case b.Op == prompt.OpRead && b.Object >= 0 && read[b.Object]:
				now.Again++
			case b.Op == prompt.OpSearch:
				now.Searches++
			case b.Op == prompt.OpEdit && t.failed[b.Call]:
				now.Failed++
			}
		})
		for i, list := 0, t.x.Round(t.thread, r); i < len(list); i++ {
			n := &list[i]
			if known[n.Term] || n.Kind == results.NeedRead {
				continue
			}
			known[n.Term] = true
			ahead, lost, fetched := t.fate(n, m.Round, kept)
			if !ahead {
				continue
			}
			now.Uses++
			if lost {
				now.Lost++
				if fetched {
					now.Fetched++
				}
			}
			tell(n, lost, fetched)
		}
		for w, size := range windows {
			if size == 0 || r < m.Round+int32(size) {
				m.Windows[w].add(&now)
			}
		}
	}
}

func (b *Behind) add(o *Behind) {
	b.Rounds += o.Rounds
	b.Uses += o.Uses
	b.Lost += o.Lost
	b.Fetched += o.Fetched
	b.Again += o.Again
	b.Searches += o.Searches
	b.Failed += o.Failed
}

// actions calls f for the tool calls of a round's answer.
func (t *trail) actions(round int32, f func(*prompt.Block)) {
	reply := t.main.Rounds[round].Reply
	for b := reply.From; b < reply.To; b++ {
		if bl := &t.s.Blocks[b]; bl.Kind == prompt.KindToolUse {
			f(bl)
		}
	}
}

// fate tells of a use whether its string was known ahead of a round, whether nothing that was kept has it, and whether
// a result showed it between.
func (t *trail) fate(n *needs.Need, round int32, kept func(int32) bool) (ahead, lost, fetched bool) {
	lost = true
	first := t.main.Rounds[round].Input.From
	for _, p := range t.x.Places(n) {
		r, asked := t.round[p.Block]
		switch {
		case kept(p.Block):
			lost = false
		case asked && r > round:
			fetched = fetched || t.s.Blocks[p.Block].Kind == prompt.KindToolResult
		case p.Block < first:
			ahead = true
		}
	}
	return ahead, lost, fetched
}

// match gives every compaction the points without one that are the most like it in size.
func (f *Fidelity) match(free []Moment) {
	used := map[int]bool{}
	for i := range f.Compactions {
		m := &f.Compactions[i]
		order := make([]int, 0, len(free))
		distance := func(k int) float64 { return math.Abs(math.Log(float64(free[k].Tokens+1) / float64(m.Tokens+1))) }
		for k := range free {
			if distance(k) <= alike {
				order = append(order, k)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
		taken := map[string]int{}
		var sums [len(windows)]float64
		for _, k := range order {
			if m.Points == matches || taken[free[k].Session] == perThread {
				continue
			}
			taken[free[k].Session]++
			m.Points++
			for w := range windows {
				sums[w] += free[k].Windows[w].looked()
			}
			if !used[k] {
				used[k] = true
				f.Matched = append(f.Matched, free[k])
			}
		}
		for w := range windows {
			m.Matched[w] = sums[w] / float64(max(1, m.Points))
		}
	}
}

// fit fills in how often lost strings are fetched, by kind, and how well other sessions predict that.
func (f *Fidelity) fit(found [results.NumNeedKinds]KindFate, again, seen [results.NumNeedKinds]int) {
	type tally [results.NumNeedKinds]struct{ n, yes int }
	var all tally
	by := map[string]*tally{}
	for i := range f.Compactions {
		m := &f.Compactions[i]
		if by[m.Session] == nil {
			by[m.Session] = &tally{}
		}
		for _, x := range m.lost {
			for _, t := range [...]*tally{&all, by[m.Session]} {
				t[x.kind].n++
				if x.fetched {
					t[x.kind].yes++
				}
			}
		}
	}
	var n, yes int
	for k := range all {
		n, yes = n+all[k].n, yes+all[k].yes
	}
	var predicted [results.NumNeedKinds]float64
	for i := range f.Compactions {
		m := &f.Compactions[i]
		own := by[m.Session]
		var ownN, ownYes int
		for k := range own {
			ownN, ownYes = ownN+own[k].n, ownYes+own[k].yes
		}
		flat := half(yes-ownYes, n-ownN)
		for _, x := range m.lost {
			p := half(all[x.kind].yes-own[x.kind].yes, all[x.kind].n-own[x.kind].n)
			predicted[x.kind] += p
			got := 0.0
			if x.fetched {
				got = 1
			}
			f.Brier += (got - p) * (got - p) / float64(n)
			f.BrierOne += (got - flat) * (got - flat) / float64(n)
		}
	}
	for k := range results.NeedKind(results.NumNeedKinds) {
		if found[k].Uses == 0 {
			continue
		}
		found[k].Kind = k.String()
		found[k].Fetched = wilson(all[k].yes, all[k].n)
		found[k].Without = wilson(again[k], seen[k])
		found[k].Predicted = predicted[k] / float64(max(1, all[k].n))
		f.Kinds = append(f.Kinds, found[k])
	}
}

// half is a share with half an observation on each side, so that none is certain.
func half(yes, n int) float64 { return (float64(yes) + 0.5) / (float64(n) + 1) }

// enough is how many lost strings a kind needs for a share of its own. Assumed.
const enough = 15

// Refetch returns how often agents fetch what they lost, by kind, as a profile has it: without what results would have
// shown them again in any case. Nil without evidence.
func (f *Fidelity) Refetch() map[string]profile.Estimate {
	list := map[string]profile.Estimate{}
	var lost, fetched, uses, again float64
	for _, k := range f.Kinds {
		lost, fetched = lost+float64(k.Fetched.N), fetched+k.Fetched.Value*float64(k.Fetched.N)
		uses, again = uses+float64(k.Without.N), again+k.Without.Value*float64(k.Without.N)
		if k.Fetched.N >= enough {
			list[k.Kind] = excess(k.Fetched, k.Without.Value)
		}
	}
	if lost == 0 {
		return nil
	}
	list["all"] = excess(wilson(int(math.Round(fetched)), int(lost)), again/max(1, uses))
	return list
}

// Kept returns the share of strings used behind compactions that summaries and what came back have, by kind, as a
// profile has it. Nil without evidence.
func (f *Fidelity) Kept() map[string]profile.Estimate {
	list := map[string]profile.Estimate{}
	kept, uses := 0, 0
	for _, k := range f.Kinds {
		kept, uses = kept+k.Kept, uses+k.Uses
		if k.Uses >= enough {
			list[k.Kind] = wilson(k.Kept, k.Uses)
		}
	}
	if uses == 0 {
		return nil
	}
	list["all"] = wilson(kept, uses)
	return list
}

// excess is a share of what would not have happened in any case.
func excess(e profile.Estimate, anyway float64) profile.Estimate {
	rest := func(v float64) float64 { return math.Round(1e4*max(0, v-anyway)/(1-min(anyway, 0.99))) / 1e4 }
	return profile.Estimate{Value: rest(e.Value), Low: rest(e.Low), High: rest(e.High), N: e.N}
}

// rank correlates, over compactions, what was lost with how much more often than at matched points the agent looked for
// something.
func (f *Fidelity) rank(w int) Ranked {
	var share, number, looked []float64
	for i := range f.Compactions {
		m := &f.Compactions[i]
		if b := &m.Windows[w]; b.Uses > 0 && m.Points > 0 {
			share = append(share, float64(b.Lost)/float64(b.Uses))
			number = append(number, float64(b.Lost)/float64(max(1, b.Rounds)))
			looked = append(looked, b.looked()-m.Matched[w])
		}
	}
	return Ranked{N: len(looked), Share: spearman(share, looked), Number: spearman(number, looked)}
}

// spearman returns the rank correlation of two lists, 0 where it is not defined.
func spearman(a, b []float64) float64 {
	x, y := ranks(a), ranks(b)
	mean := float64(len(a)+1) / 2
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mean) * (y[i] - mean)
		xx += (x[i] - mean) * (x[i] - mean)
		yy += (y[i] - mean) * (y[i] - mean)
	}
	if len(a) < 3 || xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// ranks returns the ranks of values from 1, the mean of those that are equal.
func ranks(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		less, same := 0, 0
		for _, w := range values {
			if w < v {
				less++
			} else if w == v {
				same++
			}
		}
		list[i] = float64(less) + float64(same+1)/2
	}
	return list
}
