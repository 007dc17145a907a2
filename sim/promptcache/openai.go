package promptcache

import (
	"fmt"
	"maps"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// Defaults of OpenAIConfig (platform.openai.com, prompt caching).
const (
	// openAIMinTokens is the shortest prefix that is read.
	openAIMinTokens = 1024
	// openAIStep is the documented increment of a read, tokens.
	openAIStep = 128
	// openAIRetention is how long an idle prefix is kept, ns: the documents say 5 to 10
	// minutes and at most an hour.
	openAIRetention = int64(10 * time.Minute)
)

// OpenAIConfig holds what the documents leave open or an experiment may vary. The zero
// value is the default.
type OpenAIConfig struct {
	// MinTokens is the shortest prefix that is read; 0 means openAIMinTokens. A
	// larger minimum of the request counts instead.
	MinTokens int32
	// Serving returns how the requests of a model are served; nil means
	// the documented steps. Request.Serving overrides it.
	Serving func(model string) exchange.Serving
	// Retention is how long a prefix lives after its last use where Serving does
	// not say, in nanoseconds; 0 means openAIRetention.
	Retention int64
	// Anchor is where the retention counts from.
	Anchor anchor
	// BillWrites bills what a request does not read as written, on models with a price
	// for that (gpt-5.6 and later). By default it is plain input: recorded clients log no
	// writes, so their bills have none.
	BillWrites func(model string) bool
	// OverflowPerCall is the probability in [0,1] that a call is served by another machine.
	// That one holds what the thread's last such call sent, and at the first one tools and
	// system prompt: of 139 recorded calls of gpt-5.5 that lost their prefix after a tool
	// call 36 read what the one before had sent, 13 what an earlier one had, 29 no more than
	// the first call of the thread. The next call reads again. Request.Draw decides;
	// Request.Loss adds to it. The default is 0.
	OverflowPerCall float64
}

// Validate reports the first field that is out of its range.
func (c OpenAIConfig) Validate() error {
	switch {
	case c.MinTokens < 0:
		return fmt.Errorf("promptcache: minimum of %d tokens is negative", c.MinTokens)
	case c.Retention < 0:
		return fmt.Errorf("promptcache: negative retention %d", c.Retention)
	case c.Anchor > anchorStart:
		return fmt.Errorf("promptcache: unknown retention anchor %d", c.Anchor)
	case !(c.OverflowPerCall >= 0 && c.OverflowPerCall <= 1):
		return fmt.Errorf("promptcache: overflow probability %v is not in [0,1]", c.OverflowPerCall)
	}
	return nil
}

// filled returns c with defaults in place of zeros.
func (c OpenAIConfig) filled() OpenAIConfig {
	if c.MinTokens <= 0 {
		c.MinTokens = openAIMinTokens
	}
	if c.Serving == nil {
		c.Serving = func(string) exchange.Serving { return servedPlain }
	}
	if c.Retention <= 0 {
		c.Retention = openAIRetention
	}
	if c.BillWrites == nil {
		c.BillWrites = func(string) bool { return false }
	}
	return c
}

// OpenAI is the automatic prompt cache of platform.openai.com: no markers, no price for
// writing. A request reads the longest prefix that earlier requests of its owner and
// model sent, cut down to a step, and at least what other conversations keep warm. Output
// is not cached before a request sends it back, unless the client is served with replies.
// Use NewOpenAI.
//
// What a request sends is readable from the moment its response begins and
// lives for the retention after the last request that sent it. There is no
// capacity.
type OpenAI struct {
	cfg      OpenAIConfig
	table    table
	entries  []entry // keys of the table; entry i belongs to node i
	nodes    []node
	runs     []run
	flights  []openAIFlight
	free     []int32
	threads  []openAIThread
	byThread map[uint32]int32
	unused   []int32 // threads that are forgotten
	models   map[uint32]openAIModel
	// longestLife is the longest retention of any request, ns.
	longestLife int64
	// Scratch of the sweep: new ids of nodes and of runs, and by run the last
	// position that stays.
	remap, reruns, keeps []int32
}

// openAIModel is what the cache does with the requests of one model.
type openAIModel struct {
	serving exchange.Serving
	writes  bool // what is not read is billed as written
}

// openAIThread is what is remembered of a conversation: the prefix its last
// request sent.
type openAIThread struct {
	thread
	read int64 // what of that prefix would be read
	// aside is the position of the last entry that the thread sent to the machine it
	// overflowed to.
	aside int32
}

// openAIFlight is a request between Begin and End.
type openAIFlight struct {
	from, to  int32 // nodes that its response makes readable
	tip       int32 // node of its last entry, none for an empty request
	open      bool
	fromStart bool // what it sent lives from its start
}

// NewOpenAI returns an empty cache. Negative counts and times in cfg count as zero.
func NewOpenAI(cfg OpenAIConfig) *OpenAI {
	o := &OpenAI{cfg: cfg.filled(), byThread: map[uint32]int32{}, models: map[uint32]openAIModel{}}
	o.longestLife = o.cfg.Retention
	o.table.resize(minTable)
	return o
}

// NameModel sets the name of the model with an index, once: Reset keeps it. A model
// without a name has the documented steps of 128 tokens.
func (o *OpenAI) NameModel(id uint32, name string) {
	if _, ok := o.models[id]; !ok {
		o.models[id] = openAIModel{serving: o.cfg.Serving(name), writes: o.cfg.BillWrites(name)}
	}
}

// Reset empties the cache and forgets every thread and request in flight,
// keeping its storage.
func (o *OpenAI) Reset() {
	o.table.resize(minTable)
	o.entries, o.nodes = o.entries[:0], o.nodes[:0]
	o.runs = o.runs[:0]
	o.flights, o.free = o.flights[:0], o.free[:0]
	o.threads = o.threads[:0]
	clear(o.byThread)
	o.unused = o.unused[:0]
	o.longestLife = o.cfg.Retention
}

// Clone returns an independent copy, requests in flight included: their tickets
// are valid in both.
func (o *OpenAI) Clone() *OpenAI {
	c := &OpenAI{}
	c.CopyFrom(o)
	return c
}

// CopyFrom makes o a copy of another cache as Clone does, keeping o's storage.
func (o *OpenAI) CopyFrom(from *OpenAI) {
	c := *from
	c.table.slots = append(o.table.slots[:0], from.table.slots...)
	c.entries, c.nodes = append(o.entries[:0], from.entries...), append(o.nodes[:0], from.nodes...)
	c.runs = o.runs[:cap(o.runs)]
	for len(c.runs) < len(from.runs) {
		c.runs = append(c.runs, run{})
	}
	c.runs = c.runs[:len(from.runs)]
	for i := range c.runs {
		uses := append(c.runs[i].uses[:0], from.runs[i].uses...)
		c.runs[i] = from.runs[i]
		c.runs[i].uses = uses
	}
	c.flights, c.free = append(o.flights[:0], from.flights...), append(o.free[:0], from.free...)
	c.threads, c.unused = append(o.threads[:0], from.threads...), append(o.unused[:0], from.unused...)
	c.remap, c.reruns, c.keeps = o.remap[:0], o.reruns[:0], o.keeps[:0]
	c.byThread, c.models = copyInto(o.byThread, from.byThread), copyInto(o.models, from.models)
	*o = c
}

// copyInto returns a map that has what from has, and the storage of to, which may be nil.
func copyInto[K comparable, V any](to, from map[K]V) map[K]V {
	if to == nil {
		return maps.Clone(from)
	}
	clear(to)
	maps.Copy(to, from)
	return to
}

// Begin serves the input of a request that arrives at t, in nanoseconds, and
// returns how. The ticket of the outcome names the request until End. Markers
// and deletions are ignored.
//
// Expected is what the thread's previous request left to read, 0 on the first.
// As with Anthropic, a prefix that the client changed since is expected all the
// same, and Miss is MissNone if and only if nothing is short.
func (o *OpenAI) Begin(t int64, r *exchange.Request) exchange.Outcome {
	m := o.models[r.Model]
	m.serving = o.serving(m.serving, r.Serving)
	least := max(int64(o.cfg.MinTokens), int64(r.MinTokens))
	th := o.thread(r.Thread)
	alive := o.longest(t, r, th, m.serving.Retention)
	hit := alive
	for hit >= 0 && o.nodes[o.find(r, hit)].ready > t {
		hit--
	}
	share := o.cfg.OverflowPerCall + r.Loss
	overflow := share > 0 && unit(r.Draw) < share
	at := hit
	if overflow {
		at = min(hit, max(int(th.aside), headEnd(r)))
	} else if m.serving.Replies {
		at = th.replied(r, hit)
	}
	out := exchange.Outcome{HitAt: -1, Effective: r.Tokens()}
	if at >= 0 {
		out.Usage.Read = m.serving.Floor(through(r, at), least)
	}
	if out.Usage.Read > 0 {
		out.HitAt = int32(at)
	}
	if shared := int64(r.Shared); shared >= least {
		out.Usage.Read = max(out.Usage.Read, min(shared, out.Effective-int64(r.Tail)))
	}
	rest := out.Effective - out.Usage.Read
	if m.writes && out.Effective >= least {
		out.Usage.WriteOther, rest = rest-int64(r.Tail), int64(r.Tail)
	}
	out.Usage.Uncached = rest
	o.classify(r, th, alive, overflow, &out)
	held := held(r)
	out.Ticket = o.store(t, r, alive, held)
	o.flights[out.Ticket].fromStart = m.serving.FromStart || o.cfg.Anchor == anchorStart
	o.leave(r, th, held, m.serving, least)
	if at < hit {
		th.aside = th.pos
	}
	if r.Last {
		o.forget(r.Thread)
	}
	return out
}

// FirstToken records that the response of a request begins at t, a time that may
// lie ahead: what it sent is readable from then on. An unknown ticket is ignored.
func (o *OpenAI) FirstToken(t int64, ticket int32) {
	f := o.flight(ticket)
	if f == nil {
		return
	}
	for i := f.from; i < f.to; i++ {
		o.nodes[i].ready = min(o.nodes[i].ready, t)
	}
}

// End records that the response of a request ended at t, with that many
// output tokens, which are not cached. A request that ends without FirstToken
// has failed: what it sent stays unreadable. The ticket becomes free; an unknown
// one is ignored.
func (o *OpenAI) End(t int64, ticket int32, output int64) {
	f := o.flight(ticket)
	if f == nil {
		return
	}
	if !f.fromStart && f.tip != none {
		o.use(f.tip, t)
	}
	*f = openAIFlight{}
	o.free = append(o.free, ticket)
}

// Validate accepts every request: the provider ignores what it does not know.
func (o *OpenAI) Validate(*exchange.Request) error { return nil }

func (o *OpenAI) flight(ticket int32) *openAIFlight {
	if ticket < 0 || int(ticket) >= len(o.flights) || !o.flights[ticket].open {
		return nil
	}
	return &o.flights[ticket]
}

// classify fills in what the thread would have read of what it sent last, and
// why it did not.
func (o *OpenAI) classify(r *exchange.Request, th *openAIThread, alive int, overflow bool, out *exchange.Outcome) {
	if !th.left {
		return
	}
	out.Expected = th.read
	if out.Usage.Read >= out.Expected {
		return
	}
	class, moved := th.moved(r)
	switch {
	case moved:
		out.Miss = class
	case r.Through > 0 && int64(r.Through) < th.cum:
		out.Miss = exchange.MissEdit
	case overflow:
		out.Miss = exchange.MissEviction
	case alive >= int(th.pos):
		out.Miss = exchange.MissNotReadable
	default:
		out.Miss = exchange.MissExpiry
	}
}

// thread returns the state of a conversation.
func (o *OpenAI) thread(id uint32) *openAIThread {
	i, ok := o.byThread[id]
	if !ok {
		if n := len(o.unused); n > 0 {
			i, o.unused = o.unused[n-1], o.unused[:n-1]
		} else {
			i = int32(len(o.threads))
			o.threads = append(o.threads, openAIThread{aside: -1})
		}
		o.byThread[id] = i
	}
	return &o.threads[i]
}

// forget drops the state of a conversation.
func (o *OpenAI) forget(id uint32) {
	i := o.byThread[id]
	delete(o.byThread, id)
	o.threads[i] = openAIThread{aside: -1}
	o.unused = append(o.unused, i)
}

// held returns how many entries of a request later requests find.
func held(r *exchange.Request) int {
	n := len(r.Entries)
	if n == 0 || r.Unheld <= 0 {
		return n
	}
	end := r.Entries[n-1].Cum - r.Unheld
	for n > 0 && r.Entries[n-1].Cum > end {
		n--
	}
	return n
}

// leave remembers the prefix that a request sent, its first n entries.
func (o *OpenAI) leave(r *exchange.Request, th *openAIThread, n int, s exchange.Serving, least int64) {
	if n == 0 {
		th.left = false
		return
	}
	e := &r.Entries[n-1]
	th.chain, th.cum, th.pos = e.Chain, int64(e.Cum), int32(n-1)
	th.owner, th.model, th.left = r.Owner, r.Model, true
	th.read = s.Floor(th.cum, least)
}

// headEnd returns the position of the last entry of tools and system, -1 for
// none.
func headEnd(r *exchange.Request) int {
	i := 0
	for i < len(r.Entries) && r.Entries[i].Kind.Level() != prompt.LevelMessages {
		i++
	}
	return i - 1
}

// unit maps a draw to [0,1).
func unit(draw uint64) float64 { return float64(draw>>11) / (1 << 53) }
