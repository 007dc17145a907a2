package promptcache_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// TestScripts runs testdata/scripts: conversations against one cache, each file the
// worked examples of one part of the documents, named in its comments.
//
//	new [lookback=N] [blocks] [start] [no-refresh] [ttl-in-key] [delete-uncached] [evict=P]
//	ctx NAME            append blocks, one "kind tokens [xN] [tag]" a line; equal lines at
//	                    equal positions are equal content
//	edit NAME at=I tokens=N [cause=C], replace NAME from=I to=J [cause=C], truncate NAME n=N,
//	key NAME level=L value=V
//	begin NAME t=D [thread=N] [model=N] [owner=N] [min=N] [draw=N] markers=(POS[:1h][:global],…)
//	      [del=(POS:TOKENS,…)]
//	call …              begin, first token and end; for=D is its duration, default 0
//	first TICKET t=D, end TICKET t=D
//	validate …          as begin, prints what the provider would refuse
//
// Positions count from 0; "last" is the last block.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := script{cache: promptcache.New(promptcache.Config{}), contexts: map[string]*conversation{}}
		datadriven.RunTest(t, path, s.run)
	})
}

type conversation struct {
	prompt.Context
	arena prompt.Arena
}

type script struct {
	cache    *promptcache.Anthropic
	contexts map[string]*conversation
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "new":
		cfg := scriptConfig(t, d)
		s.cache = promptcache.New(cfg)
		clear(s.contexts)
		return "ok"
	case "ctx", "edit", "replace", "truncate", "key":
		return s.edit(t, d)
	case "begin", "call":
		r := s.request(t, d)
		at := duration(t, d, "t")
		o := s.cache.Begin(at, &r)
		if d.Cmd == "call" {
			end := at
			if d.HasArg("for") {
				end += duration(t, d, "for")
			}
			s.cache.FirstToken(end, o.Ticket)
			s.cache.End(end, o.Ticket, 0)
			return describe(&r, &o, false)
		}
		return describe(&r, &o, true)
	case "validate":
		r := s.request(t, d)
		if err := s.cache.Validate(&r); err != nil {
			return err.Error()
		}
		return "ok"
	case "first", "end":
		ticket, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "ticket: %v", err)
		}
		if d.Cmd == "first" {
			s.cache.FirstToken(duration(t, d, "t"), int32(ticket))
		} else {
			s.cache.End(duration(t, d, "t"), int32(ticket), 0)
		}
		return "ok"
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

func scriptConfig(t *testing.T, d *datadriven.TestData) promptcache.Config {
	var c promptcache.Config
	d.MaybeScanArgs(t, "lookback", &c.Lookback)
	if d.HasArg("evict") {
		var p string
		d.ScanArgs(t, "evict", &p)
		c.EvictPerCall, _ = strconv.ParseFloat(p, 64)
	}
	c.EveryBlockCounts = d.HasArg("blocks")
	if d.HasArg("no-refresh") {
		c.NoPrefixRefresh = true
	}
	c.TTLInKey = d.HasArg("ttl-in-key")
	c.DeleteUncached = d.HasArg("delete-uncached")
	if d.HasArg("start") {
		c.Anchor = promptcache.AnchorStart
	}
	return c
}

// edit runs the commands that change a context; they print its size.
func (s *script) edit(t *testing.T, d *datadriven.TestData) string {
	name := d.CmdArgs[0].Key
	c := s.contexts[name]
	if c == nil {
		c = &conversation{}
		c.Reset(nil, &c.arena)
		s.contexts[name] = c
	}
	num := func(arg string) int {
		var n int
		d.ScanArgs(t, arg, &n)
		return n
	}
	switch d.Cmd {
	case "ctx":
		for _, b := range blocks(t, d, c.Len()) {
			c.Add(b)
		}
	case "edit":
		c.SetForm(num("at"), prompt.FormCleared, int32(num("tokens")), cause(t, d))
	case "replace":
		from := num("from")
		var refs []prompt.Ref
		for _, b := range blocks(t, d, from) {
			refs = append(refs, c.arena.Add(b))
		}
		c.Replace(from, num("to"), refs, cause(t, d))
	case "truncate":
		c.Truncate(num("n"), prompt.CauseRewind)
	case "key":
		var value string
		d.ScanArgs(t, "value", &value)
		c.SetKey(prompt.Level(num("level")), prompt.DigestString(value))
	}
	return fmt.Sprintf("%d blocks, %d tokens", c.Len(), c.Tokens())
}

