package codex

import (
	"slices"
	"strconv"
	"time"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// A fork, and an agent that is started with its parent's history, repeats lines
// of the parent before its own: every line, or messages and token counts. The copies have their
// old time stamps or the time of the copy, and the totals go on
// from the parent's. What follows is the session's own: a turn that began after
// the session, or where turns have no times, what comes after a pause. A copy is
// written at once, and no model answers within it.

// lineage is what a rollout shows of the sessions that it continues.
type lineage struct {
	parents []string // their ids
	created int64    // when the session began, where its id says so too, unix ns; else 0
	latest  int64    // latest time of a line, unix ns
	copying bool     // the turn is a parent's
	own     bool     // lines are the session's own by now
	replied bool     // the model has answered since
	counted bool     // and an answer was counted
}

// pause is the time between two lines that a copy does not have and that a model takes to answer, ns.
const pause = int64(250 * time.Millisecond)

// copies reports whether lines are a parent's still.
func (l *lineage) copies() bool { return len(l.parents) > 0 && !l.own }

// baseline reports whether a count repeats what a parent has used: no answer of the session's own stands before it.
func (l *lineage) baseline() bool { return len(l.parents) > 0 && l.own && !l.replied }

// parent adds a parent of a session.
func (l *lineage) parent(session, parent string) {
	if parent != "" && parent != session && !slices.Contains(l.parents, parent) {
		l.parents = append(l.parents, parent)
	}
}

// describe reads what the description of a session says of its parents.
func (l *lineage) describe(session, forkedFrom string, source []byte, stamp string) {
	l.parent(session, forkedFrom)
	for _, name := range []string{"subagent", "thread_spawn"} {
		var inner []byte
		if kind(source) != '{' || jsonscan.Object(source, jsonscan.To(name, &inner)) != nil {
			source = nil
			break
		}
		source = inner
	}
	var spawner string
	if kind(source) == '{' && jsonscan.Object(source, jsonscan.To("parent_thread_id", &spawner)) == nil {
		l.parent(session, spawner)
	}
	made, said := madeAt(session), assembly.Time([]byte(stamp))
	if made != 0 && said != 0 && max(made-said, said-made) < int64(time.Minute) {
		l.created = made
	}
}

// begin notes that a turn begins. The time in its id says whose it is.
func (l *lineage) begin(id string) {
	made := madeAt(id)
	known := made != 0 && l.created != 0
	l.copying = known && made < l.created
	l.own = l.own || known && !l.copying
}

// pass notes the time of a line.
func (l *lineage) pass(at int64) {
	if at == 0 {
		return
	}
	l.own = l.own || l.latest != 0 && at-l.latest >= pause && !l.copying
	l.latest = max(l.latest, at)
}

// madeAt returns the time in an id that is a UUID of version 7, unix ns, 0 for other ids.
func madeAt(id string) int64 {
	if len(id) != 36 || id[8] != '-' || id[14] != '7' {
		return 0
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	if err != nil {
		return 0
	}
	return assembly.Millis(ms)
}

// mark is what sessions that repeat a call know it by: the totals behind it, or the id of its response.
type mark struct {
	name string
	call int   // index in the rollout
	at   int64 // unix ns, 0 if unknown
}

// family has the rollouts of each session, by its id.
type family map[string][]*rollout

// above returns the rollouts of the sessions that a rollout continues, and of those that these continue.
func (f family) above(ro *rollout) (list []*rollout) {
	ids := slices.Clone(ro.lineage.parents)
	for i := 0; i < len(ids); i++ {
		for _, up := range f[ids[i]] {
			if up == ro {
				continue
			}
			list = append(list, up)
			for _, id := range up.lineage.parents {
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return list
}

// inherit finds the calls at the start of a rollout that a parent had before the session began, besides those that
// the rollout shows to be copies, and returns how many of both no rollout at hand has as its own.
func (f family) inherit(ro *rollout) (elsewhere int) {
	if len(ro.lineage.parents) == 0 {
		return 0
	}
	had, made := map[string]bool{}, map[string]bool{}
	for _, up := range f.above(ro) {
		for _, m := range up.marks {
			had[m.name] = had[m.name] || m.at < ro.start
			made[m.name] = made[m.name] || m.call >= up.copied
		}
	}
	names := make([][]string, len(ro.Calls))
	for _, m := range ro.marks {
		names[m.call] = append(names[m.call], m.name)
	}
	in := func(set map[string]bool, call int) bool {
		return slices.ContainsFunc(names[call], func(name string) bool { return set[name] })
	}
	for ro.copied < len(ro.Calls) && in(had, ro.copied) {
		ro.copied++
	}
	for ro.edits < len(ro.Happened) && int(ro.Happened[ro.edits].Round) < ro.copied {
		ro.edits++
	}
	for call := range ro.copied {
		if !in(made, call) {
			elsewhere++
		}
	}
	return elsewhere
}

// resumes says what the calls of other sessions left to the first own one, if that goes on from their whole history: an agent that is
// given a part of its parent's history does not. Copies have no times of their own.
func (ro *rollout) resumes(others []assembly.Round, first *assembly.Round) {
	ro.LeftBy(others, first)
	if first.Input() < ro.Left.Usage.Input() {
		ro.Left = traces.LeftBehind{}
	}
	ro.Left.Gap = -1
}

// disown removes from the thread the calls at its start that are a parent's and
// those that an earlier session owns, and returns their number. What was said in
// them becomes input of the thread's first own call, a parent's compactions aside:
// of what they replaced, what they left is input. Different calls of one id are
// told apart by their counts.
func (ro *rollout) disown(owned map[string][]*assembly.Call) (repeated int) {
	t := ro.Thread
	var kept []assembly.Round
	var carry []assembly.Block
	next := 0
	for i := range t.Calls {
		r := t.Calls[i]
		gone := int32(0)
		for ; next < len(t.Happened) && int(t.Happened[next].Round) <= i; next++ {
			ev := &t.Happened[next]
			switch {
			case next >= ro.edits:
				ev.Absorbed += int32(len(carry)) - gone
				ev.Round = int32(len(kept))
			case ev.Kind == traces.EventCompact:
				carry, gone = slices.Concat(ev.Stayed, ev.Text), ev.Absorbed
			}
		}
		r.Before = append(carry, r.Before[gone:]...)
		carry = nil
		same := func(c *assembly.Call) bool { return assembly.SameInput(&c.Usage, &r.Usage) }
		if i < ro.copied || slices.ContainsFunc(owned[r.ID], same) {
			repeated++
			t.MidContext = t.MidContext || len(kept) == 0
			carry = append(r.Before, r.Reply...)
			continue
		}
		if len(kept) == 0 {
			ro.resumes(t.Calls[:i], &r)
		}
		owned[r.ID] = append(owned[r.ID], r.Call)
		if n := len(owned[r.ID]); n > 1 {
			r.ID += "#" + strconv.Itoa(n)
		}
		kept = append(kept, r)
	}
	for ; next < len(t.Happened); next++ {
		t.Happened[next].Round = int32(len(kept))
	}
	t.Happened = slices.Delete(t.Happened, 0, ro.edits)
	t.Calls = kept
	return repeated
}
