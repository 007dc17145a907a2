package synthetic

import (
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
)

// walk plans one thread, call by call.
type walk struct {
	pl        *planner
	index     int // of the thread
	ledger    ledger
	reminders int // tokens ahead of the first prompt that no line shows
	context   int // tokens of the context after the last response
	pending   int // tokens of the input that no call has seen
	warmStart bool
	recent    []int // files, the one read last at the end
}

func (pl *planner) walk(index, reminders int) *walk {
	t := &pl.s.threads[index]
	return &walk{
		pl:        pl,
		index:     index,
		reminders: reminders,
		context:   t.static + reminders,
		warmStart: pl.s.dice.hit(forWarm, place(index, 0, 0), pl.p.WarmStart),
		ledger:    ledger{lifetime: int64(pl.p.lifetime()), ttl: pl.p.TTL, static: t.static},
	}
}

// thread is looked up anew each time: planning an agent moves the slice.
func (w *walk) thread() *thread { return &w.pl.s.threads[w.index] }

// turn plans the calls that answer a prompt and returns the time the last one
// ends, unix ns.
func (w *walk) turn(ask block, rounds int) int64 {
	input, at := []block{ask}, ask.at
	var end int64
	for r := range rounds {
		last := r == rounds-1
		c := w.call(input, at, last)
		input, at = w.results(&c)
		end = c.end
		t := w.thread()
		t.calls = append(t.calls, c)
	}
	return end
}

// call plans the request at a time and its response; tools follow unless it is
// the last of its turn.
func (w *walk) call(input []block, at int64, last bool) call {
	pl := w.pl
	n := len(w.thread().calls)
	pl.calls++
	c := call{id: pl.calls, input: input, endTurn: last}
	w.pending = 0
	for i := range input {
		w.pending += input[i].tokens
	}
	at += 20 * millisecond
	if limit := pl.p.threshold(); limit != 0 && w.context+w.pending >= limit {
		c.compact = w.compact(n, at)
		at = c.compact.at + 200*millisecond
	}
	c.at = at
	tail := tailResults
	if input[0].kind == prompt.KindPrompt || c.compact != nil {
		tail = tailPrompt
	}
	id := place(w.index, n, 0)
	warm := w.warmStart
	if n > 0 {
		warm = pl.s.dice.hit(forWarm, id, pl.p.WarmExpiry)
	}
	c.usage = w.ledger.bill(at, w.context+w.pending, tail, warm, c.compact != nil)
	w.reply(&c, n)
	c.logged = 1 + pl.s.dice.below(forLogged, id, 10)
	c.logged = min(c.logged, int(c.usage.Output))
	w.context = c.context()
	w.ledger.end = c.end
	return c
}

// reply plans the blocks of a response and their times.
func (w *walk) reply(c *call, n int) {
	pl, d := w.pl, w.pl.s.dice
	id := place(w.index, n, 0)
	if d.hit(forThinkingShare, id, pl.p.ThinkingShare) {
		c.reply = append(c.reply, pl.text(prompt.KindThinking, d.from(pl.p.Thinking, forThinkingSize, id), place(w.index, n, 1)))
	}
	switch {
	case c.endTurn && w.index > 0:
		report := d.from(pl.p.Agent.Report, forAgentReport, uint64(w.index))
		c.reply = append(c.reply, pl.text(prompt.KindText, report, place(w.index, n, 2)))
	case c.endTurn:
		// A final answer sums up a turn: longer than the notes between tools.
		c.reply = append(c.reply, pl.text(prompt.KindText, 3*d.from(pl.p.Text, forTextSize, id), place(w.index, n, 2)))
	case d.hit(forTextShare, id, pl.p.TextShare):
		c.reply = append(c.reply, pl.text(prompt.KindText, d.from(pl.p.Text, forTextSize, id), place(w.index, n, 2)))
	}
	if !c.endTurn {
		w.uses(c, n)
	}
	now := c.at + seconds(d.from(pl.p.FirstToken, forFirstToken, id))
	perToken := 1 / d.from(pl.p.Speed, forSpeed, id)
	for i := range c.reply {
		b := &c.reply[i]
		now += seconds(float64(b.tokens) * perToken)
		b.at = now
		c.usage.Output += int64(b.tokens)
	}
	c.end = now
}

// uses plans the tool calls of a response, one and then more with probability
// Parallel each.
func (w *walk) uses(c *call, n int) {
	d, tools := w.pl.s.dice, w.thread().tools
	for i := 0; i < 16; i++ {
		id := place(w.index, n, 3+i)
		if i > 0 && !d.hit(forParallel, id, w.pl.p.Parallel) {
			break
		}
		w.pl.uses++
		c.reply = append(c.reply, w.use(pick(tools, d.unit(forTool, id)), id, w.pl.uses))
	}
}

// pick chooses a tool by weight; x is in (0, 1).
func pick(tools []Tool, x float64) int {
	var sum float64
	for i := range tools {
		sum += tools[i].Weight
	}
	x *= sum
	for i := range tools {
		if x < tools[i].Weight {
			return i
		}
		x -= tools[i].Weight
	}
	return len(tools) - 1
}

// results plans the results of a call's tools and returns them in the order
// they arrive with the time of the last.
func (w *walk) results(c *call) (input []block, at int64) {
	for i := range c.reply {
		if c.reply[i].kind != prompt.KindToolUse {
			continue
		}
		b := w.result(&c.reply[i])
		k := len(input)
		for k > 0 && input[k-1].at > b.at {
			k--
		}
		input = append(input, block{})
		copy(input[k+1:], input[k:])
		input[k] = b
		at = max(at, b.at)
	}
	return input, at
}

// compact plans a compaction ahead of call n: the context becomes the prefix,
// a summary and the restored files, and nothing is pending.
func (w *walk) compact(n int, at int64) *compaction {
	d, p := w.pl.s.dice, w.pl.p
	id := place(w.index, n, 0)
	m := &compaction{preTokens: w.context + w.pending}
	m.summary = w.pl.text(prompt.KindSummary, d.from(p.Summary, forSummary, id), place(w.index, n, 2<<20))
	m.at = at + seconds(d.from(p.CompactTime, forCompactTime, id))
	m.summary.at = m.at
	restored := 0
	for i := range min(p.RestoreFiles, len(w.recent)) {
		f := w.recent[len(w.recent)-1-i]
		restored += min(p.RestoreTokens, w.pl.s.files[f].tokens)
	}
	w.context = w.thread().static + w.reminders + m.summary.tokens + restored
	w.pending = 0
	return m
}

// spread is the factor of a block's own rate around the rate of its kind.
func spread(d dice, id uint64) float64 {
	return math.Exp(rateSpread * d.normal(forRate, id))
}

const millisecond = 1_000_000 // ns
