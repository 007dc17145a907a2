package codex

import (
	"slices"
	"strconv"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// From 0.153 on a token_usage_record line has the counts of each answered call, and
// most calls have a token_count behind it. The call that writes a summary has a
// token_count only where the client asked for the summary itself (0.171.0).

// response is a token_usage_record.
type response struct {
	id     string
	usage  tokenUsage
	step   assembly.Step
	call   int    // index in the rollout; -1 for the call that wrote a summary
	totals string // of the token count that repeats the record; "" for none yet
}

// record reads the counts of a call, which ends there. Only what follows says whether it wrote a summary.
func (ro *rollout) record(it *assembly.Step, payload []byte) error {
	ro.settle()
	re := &response{step: *it}
	var thread string
	var usage []byte
	if err := jsonscan.Object(payload, jsonscan.To("response_id", &re.id), jsonscan.To("thread_id", &thread), jsonscan.To("usage", &usage)); err != nil {
		return err
	}
	if err := re.usage.read(usage); err != nil {
		return err
	}
	if ro.untold && !ro.Answered() && re.usage.equal(&ro.last) {
		ro.untold = false // the token count came first
		return nil
	}
	switch {
	case thread == "" || thread == ro.id || thread == ro.thread || ro.copies():
	case slices.Contains(ro.parents, thread):
		return errJoined
	default:
		ro.stranger, ro.strange = thread, re.usage
		return nil // of an agent, in whose rollout it stands
	}
	if err := ro.Once("the counts of response", re.id); err != nil {
		return err
	}
	re.step.Kind, re.step.Model, re.step.Gateway, re.step.ID, re.step.Usage = assembly.StepCount, ro.asked.model, ro.provider, re.id, re.usage.usage()
	re.step.Final = re.step.Usage.OK
	if ro.held = re; ro.copies() {
		ro.settle()
	}
	return nil
}

// settle ends the call whose record was read last: it wrote no summary.
func (ro *rollout) settle() {
	re := ro.held
	if re == nil {
		return
	}
	if !ro.Answered() && !ro.copies() {
		ro.Lacks(1, int(re.step.Line), "counts of a call that the log does not show: its answer is missing or elsewhere; they are billed")
	}
	ro.held, ro.untold, ro.counted = nil, false, true
	re.call = ro.end(&re.step, re.id)
	ro.keep(re)
}

// wrote gives a compaction the call whose record was read last, given the id of its response where the log has it. What that call answered is the
// summary, which the conversation has as such.
func (ro *rollout) wrote(it *assembly.Step, id string) {
	if re := ro.held; re != nil && (id == re.id || id == "" && !ro.Answered()) {
		ro.held, re.call = nil, -1
		it.Usage, it.Model = re.step.Usage, re.step.Model
		it.Usage.Bad = !it.Usage.OK
		ro.Unsay()
		ro.wrotes = append(ro.wrotes, &assembly.Call{ID: re.id, Usage: re.step.Usage})
		ro.keep(re)
	}
	ro.settle()
}

// takeBack gives a compaction the last call if the call wrote the text with which the compaction's message ends. The
// client logs it like a call of the conversation.
func (ro *rollout) takeBack(it *assembly.Step, message string) {
	n := len(ro.Calls) - 1
	if n < 0 || message == "" || it.Usage.OK || !slices.ContainsFunc(ro.Calls[n].Reply, func(b assembly.Block) bool {
		from := len(message) - int(b.Bytes)
		return b.Kind == prompt.KindText && b.Bytes > 0 && from >= 0 && newBlock(b.Kind, []byte(message[from:])).Digest == b.Digest
	}) {
		return
	}
	r := ro.Retract()
	it.Usage, it.Model = r.Usage, r.Model
	ro.marks = slices.DeleteFunc(ro.marks, func(m mark) bool { return m.call == n })
	for _, re := range ro.alone {
		if re.call == n {
			re.call = -1
		}
	}
}

// keep notes a record until its token count comes, or the totals that it has come with.
func (ro *rollout) keep(re *response) {
	switch {
	case re.totals == "":
		ro.alone = append(ro.alone, re)
	case re.call >= 0:
		ro.marks = append(ro.marks, mark{re.totals, re.call, re.step.At})
	}
}

// recorded reports whether a token count repeats a record, and gives that its totals.
func (ro *rollout) recorded(totals string, last *tokenUsage) bool {
	if re := ro.held; re != nil && re.totals == "" && re.usage.equal(last) {
		re.totals = totals
		return true
	}
	i := slices.IndexFunc(ro.alone, func(re *response) bool { return re.usage.equal(last) })
	if i < 0 {
		return false
	}
	re := ro.alone[i]
	ro.alone = slices.Delete(ro.alone, i, i+1)
	re.totals = totals
	ro.keep(re)
	return true
}

// end ends a call with its counts and returns its index. Sessions that repeat it know it by a name.
func (ro *rollout) end(it *assembly.Step, name string) (call int) {
	ro.Add(it)
	call = len(ro.Calls) - 1
	ro.marks = append(ro.marks, mark{name, call, it.At})
	return call
}

// tokenUsage is what the API reported. Input includes what was read from the
// cache and what was written to it.
type tokenUsage struct{ Input, Cached, CacheWrite, Output, Reasoning, Total int64 }

// read reads counts, -1 for what is missing or no whole number.
func (u *tokenUsage) read(text []byte) error {
	*u = tokenUsage{-1, -1, 0, -1, 0, -1} // writes and reasoning are not in the logs of all versions
	if len(text) == 0 {
		return nil
	}
	return jsonscan.Object(text,
		jsonscan.Count("input_tokens", &u.Input), jsonscan.Count("cached_input_tokens", &u.Cached),
		jsonscan.Count("cache_write_tokens", &u.CacheWrite), jsonscan.Count("cache_write_input_tokens", &u.CacheWrite), jsonscan.Count("output_tokens", &u.Output),
		jsonscan.Count("reasoning_output_tokens", &u.Reasoning), jsonscan.Count("total_tokens", &u.Total))
}

// same reports whether all counts that both have are equal. Reasoning is a part of the output, which not every kind of line has.
func (u *tokenUsage) same(v *tokenUsage) bool {
	equal := func(a, b int64) bool { return a < 0 || b < 0 || a == b }
	return equal(u.Input, v.Input) && equal(u.Cached, v.Cached) && equal(u.CacheWrite, v.CacheWrite) && equal(u.Output, v.Output)
}

// equal reports whether all counts can be read and are equal.
func (u *tokenUsage) equal(v *tokenUsage) bool { return min(u.sure(), v.sure()) >= 0 && u.same(v) }

// less returns the counts without v's.
func (u *tokenUsage) less(v *tokenUsage) tokenUsage {
	return tokenUsage{
		u.Input - v.Input, u.Cached - v.Cached, u.CacheWrite - v.CacheWrite, u.Output - v.Output, u.Reasoning - v.Reasoning, u.Total - v.Total,
	}
}

// sure is negative where one of the counts that all versions log cannot be read.
func (u *tokenUsage) sure() int64 { return min(u.Input, u.Cached, u.Output) }

// usage splits what the API reported into disjoint classes.
func (u *tokenUsage) usage() assembly.Usage {
	c := assembly.Usage{Reasoning: u.Reasoning}
	if min(u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning) < 0 || max(u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning) > assembly.MaxTokens {
		return c
	}
	if u.Input == 0 || u.Cached+u.CacheWrite > u.Input || u.Reasoning > u.Output {
		return c
	}
	c.OK = true
	c.Usage = prompt.Usage{
		Uncached: u.Input - u.Cached - u.CacheWrite, Read: u.Cached, WriteOther: u.CacheWrite, Output: u.Output,
	}
	return c
}

// A fork, and an agent that is started with its parent's history, repeats lines
// of the parent before its own: every line, or messages and token counts. The copies have their
// old time stamps or the time of the copy, and the totals go on
// from the parent's. What follows is the session's own: a turn that began after
// the session, or where turns have no times, what comes after a pause. A copy is
// written at once, and no model answers within it.

// lineage is what a rollout shows of the sessions that it continues.
type lineage struct {
	parents []string // their ids
	turn    string   // that began last, by an event
	created int64    // when the session began, where its id says so too, unix ns; else 0
	latest  int64    // latest time of a line, unix ns
	ordinal int64    // of the last line that has one
	copying bool     // the turn is a parent's
	own     bool     // lines are the session's own by now
	replied bool     // the model has answered since
	counted bool     // and an answer was counted
}

// pause is the time between two lines that a copy does not have and that a model takes to answer, ns.
const pause = int64(250 * time.Millisecond)

// copies reports whether lines are a parent's still.
func (l *lineage) copies() bool { return len(l.parents) > 0 && !l.own }

// follows reports whether a line has a higher number than the line before, as far as these are known to be of one session.
func (l *lineage) follows(r *record) bool {
	before := l.ordinal
	if r.ordinal < 0 {
		return true
	}
	l.ordinal = r.ordinal
	return r.typ == "session_meta" || l.copies() || r.ordinal > before
}

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

// begin notes that a turn begins, by an event or by its settings, which are those of the last event that began one: it reports whether
// that is so. The time in the id says whose turn it is.
func (l *lineage) begin(id string, event bool) bool {
	if event {
		l.turn = id
	}
	made := madeAt(id)
	known := made != 0 && l.created != 0
	l.copying = known && made < l.created
	l.own = l.own || known && !l.copying
	return l.turn == "" || l.turn == id
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
