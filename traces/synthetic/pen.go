package synthetic

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// pen writes one track, call by call. Its copy marks a place to go back to.
type pen struct {
	p       *plan
	t       int // the track
	tools   *toolMix
	ledger  ledger
	limit   int // tokens at which the track compacts; 0 is never
	context int // tokens of the context after the last response
	pending int // tokens of the input that no call has seen
	input   int32
	unseen  int // of the next call, tokens no line shows
	n       int // calls drawn for, including those that were taken back
	model   uint16
	warm    bool // others have kept the static prefix readable at the first call
	stale   bool // the next call finds nothing that the thread itself wrote
	resumed bool // of what the thread wrote the next call finds only the static prefix
	// compacted is set when the current turn has had a compaction.
	compacted bool
	trigger   traces.Trigger
	at        int64 // unix ns of the last input line
	before    int64 // unix ns of the end of the last response
	gone      int64 // unix ns of the end of a branch that was left here
	recent    [5]int32
	files     int   // in recent, the one used last in front
	uses      int32 // of the track, when this is a mark
}

func (w *pen) track() *track { return &w.p.tracks[w.t] }

// mark returns the place to go back to.
func (w *pen) mark() pen {
	m := *w
	m.uses = w.track().uses
	return m
}

// open lays the prefix of the track. When the first call reads nothing, a reader sees
// less of the static prefix.
func (w *pen) open(static int, reminders float64, warm bool) {
	g, t := w.p.g, w.track()
	hidden := static + int(reminders+0.5)
	w.context, w.warm = hidden, warm
	t.static = static
	switch {
	case warm:
	case t.kind == traces.ThreadMain:
		t.static = min(hidden, g.static)
	default:
		t.static = hidden
	}
	t.reminders = hidden - t.static
	ttl := exchange.TTL5m
	if g.w.Lifetime == "1h" {
		ttl = exchange.TTL1h
	}
	w.ledger = ledger{lifetime: g.lifetime, ttl: ttl, static: static}
}

// push adds a block to the input of the next call.
func (w *pen) push(k prompt.Kind, bytes, tokens int32) *prompt.Block {
	w.pending += int(tokens)
	return w.p.add(w.track(), k, bytes, tokens)
}

// ask adds a prompt.
func (w *pen) ask(k spot) {
	g := w.p.g
	w.compacted = false
	w.trigger = traces.TriggerPrompt
	bytes, tokens := g.size(prompt.KindPrompt, k.draw(&g.w.Prompt, forPromptSize))
	b := w.push(prompt.KindPrompt, bytes, tokens)
	if !k.hit(forImage, g.w.Images) {
		b.Flags = prompt.FlagString
		return
	}
	bytes = int32(max(minImage, k.count(&g.w.ImageBytes, forImageBytes)))
	w.push(prompt.KindImage, bytes, int32(g.rates.Tokens(prompt.KindImage, int(bytes)))).Flags = prompt.FlagImage
}

// change decides what happens between two turns besides time, and reports
// whether anything did.
func (w *pen) change(k spot) bool {
	g := w.p.g
	was := *w
	if k.hit(forSwitch, g.w.SwitchModel) {
		w.model = g.named[g.models.at(k.unit(forModel))]
		w.stale = w.model != was.model
	}
	if k.hit(forConnect, g.w.Connects) {
		w.stale = true
		w.unseen += k.count(&g.w.ConnectTokens, forConnectTokens)
	}
	if k.hit(forResume, g.w.Resumes) {
		w.resumed = true
		w.unseen += int(k.draw(&g.w.ResumeTokens, forResumeTokens) + 0.5)
		w.at += seconds(k.draw(&g.w.ResumePause, forResumePause))
	}
	return w.stale != was.stale || w.resumed || w.unseen > 0
}

// turn plans the calls that answer what is pending.
func (w *pen) turn(rounds int) {
	for r := range rounds {
		context := w.context + w.pending
		late := w.t > 0 && w.p.g.limit > 0 && context > w.p.g.limit
		last := r == rounds-1 || late || w.p.full(w.at, context)
		w.call(last)
		if last {
			return
		}
		w.results()
	}
}

