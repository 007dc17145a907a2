package assembly

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// density is how many tokens results have, and at how many they were estimated.
type density struct{ tokens, estimate float64 }

// densify sizes the results that a compaction parts from the call before. No total shows the size of such a result, and its
// estimate is by what a byte has in other sessions. It has the density of results of the same file elsewhere in the thread,
// else of all its results. What a result behind the compaction has more, the kept tokens have less, which are what the
// estimates leave of a total.
func (f *fitter) densify() {
	var results densities
	f.densifyOpening()
	for i := range f.t.Happened {
		ev := &f.t.Happened[i]
		if ev.Kind != traces.EventCompact || int(ev.Round) >= len(f.t.Calls) || !f.t.Calls[ev.Round].OK {
			continue
		}
		if results.objects == nil {
			results = f.densities()
		}
		left := int64(ev.Kept) - Tokens(ev.Stayed)
		sealed := f.s.Sealed && len(ev.Text) > 0
		if !sealed {
			left -= Tokens(ev.Text)
		}
		before := f.t.Calls[ev.Round].Before
		for k := range before {
			b := &before[k]
			if b.Kind != prompt.KindToolResult {
				continue
			}
			more := results.size(b) - int64(b.Tokens)
			if k >= int(ev.Absorbed) {
				more = min(more, max(0, left))
				left -= more
				ev.Kept -= int32(more)
			}
			b.Tokens += int32(more)
		}
		if sealed {
			scale(max(0, int64(ev.Kept)-Tokens(ev.Stayed)), ev.Text)
		}
	}
}

// densifyOpening gives what a first call shows the density of the thread's results, where the static prefix is known from calls
// that begin anew: the rest is then not all reminders, which come back with each compaction.
func (f *fitter) densifyOpening() {
	rd, last := &f.t.Calls[0], len(f.t.Ahead)-1
	if !rd.OK || rd.Read >= minStatic || last < 0 || f.t.Ahead[last].Kind != prompt.KindReminder || f.t.readAnew(rd.total) == 0 {
		return
	}
	all := f.densities().all
	reminder := &f.t.Ahead[last]
	if all.tokens <= all.estimate {
		return
	}
	more := min(int64(float64(Tokens(rd.Before))*(all.tokens/all.estimate-1)), int64(reminder.Tokens))
	if more == 0 {
		return
	}
	f.s.unseen(rd, more)
	if reminder.Tokens -= int32(more); reminder.Tokens == 0 {
		f.t.Ahead = f.t.Ahead[:last]
	}
}

// densities are how dense the results of a thread are, by the objects of their calls too.
type densities struct {
	all     density
	calls   map[prompt.Digest]string // the objects of calls, by what pairs a call with its result
	objects map[string]density
}

// size returns the tokens of a result, its estimate where nothing is known.
func (d *densities) size(b *Block) int64 {
	of, ok := d.objects[d.calls[b.ID]]
	if !ok {
		of = d.all
	}
	if of.estimate == 0 {
		return int64(b.Tokens)
	}
	return min(int64(float64(b.Tokens)*of.tokens/of.estimate), MaxTokens)
}

// densities returns how dense the results of a thread are whose sizes totals show. The density of an object is of calls with
// no other results.
func (f *fitter) densities() densities {
	d := densities{calls: map[prompt.Digest]string{}, objects: map[string]density{}}
	next := 0
	for r := range f.t.Calls {
		rd, parted := &f.t.Calls[r], r == 0
		for ; next < len(f.t.Happened) && int(f.t.Happened[next].Round) <= r; next++ {
			parted = true
		}
		if !parted && rd.OK {
			d.add(&f.s.Rates, rd.Before)
		}
		for i := range rd.Reply {
			if b := &rd.Reply[i]; b.Object != "" {
				d.calls[b.ID] = b.Object
			}
		}
	}
	return d
}

// add counts the results of a call's input.
func (d *densities) add(rates *traces.Rates, input []Block) {
	var of density
	bytes, object, results := 0.0, "", 0
	for i := range input {
		switch b := &input[i]; b.Kind {
		case prompt.KindToolResult:
			of.tokens, of.estimate = of.tokens+float64(b.Tokens), of.estimate+float64(Weigh(rates, &b.Block))
			bytes += float64(b.Bytes)
			object = d.calls[b.ID]
			results++
		case prompt.KindUnseen:
			of.tokens += float64(b.Tokens)
		}
	}
	if !signs.ShowDensity(of.tokens, bytes) {
		return
	}
	d.all = density{d.all.tokens + of.tokens, d.all.estimate + of.estimate}
	if results == 1 && object != "" {
		o := d.objects[object]
		d.objects[object] = density{o.tokens + of.tokens, o.estimate + of.estimate}
	}
}
