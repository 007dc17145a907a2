package codex

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
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
	if thread != "" && thread != ro.id && !ro.copies() {
		return nil // of an agent, in whose rollout it stands
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
	ro.held, ro.untold, ro.counted = nil, false, true
	re.call = ro.end(&re.step, re.id)
	ro.keep(re)
}

// wrote gives a compaction the call whose record was read last, given the id of its response where the log has it.
func (ro *rollout) wrote(it *assembly.Step, id string) {
	if re := ro.held; re != nil && (id == re.id || id == "" && !ro.Answered()) {
		ro.held, re.call = nil, -1
		it.Usage, it.Model = re.step.Usage, re.step.Model
		it.Usage.Bad = !it.Usage.OK
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

// same reports whether all counts that both have are equal.
func (u *tokenUsage) same(v *tokenUsage) bool {
	equal := func(a, b int64) bool { return a < 0 || b < 0 || a == b }
	return equal(u.Input, v.Input) && equal(u.Cached, v.Cached) && equal(u.CacheWrite, v.CacheWrite) &&
		equal(u.Output, v.Output) && equal(u.Reasoning, v.Reasoning)
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
