package strategies

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/traces"
)

// Kin are the strategies that one simulation stands for. They are of one Kind, unless they are Mixed: they differ only in
// lifetimes, and in parameters that their layers read through Turn.Check and polls alone.
type Kin struct {
	All    []*Strategy
	Runs   int     // index of the one that is simulated
	Alike  []int   // indices of the strategies that have acted alike so far; the last one runs
	Parted []int   // indices of the strategies that would have acted differently at some point
	Within []int64 // by strategy: the most tokens of a window that its client counts thresholds from; nil if they are alike
	Mixed  bool    // they are of several kinds: one run stands for more than one of them only while they rest (Rest)

	polled   []polled    // by layer
	same     bool        // All are one strategy, in other surroundings
	watching [][]watched // their layers, by strategy, where they rest
}

// polled are the parameters of a layer, by strategy, and the levels of its trigger, in the
// unit of its measure, under the limits of the last check.
type polled struct {
	layer     string
	params    []any
	known     bool     // what follows is
	limits    [5]int64 // of the reading: window, input, output and the client's own threshold
	levels    []int64
	low, high int64 // levels of the strategies that act alike
}

// leveled is implemented by parameters of a layer that reads its trigger through
// Turn.Check alone.
type leveled interface{ level() Trigger }

// Kind returns a text that is the same for all strategies for which one simulation of some sessions may stand, session by
// session where they take its own generation; "" for a strategy that is simulated by itself.
func (s *Strategy) Kind(sessions []*traces.Session) string {
	var b strings.Builder
	used := map[*Strategy]bool{}
	for _, x := range sessions {
		used[s.For(x.Agent, x.Version(), x.Variant)] = true
	}
	for i, g := range s.own {
		if !used[g] {
			continue
		}
		kind := g.Kind(nil)
		if kind == "" {
			return ""
		}
		fmt.Fprintln(&b, i)
		b.WriteString(kind)
	}
	if s.own != nil {
		return b.String()
	}
	fmt.Fprintln(&b, s.Order(), s.exclusive, s.Generation)
	if s.client != nil {
		fmt.Fprintln(&b, spec.Flow(s.client))
	}
	for _, c := range s.active() {
		if c.params == nil {
			return ""
		}
		params := reflect.New(reflect.TypeOf(c.params).Elem())
		params.Elem().Set(reflect.ValueOf(c.params).Elem())
		if full, ok := params.Interface().(*CompactParams); ok {
			full.Trigger.Own = false // level sees it
		}
		if polls := &c.def.Traits; len(polls.Polls) > 0 {
			spec.Fields(params.Interface(), func(f *spec.Field) {
				if polls.polls(f.Path) {
					f.Value.SetZero()
				}
			})
		}
		fmt.Fprintf(&b, "%d %#v\n", c.group, params.Elem().Interface())
		if p, ok := c.params.(leveled); ok {
			if level := p.level(); level.looked() {
				return "" // it is not in the reading that kin are compared by
			}
			fmt.Fprintln(&b, p.level().Measure)
		}
	}
	return b.String()
}

