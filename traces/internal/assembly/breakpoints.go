package assembly

import (
	"bytes"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// Mark is a cache marker in a message, or in a value: behind so many blocks, or bytes.
type Mark struct {
	Behind int
	TTL    exchange.TTL
}

// Marker reads the value of a cache marker. Null, as libraries write members that are not set, is none.
func Marker(v jsontext.Value) (ttl exchange.TTL, ok bool) {
	var m struct {
		TTL string `json:"ttl"`
	}
	if v.Kind() != '{' || Decode(v, &m) != nil {
		return 0, false
	}
	if m.TTL == "1h" {
		ttl = exchange.TTL1h
	}
	return ttl, true
}

// isMarker reports whether a member is a cache marker, as Anthropic's interface and gateways to it have it, or Bedrock's.
func isMarker(name string) bool { return name == "cache_control" || name == "cachePoint" }

// mayMark reports whether a value may have markers.
func mayMark(v []byte) bool {
	return bytes.Contains(v, []byte(`"cache_control"`)) || bytes.Contains(v, []byte(`"cachePoint"`))
}

// MarksIn returns the cache markers of tools, of a system prompt, or of messages behind each other, in order.
func MarksIn(v []byte) (list []Mark) {
	if mayMark(v) {
		for s := jsonscan.New(v); s.Peek() != 0 && s.Err() == nil; {
			e := s.Raw()
			list = marksIn(list, e, s.Offset()-len(e), 0)
		}
	}
	return list
}

// deepest is how deep in a value a marker may be: lists of messages have the marker of a result's part at depth 5. Each level is read again
// by itself, so that a value which is nested thousands deep would take as many times its length.
const deepest = 8

// marksIn appends the markers of a value, which begins at a byte: of an object behind the object. depth is how many lists and objects the
// value is in.
func marksIn(list []Mark, v []byte, at, depth int) []Mark {
	if depth > deepest {
		return list
	}
	switch s := jsonscan.New(v); s.Peek() {
	case '[':
		for range s.Elements {
			e := s.Raw()
			list = marksIn(list, e, at+s.Offset()-len(e), depth+1)
		}
	case '{':
		ttl, marked := exchange.TTL5m, false
		for name := range s.Members {
			switch n := string(name); {
			case isMarker(n):
				ttl, marked = Marker(s.Raw())
			case n == "content" || n == "function":
				e := s.Raw()
				list = marksIn(list, e, at+s.Offset()-len(e), depth+1)
			default:
				s.Skip()
			}
		}
		if marked {
			list = append(list, Mark{at + len(v), ttl})
		}
	}
	return list
}

// Placed are the cache breakpoints of a request whose body is read; see Place.
type Placed struct {
	traces.Breakpoints
	Whole bool         // the request has a marker of its own, which stands behind its last block
	TTL   exchange.TTL // of that marker
}

// Head adds the markers of tools or of the system prompt, which are a value of so many bytes.
func (p *Placed) Head(level prompt.Level, marks []Mark, length int) {
	for _, m := range marks {
		p.Add(traces.Breakpoint{Level: level, Share: min(1, float32(m.Behind)/float32(max(1, length))), TTL: m.TTL})
	}
}

// Show adds tools or a system prompt to what precedes the messages, in one piece, or in the pieces between breakpoints.
func (r *Request) Show(k prompt.Kind, text []byte, pieces ...[]byte) {
	if len(text) == 0 {
		return
	}
	r.Head = r.Head.Extend(prompt.DigestBytes(text))
	if len(pieces) == 0 {
		r.Ahead = append(r.Ahead, ahead(k, text))
	}
	for _, p := range pieces {
		if len(p) > leastPiece {
			r.Ahead = append(r.Ahead, ahead(k, p))
		}
	}
}

// leastPiece is the longest piece that holds no more than brackets, bytes.
const leastPiece = 4

func ahead(k prompt.Kind, text []byte) Block {
	b := Derived(k, prompt.DigestBytes(text), 0)
	b.Bytes = int32(min(len(text), MaxTokens))
	return Block{Block: b}
}

// fromStart is the number of messages behind a breakpoint from which on it is counted from the first message: programs mark the last
// two or three messages of a person, with answers between them.
const fromStart = 5

// Place adds the markers on messages, and the request's own.
func (p *Placed) Place(list []*Message) *traces.Breakpoints {
	behind, after, total := 0, 0, 0 // messages and blocks behind each message, and blocks of all
	for _, m := range list {
		total += len(m.Blocks)
	}
	var found []traces.Breakpoint // from the last one back
	ahead := total
	for i := len(list) - 1; i >= 0; i-- {
		m := list[i]
		if i+1 < len(list) && list[i+1].Assistant != m.Assistant {
			behind, after = behind+1, 0
		}
		ahead -= len(m.Blocks)
		for k := len(m.Marks) - 1; k >= 0; k-- {
			b := traces.Breakpoint{Level: prompt.LevelMessages, TTL: m.Marks[k].TTL}
			if block := after + len(m.Blocks) - m.Marks[k].Behind; behind < fromStart {
				b.Message, b.Block = uint16(behind), uint16(min(block, math.MaxUint16))
			} else {
				b.Start, b.Block = true, uint16(min(ahead+m.Marks[k].Behind, math.MaxUint16))
			}
			found = append(found, b)
		}
		after += len(m.Blocks)
	}
	for i := len(found) - 1; i >= 0; i-- {
		p.Add(found[i])
	}
	if last := (traces.Breakpoint{Level: prompt.LevelMessages, TTL: p.TTL}); p.Whole && (p.N == 0 || !at(p.At[p.N-1], last)) {
		p.Add(last)
	}
	return &p.Breakpoints
}

// at reports whether two breakpoints are at one place.
func at(a, b traces.Breakpoint) bool {
	a.TTL = b.TTL
	return a == b
}

// believe keeps the breakpoints that requests of a session show unless the bill contradicts them: a gateway sets markers that the logged
// requests lack. Where it marks what precedes the messages alone, all calls hold as much, and they get that breakpoint; else they have
// none that is known. Lifetimes are the billed ones where the bill has them and no request asks for such a lifetime; where the bill
// does not say, they are what the requests ask for.
// It reports whether they got one that no request shows.
func believe(list []*Request) (guessed bool) {
	marked, cached, beyond := 0, false, false
	for _, r := range list {
		if CacheByModel(r.Model) == facts.CacheAutomatic {
			r.Breakpoints = nil
		}
		held := r.Usage.Read + r.Usage.Writes()
		cached = cached || held > 0
		b := r.Breakpoints
		if b == nil {
			continue
		}
		marked += int(b.N)
		if b.Messages() == 0 && held > int64(headBytes(r))/leastBytes+headExtra {
			beyond = true
		}
		r.lifetimes()
	}
	if !beyond && (marked > 0 || !cached) {
		return false
	}
	head := (*traces.Breakpoints)(nil)
	if marked == 0 && holdsHead(list) {
		head = &traces.Breakpoints{}
		head.Add(traces.Breakpoint{Level: prompt.LevelSystem, Share: 1})
	}
	for _, r := range list {
		if r.Breakpoints != nil {
			r.Breakpoints = head
			r.lifetimes()
		}
	}
	return head != nil
}

// fewHeld is the least number of calls of one head which show that this alone is in the cache.
const fewHeld = 4

// holdsHead reports whether requests of the same tools and system prompt, a few at least and of different sizes, read and wrote together
// as much as each other, or nothing.
func holdsHead(list []*Request) bool {
	type group struct {
		held, least, most int64
		n                 int
	}
	groups, few := map[prompt.Digest]*group{}, false
	for _, r := range list {
		held := r.Usage.Read + r.Usage.Writes()
		if r.Breakpoints == nil || held == 0 {
			continue
		}
		in := r.Usage.Input()
		g := groups[r.Head]
		if g == nil {
			g = &group{held: held, least: in, most: in}
			groups[r.Head] = g
		}
		if g.held != held {
			return false
		}
		g.n, g.least, g.most = g.n+1, min(g.least, in), max(g.most, in)
		few = few || g.n >= fewHeld && g.most > g.least
	}
	return few
}

// What a request caches beyond these is not tools and system prompt alone: the fewest bytes of a token, and the tokens that a server adds
// to them to tell the model how tools are called (346 to 804 by model, platform.claude.com, tool use).
const (
	leastBytes = 2
	headExtra  = 1000
)

func headBytes(r *Request) (n int) {
	for i := range r.Ahead {
		n += int(r.Ahead[i].Bytes)
	}
	return n
}

// lifetimes reconciles the lifetimes that a request asks for with what was billed.
func (r *Request) lifetimes() {
	b, u := r.Breakpoints, &r.Usage
	if b == nil {
		return
	}
	var asks [2]bool
	for _, p := range b.At[:b.N] {
		asks[p.TTL] = true
	}
	switch {
	case u.Assumed && asks[exchange.TTL1h] && !asks[exchange.TTL5m]:
		u.Write1h, u.Write5m, u.Assumed = u.Write5m+u.Write1h, 0, false
	case u.Assumed && asks[exchange.TTL5m] && !asks[exchange.TTL1h]:
		u.Assumed = false
	case !u.Assumed && (u.Write5m > 0) != (u.Write1h > 0):
		billed := exchange.TTL5m
		if u.Write1h > 0 {
			billed = exchange.TTL1h
		}
		if asks[billed] {
			return
		}
		other := *b
		for i := range other.At[:other.N] {
			other.At[i].TTL = billed
		}
		r.Breakpoints = &other
	}
}

// markedHead returns how many of a thread's blocks ahead of messages end at a breakpoint and how many tokens these are by the bill of a
// call that has no other breakpoint behind them, or whose breakpoints there have another lifetime; 0 where no call tells.
func markedHead(t *Thread) (blocks int, tokens int64) {
	for i := range t.Calls {
		c := t.Calls[i].Call
		if !c.OK || c.Breakpoints == nil {
			continue
		}
		b := c.Breakpoints.At[:c.Breakpoints.N]
		inHead := len(b) - c.Breakpoints.Messages()
		switch {
		case inHead == 0:
		case inHead == len(b):
			tokens = c.Read + c.Writes()
		case c.Read == 0 && c.Write5m > 0 && b[inHead-1].TTL == exchange.TTL1h && b[inHead].TTL == exchange.TTL5m:
			tokens = c.Write1h
		}
		if tokens == 0 {
			continue
		}
		last, whole := b[inHead-1], 0
		for k := range t.Ahead {
			if t.Ahead[k].Kind.Level() == last.Level {
				whole += int(t.Ahead[k].Bytes)
			}
		}
		left := float64(whole) * float64(last.Share)
		for blocks = range t.Ahead {
			a := &t.Ahead[blocks]
			if a.Kind.Level() == last.Level {
				left -= float64(a.Bytes)
			}
			if a.Kind.Level() > last.Level || left < -0.5*float64(a.Bytes) && a.Kind.Level() == last.Level {
				return blocks, tokens
			}
		}
		return len(t.Ahead), tokens
	}
	return 0, 0
}