// signs returns what the lines of the transcript before a call show.
func (w *pen) signs() signs.Set {
	if w.trigger != traces.TriggerPrompt || w.t > 0 {
		return 0
	}
	if w.n == 0 {
		return signs.ThinkingTold
	}
	return signs.ThinkingTold | signs.TurnEnd
}

// call plans a request and its response; tools follow unless it is the last of
// its turn.
func (w *pen) call(last bool) {
	p := w.p
	k := p.at(place(w.t, w.n, 0))
	rd := traces.Round{Trigger: w.trigger, Model: w.model, Wait: w.at - w.before}
	rd.Input = traces.Span{From: w.input, To: int32(len(w.track().blocks))}
	rd.Signs = w.signs()
	compact := w.limit != 0 && w.context+w.pending+w.unseen >= w.limit
	if compact {
		w.compact(k, rd.Input.Len())
	} else if w.unseen > 0 {
		t := w.track()
		unseen := prompt.Block{Kind: prompt.KindUnseen, Tokens: int32(w.unseen), Object: -1, Flags: prompt.FlagDerived}
		t.blocks = append(t.blocks, unseen)
		w.pending += w.unseen
		rd.Input.To++
	}
	w.unseen = 0
	rd.At, rd.Tail = w.at, tailResults
	if w.trigger == traces.TriggerPrompt || compact {
		rd.Tail = tailPrompt
	}
	w.context += w.pending
	w.pending = 0
	rd.Usage = w.bill(k, int(rd.Tail), compact)
	w.reply(&rd, k, last)
	w.context += int(rd.Usage.Output)
	w.before = rd.At + rd.Stream
	w.ledger.end = w.before
	w.n++
	t := w.track()
	t.rounds = append(t.rounds, rd)
	w.input = int32(len(t.blocks))
}

// bill returns the usage of a request of the whole context.
func (w *pen) bill(k spot, tail int, compact bool) prompt.Usage {
	g := w.p.g
	warm := w.warm
	if w.n > 0 {
		soon := w.at-w.ledger.end <= g.lifetime
		warm = w.resumed && !w.stale && soon || k.hit(forWarm, g.w.WarmExpiry)
	}
	if w.stale || w.resumed {
		w.ledger.begun = false
	}
	w.stale, w.resumed = false, false
	return w.ledger.bill(w.at, w.context+tail, tail, warm, compact)
}

// reply plans the blocks of a response and their times.
func (w *pen) reply(rd *traces.Round, k spot, last bool) {
	p, g := w.p, w.p.g
	rd.Reply.From = int32(len(w.track().blocks))
	if k.hit(forThinkingShare, g.w.ThinkingShare) {
		w.write(prompt.KindThinking, k.draw(&g.w.Thinking, forThinkingSize))
	}
	switch {
	case last && w.t > 0:
		w.write(prompt.KindText, k.draw(&g.w.Agents.Report, forAgentReport))
	case last:
		w.write(prompt.KindText, k.draw(&g.w.Answer, forAnswer))
	case k.hit(forTextShare, g.w.TextShare):
		w.write(prompt.KindText, k.draw(&g.w.Text, forTextSize))
	}
	if !last {
		w.use()
	}
	reply := p.tracks[w.t].blocks[rd.Reply.From:]
	rd.Reply.To = rd.Reply.From + int32(len(reply))
	var out int64
	for i := range reply {
		out += int64(reply[i].Tokens)
	}
	rd.Usage.Output, rd.Logged = out, out
	if !g.final {
		rd.Logged = min(int64(1+k.below(forLogged, 10)), out)
		rd.Flags |= signs.OutputDerived
	}
	perToken := 1 / k.draw(&g.w.Speed, forSpeed)
	start := k.draw(&g.w.FirstToken, forFirstToken)
	rd.First = max(millisecond, seconds(start+float64(reply[0].Tokens)*perToken))
	rd.Stream = rd.First
	if len(reply) > 1 {
		rd.Stream = max(rd.First, seconds(start+float64(out)*perToken))
	}
}

