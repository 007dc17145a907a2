package bound

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// solver finds the cheapest schedule of a session by dynamic programming over
// (call, last action). The history of a thread is a path of calls, including
// the calls of the threads it branched off from. State 0 is a path without an
// action, state j + 1 one whose last action was before call j.
type solver struct {
	session *traces.Session
	never   *replayed // no action at all
	always  *replayed // one before every call
	window  int64     // of the session's first model, tokens
	coarse  int64     // of an automatic cache: the most tokens that its steps leave unread
	clears  bool      // the action clears in place instead of compacting
	prices  []float64 // of a lost need, USD; the first is 0
	lost    [][][]loss
	gone    []float64 // see goneAt
	chosen  []choices // by thread
	born    map[place][]int
}

// place is behind a round of a thread, −1 for its start.
type place struct{ thread, round int }

// node is a call of a path in both replays.
type node struct {
	never, always *call
	acted         bool  // the action can be taken before it
	delta         int64 // tokens by which it grows the context, usually negative
	next          int   // first call from here on before which there is something new to clear
}

// choices are the decisions of a thread: by round, state from the lowest one on and price, whether to act.
type choices struct {
	base int // calls of the path before the thread
	low  []int
	act  [][]bool
}

// taken reports whether a thread acts before a round in a state, at a price of so many.
func (c *choices) taken(round, state, at, prices int) bool {
	return c.act[round][(state-c.low[round])*prices+at]
}

// solve returns, for each price, the least cost including what is lost, and its
// schedule.
func (x *solver) solve() (least []float64, schedules [][][]int32) {
	x.chosen = make([]choices, len(x.session.Threads))
	least = make([]float64, len(x.prices))
	for i := range x.session.Threads {
		if !x.branches(i) {
			add(least, x.thread(i, nil, nil)[:len(least)])
		}
	}
	for at := range x.prices {
		schedule := make([][]int32, len(x.session.Threads))
		for i := range x.session.Threads {
			if !x.branches(i) {
				x.follow(i, 0, at, schedule)
			}
		}
		schedules = append(schedules, schedule)
	}
	return least, schedules
}

func add(to, values []float64) {
	for i, v := range values {
		to[i] += v
	}
}

// branches reports whether a thread continues its parent's context.
func (x *solver) branches(i int) bool {
	t := &x.session.Threads[i]
	return t.Kind == traces.ThreadBranch && t.Parent >= 0
}

// children calls f for the branches that begin after a round of a thread.
func (x *solver) children(i int, round int, f func(child int)) {
	if x.born == nil {
		x.born = map[place][]int{}
		for c := range x.session.Threads {
			if x.branches(c) {
				at := place{int(x.session.Threads[c].Parent), int(x.session.Threads[c].ParentRound)}
				x.born[at] = append(x.born[at], c)
			}
		}
	}
	for _, c := range x.born[place{i, round}] {
		f(c)
	}
}

// ends returns, by state, the call of a path before which a schedule in that state has to act, since nothing else fits, and behind which no
// schedule is in the state; the length of the path if there is none. ahead has it for the calls before base. low has the first state in which
// a schedule can be, by call.
func (x *solver) ends(path []node, base int, ahead []int) (ends, low []int) {
	ends, low = make([]int, len(path)+1), make([]int, len(path)+1)
	for k := range low {
		low[k] = k
	}
	for s := range ends {
		if s < len(ahead) && ahead[s] < base {
			ends[s] = ahead[s]
			continue
		}
		k := max(s, base)
		for delta, _ := state(path, s); k < len(path) && (!path[k].acted || x.fits(path[k].never, delta)); {
			k++
		}
		ends[s], low[k] = k, min(low[k], s)
	}
	for k := len(path) - 1; k >= base; k-- {
		low[k] = min(low[k], low[k+1])
	}
	return ends, low
}

// fits reports whether a call whose context grows by delta tokens fits the window.
func (x *solver) fits(c *call, delta int64) bool {
	return !c.limited || c.usage.Input()+delta <= x.window
}