func cause(t *testing.T, d *datadriven.TestData) prompt.EditCause {
	name := "edit"
	d.MaybeScanArgs(t, "cause", &name)
	i := slices.Index([]string{"none", "edit", "compaction", "rewind", "head"}, name)
	if i < 0 {
		d.Fatalf(t, "unknown cause %q", name)
	}
	return prompt.EditCause(i)
}

// blocks parses "kind tokens [xN] [tag]" lines; content follows from the line
// and the position the block will have.
func blocks(t *testing.T, d *datadriven.TestData, at int) []prompt.Block {
	var out []prompt.Block
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if len(f) < 2 {
			d.Fatalf(t, "block %q: want kind and tokens", line)
		}
		tokens, err := strconv.Atoi(f[1])
		if err != nil {
			d.Fatalf(t, "block %q: %v", line, err)
		}
		n, tag := 1, ""
		for _, w := range f[2:] {
			if k, err := strconv.Atoi(strings.TrimPrefix(w, "x")); err == nil {
				n = k
			} else {
				tag = w
			}
		}
		for range n {
			out = append(out, prompt.Block{
				Kind: kindNamed(t, d, f[0]), Tokens: int32(tokens),
				Digest: prompt.DigestString(fmt.Sprint(f[0], tokens, tag, at+len(out))),
			})
		}
	}
	return out
}

func kindNamed(t *testing.T, d *datadriven.TestData, name string) prompt.Kind {
	for k := range prompt.Kind(prompt.NumKinds) {
		if k.String() == name {
			return k
		}
	}
	d.Fatalf(t, "unknown kind %q", name)
	return 0
}

func (s *script) request(t *testing.T, d *datadriven.TestData) exchange.Request {
	c := s.contexts[d.CmdArgs[0].Key]
	if c == nil {
		d.Fatalf(t, "unknown context %q", d.CmdArgs[0].Key)
	}
	r := exchange.Request{MinTokens: 1, Entries: c.Seal(), Change: c.MarkSent(), Draw: 1 << 63}
	for arg, p := range map[string]*uint32{"thread": &r.Thread, "model": &r.Model, "owner": &r.Owner} {
		if d.HasArg(arg) {
			var n uint64
			d.ScanArgs(t, arg, &n)
			*p = uint32(n)
		}
	}
	if d.HasArg("min") {
		var n int
		d.ScanArgs(t, "min", &n)
		r.MinTokens = int32(n)
	}
	if d.HasArg("draw") {
		d.ScanArgs(t, "draw", &r.Draw)
	}
	for _, v := range values(d, "markers") {
		f := strings.Split(v, ":")
		m := exchange.Marker{Position: int32(len(r.Entries) - 1)}
		if f[0] != "last" {
			m.Position = int32(atoi(t, d, f[0]))
		}
		if slices.Contains(f, "1h") {
			m.TTL = exchange.TTL1h
		}
		if slices.Contains(f, "global") {
			m.Scope = exchange.ScopeGlobal
		}
		r.Markers = append(r.Markers, m)
	}
	for _, v := range values(d, "del") {
		pos, n, _ := strings.Cut(v, ":")
		r.Deletions = append(r.Deletions, exchange.Deletion{Position: int32(atoi(t, d, pos)), Tokens: int32(atoi(t, d, n))})
	}
	return r
}

func values(d *datadriven.TestData, arg string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == arg && !slices.Equal(a.Vals, []string{""}) {
			return a.Vals
		}
	}
	return nil
}

func atoi(t *testing.T, d *datadriven.TestData, v string) int {
	n, err := strconv.Atoi(v)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

func duration(t *testing.T, d *datadriven.TestData, arg string) int64 {
	var v string
	d.ScanArgs(t, arg, &v)
	n, err := time.ParseDuration(v)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return int64(n)
}

func describe(r *exchange.Request, o *exchange.Outcome, ticket bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "read %d", o.Usage.Read)
	for _, p := range []struct {
		name string
		n    int64
	}{{"5m", o.Usage.Write5m}, {"1h", o.Usage.Write1h}, {"written", o.Usage.WriteOther}, {"plain", o.Usage.Uncached}} {
		if p.n != 0 {
			fmt.Fprintf(&b, ", %s %d", p.name, p.n)
		}
	}
	if o.HitAt >= 0 {
		fmt.Fprintf(&b, "; hit @%d", o.HitAt)
	}
	if o.Expected > 0 {
		fmt.Fprintf(&b, "; expected %d", o.Expected)
	}
	if o.Miss != exchange.MissNone {
		fmt.Fprintf(&b, ", miss: %s", o.Miss)
	}
	if o.Deleted > 0 {
		fmt.Fprintf(&b, "; deleted %d", o.Deleted)
	}
	if ticket {
		fmt.Fprintf(&b, "; ticket %d", o.Ticket)
	}
	return b.String()
}