// write adds text of about so many tokens to a response.
func (w *pen) write(k prompt.Kind, tokens float64) {
	bytes, exact := w.p.g.size(k, tokens)
	w.p.add(w.track(), k, bytes, exact)
}

// compact plans a compaction before a call: the context becomes the prefix, a
// summary and what is put back, and nothing is pending.
func (w *pen) compact(k spot, absorbed int) {
	p, t := w.p, w.track()
	g := p.g
	if t.reminders == 0 && w.ledger.static < t.static { // the next call reads less, and so a reader sees less
		t.static, t.reminders = w.ledger.static, t.static-w.ledger.static
	}
	bytes, tokens := g.size(prompt.KindSummary, k.draw(&g.w.Summary, forSummary))
	p.add(t, prompt.KindSummary, bytes, tokens).Flags = prompt.FlagString
	n := int32(len(t.blocks))
	ev := traces.Event{
		Kind: traces.EventCompact, Round: int32(len(t.rounds)), PreTokens: int32(w.context + w.pending + w.unseen),
		Summary: traces.Span{From: n - 1, To: n}, Absorbed: int32(absorbed),
		Wait: max(millisecond, seconds(k.draw(&g.w.CompactTime, forCompactTime))),
	}
	w.context = t.static + t.reminders + int(tokens) + int(k.draw(&g.w.Restored, forRestored)+0.5) + w.unseen
	w.pending, w.compacted = 0, true
	w.at += ev.Wait
	ev.At, ev.Kept = w.at, int32(w.context-t.static)
	t.events = append(t.events, ev)
}

// rewind takes what was said since the mark out of the track and makes it a
// branch.
func (w *pen) rewind(mark *pen) {
	p := w.p
	main := w.track()
	at := len(main.rounds)
	for at > 0 && main.rounds[at-1].Input.From >= mark.input {
		at--
	}
	b := p.open(traces.ThreadBranch, int32(w.t), int32(at-1))
	main, branch := w.track(), &p.tracks[b]
	branch.static = main.static
	branch.delay = main.rounds[at].At - mark.before
	branch.blocks = append(branch.blocks, main.blocks[mark.input:]...)
	branch.rounds = append(branch.rounds, main.rounds[at:]...)
	branch.uses, main.uses = main.uses-mark.uses, mark.uses
	branch.rounds[0].Wait = 0 // a branch begins at its prompt
	for i := range branch.rounds {
		rd := &branch.rounds[i]
		rd.Input.From, rd.Input.To = rd.Input.From-mark.input, rd.Input.To-mark.input
		rd.Reply.From, rd.Reply.To = rd.Reply.From-mark.input, rd.Reply.To-mark.input
	}
	for i := range branch.blocks {
		if branch.blocks[i].Call > 0 {
			branch.blocks[i].Call -= mark.uses
		}
	}
	main.rounds, main.blocks = main.rounds[:at], main.blocks[:mark.input]
	n, end := w.n, w.before
	*w = *mark
	w.n, w.ledger.end = n, end
	w.gone = end
}

// Uncached tokens at the end of every request, as recorded from 2.1.33: three
// after a prompt, one after tool results.
const (
	tailPrompt  = 3
	tailResults = 1
)

// ledger is the true cache of one thread: a prefix chain that is never evicted
// and expires a lifetime after the end of the last response.
type ledger struct {
	lifetime int64 // ns
	ttl      exchange.TTL
	static   int   // tokens other prompts share
	cached   int   // tokens the previous call left readable
	end      int64 // unix ns of the previous response's end
	begun    bool
}

// bill returns the usage of a request of total tokens at a time. The static
// prefix is readable when others keep it warm, and after a compaction.
func (l *ledger) bill(at int64, total, tail int, warm, compacted bool) prompt.Usage {
	read := 0
	switch {
	case compacted:
		read = l.static
	case l.begun && at-l.end <= l.lifetime:
		read = l.cached
	case warm:
		read = l.static
	}
	u := prompt.Usage{Uncached: int64(tail), Read: int64(read)}
	written := int64(total - tail - read)
	if l.ttl == exchange.TTL1h {
		u.Write1h = written
	} else {
		u.Write5m = written
	}
	l.cached, l.begun = total-tail, true
	return u
}