// thread returns the least cost of a thread and its branches, including the price of what
// is lost, by the state it begins in and then by price, given the path before it and where the states there end. Of states in which
// no schedule is, it returns anything.
func (x *solver) thread(i int, ahead []node, ended []int) []float64 {
	base, n := len(ahead), len(x.prices)
	never, always := x.never.threads[i], x.always.threads[i]
	path := ahead
	for k := range never.own {
		n := node{never: &never.own[k], always: &always.own[k], acted: always.acted[k]}
		n.delta = n.always.context - n.never.context
		path = append(path, n)
	}
	next := len(path)
	for k := len(path) - 1; k >= 0; k-- {
		if k == 0 && path[0].delta < 0 || k > 0 && path[k].delta < path[k-1].delta {
			next = k
		}
		path[k].next = next
	}
	least := make([]float64, (len(path)+1)*n)
	ends, low := x.ends(path, base, ended)
	x.chosen[i] = choices{base: base, low: low[base:], act: make([][]bool, len(path)-base)}
	for k := len(path) - 1; k >= base; k-- {
		x.children(i, k-base, func(c int) { add(least, x.thread(c, path[:k+1:k+1], ends[:k+2])) })
		act := make([]bool, (k+1-low[k])*n)
		gone, behind := x.goneAt(i, base, k, low[k]), least[(k+1)*n:]
		for s := low[k]; s <= k; s++ {
			if ends[s] < k {
				continue
			}
			stay, fits := x.stay(i, path, k, s)
			acted := 0.0
			if path[k].acted {
				acted = x.act(i, path, base, k, s)
			}
			for at, price := range x.prices {
				usd := stay + price*gone[s] + least[s*n+at]
				if path[k].acted {
					if other := acted + price*gone[k+1] + behind[at]; other < usd || !fits {
						usd, act[(s-low[k])*n+at] = other, true
					}
				}
				least[s*n+at] = usd
			}
		}
		x.chosen[i].act[k-base] = act
		least = least[:(k+1)*n]
	}
	x.children(i, -1, func(c int) { add(least, x.thread(c, path[:base:base], ends[:base+1])) })
	return least
}

// state returns the gain of a path's last action, and the tokens up to there.
func state(path []node, s int) (delta, cut int64) {
	if s == 0 {
		return 0, math.MaxInt64
	}
	return path[s-1].delta, path[s-1].always.context
}

// stay returns the cost of call k without an action before it, and whether it
// fits the window.
func (x *solver) stay(i int, path []node, k, s int) (usd float64, fits bool) {
	c := path[k].never
	delta, cut := state(path, s)
	fits = x.fits(c, delta)
	usd = x.movedUSD(c, i, delta, cut)
	for h := range c.hidden {
		usd += x.movedUSD(&c.hidden[h], i, delta, cut)
	}
	return usd, fits
}

// act returns the cost of an action before call k and of the call itself.
func (x *solver) act(i int, path []node, base, k, s int) float64 {
	c := path[k].always
	usd := c.usd(c.usage)
	for h := range c.hidden {
		usd += c.hidden[h].usd(c.hidden[h].usage)
	}
	delta, _ := state(path, s)
	if x.clears {
		return usd + x.rewritten(path, k, s, delta)
	}
	if k > 0 {
		delta -= path[k-1].delta
	}
	for j := range x.always.threads[i].summaries[k-base] {
		usd += x.summary(&x.always.threads[i].summaries[k-base][j], c.usage.Read, delta)
	}
	return usd
}

// summary returns the cost of a summary call over delta more tokens than when
// every call is compacted. A call that reads more than the head finds the whole
// conversation in the cache. What exceeds the window is cut off.
func (x *solver) summary(c *call, head, delta int64) float64 {
	u := c.usage
	input := u.Input() + delta
	if c.limited {
		input = min(input, max(x.window, u.Input()))
	}
	read := u.Read
	if read > head {
		read += input - u.Input()
	}
	return c.usd(resized(u, input, read))
}

// rewritten returns what a clearing before call k costs beyond one after a
// clearing of all earlier results: what follows the first cleared result is not
// read.
func (x *solver) rewritten(path []node, k, s int, delta int64) float64 {
	c := path[k].always
	first := path[s].next
	if first == 0 || first >= k {
		return 0
	}
	gained := path[first].delta - path[first-1].delta
	readable := path[first-1].never.context + delta + gained
	return c.usd(resized(c.usage, c.usage.Input(), min(c.usage.Read, readable))) - c.usd(c.usage)
}

// follow records the schedule of a thread that begins in a state, and of its
// branches, at a price.
func (x *solver) follow(i, s, at int, schedule [][]int32) {
	x.children(i, -1, func(c int) { x.follow(c, s, at, schedule) })
	for k := range x.chosen[i].act {
		if x.chosen[i].taken(k, s, at, len(x.prices)) {
			schedule[i] = append(schedule[i], int32(k))
			s = x.chosen[i].base + k + 1
		}
		x.children(i, k, func(c int) { x.follow(c, s, at, schedule) })
	}
}

// movedUSD returns the cost of a call of a thread if the context before it were
// larger by delta tokens, of which the first cut replace what was removed.
func (x *solver) movedUSD(c *call, thread int, delta, cut int64) float64 {
	if delta == 0 {
		return c.usd(c.usage)
	}
	read := c.readable(delta, cut)
	if x.coarse > 0 { // what the first call found stays warm, whatever follows
		read = max(read+x.coarse, x.session.Threads[thread].Rounds[0].Usage.Read)
	}
	return c.usd(resized(c.usage, c.usage.Input()+delta, read))
}