// polls reports whether a layer reads a parameter through Turn.Check and polls alone.
func (t *Traits) polls(path string) bool {
	return slices.ContainsFunc(t.Polls, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
}

// Stand makes the simulation stand for the strategies at the indices alike and run the last one, or the last of those with the widest
// window: what clients assume in narrower ones follows from it.
func (k *Kin) Stand(alike []int) {
	k.Alike, k.Parted = append(k.Alike[:0], alike...), nil
	if k.Within != nil {
		slices.SortStableFunc(k.Alike, func(i, j int) int { return cmp.Compare(k.Within[i], k.Within[j]) })
	}
	k.Runs = k.Alike[len(k.Alike)-1]
	if k.polled == nil && !k.Mixed {
		k.same = k.Within == nil && !slices.ContainsFunc(k.All, func(s *Strategy) bool { return s != k.All[0] })
		for i, c := range k.All[0].active() {
			a := polled{layer: c.def.Name, levels: make([]int64, len(k.All))}
			for _, s := range k.All {
				a.params = append(a.params, s.active()[i].params)
			}
			k.polled = append(k.polled, a)
		}
	}
	k.forget()
}

// OwnTrigger returns the trigger of the first strategy that has one of its own, as Strategy.OwnTrigger does: the strategy that runs may
// give a threshold, and other strategies of its kind take what the recording shows.
func (k *Kin) OwnTrigger() *Trigger {
	for _, s := range k.All {
		if tr := s.OwnTrigger(); tr != nil {
			return tr
		}
	}
	return nil
}

// agree reports whether no strategy can answer differently.
func (k *Kin) agree() bool { return len(k.Alike) <= 1 || k.same || k.Mixed }

// forget discards the levels, so that they are looked up again.
func (k *Kin) forget() {
	for i := range k.polled {
		k.polled[i].known = false
	}
}

// of returns the parameters of a layer.
func (k *Kin) of(layer string) *polled {
	for i := range k.polled {
		if k.polled[i].layer == layer {
			return &k.polled[i]
		}
	}
	return nil
}

// level returns the level of a layer's trigger under a strategy, given the limits; false
// when there is none.
func (k *Kin) level(layer string, strategy int, r *Reading) (int64, bool) {
	if a := k.of(layer); a != nil {
		if p, ok := a.params[strategy].(leveled); ok {
			tr := p.level()
			return k.valueUnder(strategy, &tr, r)
		}
	}
	return 0, false
}

// Limit lowers limits, by strategy, to the levels of a layer's trigger, or to the level of the
// strategy that runs where the layer has none.
func (k *Kin) Limit(limits []int64, layer string, own int64, r *Reading) {
	for i := range limits {
		level, ok := k.level(layer, i, r)
		if !ok {
			level = own
		}
		limits[i] = min(limits[i], level)
	}
}

// Differ returns the strategies under which a layer's trigger answers differently from the one that runs.
func (k *Kin) Differ(layer string, r *Reading) (others []int) {
	if k.agree() {
		return nil
	}
	a := k.of(layer)
	own, ok := a.params[k.Runs].(leveled)
	if !ok {
		return nil
	}
	if p, ok := own.(triggered); ok && p.Fires() == nil {
		return nil // it is not looked at
	}
	measured := r.Values[own.level().Measure]
	if !a.splits(k, r, measured) {
		return nil
	}
	for _, i := range k.Alike {
		if measured >= a.levels[i] != (measured >= a.levels[k.Runs]) {
			others = append(others, i)
		}
	}
	return others
}

// Leave drops others from the strategies that the simulation stands for.
func (k *Kin) Leave(others []int) {
	k.Alike = slices.DeleteFunc(k.Alike, func(i int) bool { return slices.Contains(others, i) })
	k.changed()
}

// changed takes in that the simulation stands for fewer strategies. Of those that rest any may be the one that runs.
func (k *Kin) changed() {
	if k.Rests() && len(k.Alike) > 0 {
		k.Runs = k.Alike[len(k.Alike)-1]
	}
	k.forget()
}

// Adopt gives layers the parameters of the strategy that runs.
func (k *Kin) Adopt(layers []Layer) {
	for _, l := range layers {
		if l, ok := l.(adopter); ok {
			l.adopt(k.of(l.Name()).params[k.Runs])
		}
	}
}

// adopter is a layer whose parameters are polled.
type adopter interface {
	Layer
	adopt(params any)
}

// splits reports whether a measured value lies between the levels of the strategies that act alike.
func (a *polled) splits(k *Kin, r *Reading, measured int64) bool {
	if !a.known || a.limits != limitsOf(r) {
		a.findLevels(k, r)
	}
	return measured >= a.low && measured < a.high
}

// check parts from the strategies whose trigger answers unlike the one that runs.
func (k *Kin) check(layer string, r *Reading, tr *Trigger, measured int64, fired bool) {
	if k.agree() {
		return
	}
	a := k.of(layer)
	if _, ok := a.params[k.Runs].(leveled); !ok || tr.looked() {
		k.test(r, tr, measured, fired)
		return
	}
	if !a.splits(k, r, measured) {
		return
	}
	k.Part(func(i int) bool { return measured >= a.levels[i] == fired })
}

// test parts from the strategies in whose windows a trigger that they have in common answers unlike in the window of the one that runs.
func (k *Kin) test(r *Reading, tr *Trigger, measured int64, fired bool) {
	if k.Within == nil || k.agree() {
		return
	}
	k.Part(func(i int) bool {
		v, ok := k.valueUnder(i, tr, r)
		return (ok && measured >= v) == fired
	})
}

// valueUnder returns the value of a trigger in the window of a strategy, given the reading in the window of the one that runs, which is no
// narrower.
func (k *Kin) valueUnder(strategy int, tr *Trigger, r *Reading) (int64, bool) {
	if k.Within == nil || r.Window <= k.Within[strategy] {
		return tr.Value(r)
	}
	narrow := *r
	narrow.Window = k.Within[strategy]
	return tr.Value(&narrow)
}

// window returns the window that the client assumes, tokens, to a layer whose action depends on it: a simulation goes on without the
// strategies that have another window.
func (t *Turn) window() int64 {
	if w := t.Reading.Window; t.Kin != nil && t.Kin.Within != nil {
		t.Kin.Part(func(i int) bool { return w <= t.Kin.Within[i] })
	}
	return t.Reading.Window
}

// value returns the value of a trigger for an action that depends on it, as window does.
func (t *Turn) value(tr *Trigger) (int64, bool) {
	t.window()
	return tr.Value(&t.Reading)
}

// fits reports whether a window holds so many tokens.
func (t *Turn) fits(tokens int64) bool {
	fits := tokens <= t.Reading.Window
	if t.Kin != nil && t.Kin.Within != nil {
		t.Kin.Part(func(i int) bool { return tokens <= min(t.Reading.Window, t.Kin.Within[i]) == fits })
	}
	return fits
}

// limitsOf returns what of a reading decides levels.
func limitsOf(r *Reading) [5]int64 {
	return [5]int64{r.Window, r.MaxInput, r.MaxOutput, r.NamedOutput, r.Limit}
}

// findLevels finds the levels of a layer under the limits.
func (a *polled) findLevels(k *Kin, r *Reading) {
	a.known, a.limits, a.low, a.high = true, limitsOf(r), math.MaxInt64, math.MinInt64
	for _, i := range k.Alike {
		v, ok := k.level(a.layer, i, r)
		if !ok {
			v = math.MaxInt64
		}
		a.levels[i], a.low, a.high = v, min(a.low, v), max(a.high, v)
	}
}

// Part keeps the strategies that agree with the one that runs.
func (k *Kin) Part(agrees func(i int) bool) {
	n := len(k.Parted)
	k.Alike = slices.DeleteFunc(k.Alike, func(i int) bool {
		if agrees(i) {
			return false
		}
		k.Parted = append(k.Parted, i)
		return true
	})
	if len(k.Parted) > n {
		k.changed()
	}
}

// poll asks how a layer would answer under the parameters of other strategies, and parts from the
// strategies that answer differently from the one that runs.
func poll[P any, A comparable](k *Kin, layer string, answer func(*P) A) {
	if k.agree() {
		return
	}
	a := k.of(layer)
	own := answer(a.params[k.Runs].(*P))
	k.Part(func(i int) bool { return answer(a.params[i].(*P)) == own })
}