// readable returns what such a call can read, tokens, if it is cached. A call
// that lost its prefix by time or at the head loses as much of another. Other
// losses are assumed not to happen.
func (c *call) readable(delta, cut int64) int64 {
	read := max(min(c.usage.Read, cut), c.usage.Read+delta)
	switch c.miss {
	case exchange.MissNone, exchange.MissExpiry, exchange.MissEviction, exchange.MissNotReadable, exchange.MissHead,
		exchange.MissModel:
		return read
	}
	return max(read, c.expected+delta)
}

// resized returns the usage of a request of another size that reads so much: what follows
// the last marker stays uncached, and the rest is written as before.
func resized(u prompt.Usage, input, read int64) prompt.Usage {
	input = max(0, input)
	v := prompt.Usage{Output: u.Output, Read: max(0, min(read, input))}
	v.Uncached = min(u.Uncached, input-v.Read)
	written := input - v.Read - v.Uncached
	switch {
	case u.Write1h > 0:
		v.Write1h = written
	case u.Write5m > 0:
		v.Write5m = written
	case u.WriteOther > 0:
		v.WriteOther = written
	default:
		v.Uncached += written
	}
	return v
}

// loss is a need of a call that is lost once the path has compacted before a call
// at or after a place: the place of the last block that answers the need.
type loss struct {
	from   int
	weight float64 // 1 for a need found in one block, less what a first summary is expected to keep
}

// standing is the place on its path where a block enters the context, by block.
type standing []int

// Places of blocks that no compaction removes, and of blocks in no request.
const (
	stays  = -1
	absent = -2
)

// losses records what the calls of a session lose to a compaction. What a file has, or
// may return with a restored one, is not lost. Of the rest only what one summary drops is
// lost, however many follow each other, so that no schedule loses less.
func (x *solver) losses(index *needs.Index, s *traces.Session, keeps needs.Survival, restores bool) {
	at := standingOf(s)
	x.lost = make([][][]loss, len(s.Threads))
	for i := range s.Threads {
		x.lost[i] = make([][]loss, len(s.Threads[i].Rounds))
		for r := range x.lost[i] {
			list := index.Round(int32(i), int32(r))
			for k := range list {
				n := &list[k]
				if n.Fetch >= 0 || restores && n.Object >= 0 && n.Kind <= recall.NeedRead {
					continue
				}
				if from, ok := at.last(index.Places(n)); ok {
					x.lost[i][r] = append(x.lost[i][r], loss{from, float64(n.Weight) / 1000 * (1 - keeps[n.Kind])})
				}
			}
			x.lost[i][r] = byPlace(x.lost[i][r])
		}
	}
}

// byPlace orders losses by their places, and adds up those at one place.
func byPlace(list []loss) []loss {
	slices.SortStableFunc(list, func(a, b loss) int { return a.from - b.from })
	sums := list[:0]
	for _, l := range list {
		if n := len(sums); n > 0 && sums[n-1].from == l.from {
			sums[n-1].weight += l.weight
		} else {
			sums = append(sums, l)
		}
	}
	return sums
}

// last returns the place of the last of some blocks; false if one is never
// removed, or none was there.
func (at standing) last(places []needs.Place) (int, bool) {
	from := absent
	for _, p := range places {
		switch where := at[p.Block]; where {
		case stays:
			return 0, false
		default:
			from = max(from, where)
		}
	}
	return from, from >= 0
}

// standingOf returns the places of the blocks of a session: the input of a
// round enters with its call, its answer with the next one.
func standingOf(s *traces.Session) standing {
	at := make(standing, len(s.Blocks))
	for b := range at {
		at[b] = absent
	}
	put := func(span traces.Span, place int) {
		for b := span.From; b < span.To; b++ {
			at[b] = place
		}
	}
	bases := make([]int, len(s.Threads))
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Kind == traces.ThreadBranch && t.Parent >= 0 {
			bases[i] = bases[t.Parent] + int(t.ParentRound) + 1
		}
		put(t.Prefix, stays)
		for r := range t.Rounds {
			put(t.Rounds[r].Input, bases[i]+r)
			put(t.Rounds[r].Reply, bases[i]+r+1)
		}
	}
	return at
}

// goneAt returns the weight that call k of a path loses, by the state in which
// it is made, from a state on: in state j + 1, what came before or with call j. It is valid
// until the next call of goneAt.
func (x *solver) goneAt(thread, base, k, low int) []float64 {
	if cap(x.gone) < k+2 {
		x.gone = make([]float64, 2*k+2)
	}
	gone := x.gone[:k+2]
	clear(gone[low:])
	if x.lost == nil {
		return gone
	}
	before := 0.0                              // of what is lost in the lowest state
	for _, l := range x.lost[thread][k-base] { // by place
		switch at := l.from + 1; {
		case at <= low:
			before += l.weight
		case at < len(gone):
			gone[at] = l.weight
		}
	}
	gone[low] = before
	for s := low + 1; s < len(gone); s++ {
		gone[s] += gone[s-1]
	}
	return gone
}
