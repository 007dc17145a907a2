package promptcache_test

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// What has expired is released: a day of 2,000 conversations of 20 calls sends
// 184,000 positions. One conversation begins every 43.2 s and its positions, 92 at
// the end, live until 3,980 s later, so at most 93 conversations have at most 8,556
// at any time. The table is swept when it is half full and grows when the sweep
// leaves a quarter: less than four times as many are stored, the entries of the next request
// included.
func TestOpenAIKeepsWhatLives(t *testing.T) {
	const sessions, calls, most = 2000, 20, 4 * (8556 + 92)
	s := newSession(calls)
	o := promptcache.NewOpenAI(promptcache.OpenAIConfig{})
	gap, stored := 86400*second/int64(sessions), 0
	for now := int64(0); now < 86400*second+calls*20*second; now += gap {
		for k := range int64(calls) {
			i := (now - k*20*second) / gap
			if now < k*20*second || i >= sessions {
				continue
			}
			r := exchange.Request{Thread: uint32(i), Owner: uint32(i), Entries: s.entries[:s.ends[k]], Change: prompt.NoChange}
			out := o.Begin(now, &r)
			o.FirstToken(now, out.Ticket)
			o.End(now, out.Ticket, 0)
		}
		stored = max(stored, o.Nodes())
	}
	if stored < 128 || stored > most {
		t.Errorf("%d positions are stored at most, want 128 to %d", stored, most)
	}
	o.Sweep(48 * 3600 * second)
	if o.Nodes() != 0 || o.Runs() != 0 {
		t.Errorf("%d positions and %d runs stay when all have expired", o.Nodes(), o.Runs())
	}
}

// A conversation that has sent its last request leaves no record, however many
// there are: each of these deletes twice in two requests, so that what its
// deletions come to is remembered between them.
func TestLastRequestsLeaveNoRecord(t *testing.T) {
	s := newSession(2)
	a, o := promptcache.New(promptcache.Config{}), promptcache.NewOpenAI(promptcache.OpenAIConfig{})
	for i := range uint32(1000) {
		for call := range 2 {
			r := exchange.Request{
				Thread: 1<<31 | i, MinTokens: 1024, Entries: s.entries[:s.ends[call]], Change: prompt.NoChange, Last: call == 1,
				Markers:   []exchange.Marker{{Position: 1}, {Position: int32(s.ends[call] - 1)}},
				Deletions: []exchange.Deletion{{Position: 2, Tokens: 300}},
			}
			now := int64(2*i) + int64(call)
			for _, server := range []interface {
				Begin(int64, *exchange.Request) exchange.Outcome
				FirstToken(int64, int32)
				End(int64, int32, int64)
			}{a, o} {
				out := server.Begin(now, &r)
				if call == 0 && out.Expected != 0 || call == 1 && out.Expected == 0 {
					t.Fatalf("call %d of conversation %d expects %d tokens of the cache", call, i, out.Expected)
				}
				server.FirstToken(now, out.Ticket)
				server.End(now, out.Ticket, 0)
			}
		}
	}
	if a.Threads() != 1 || o.Threads() != 1 {
		t.Errorf("1,000 conversations one after the other leave %d and %d records, want 1", a.Threads(), o.Threads())
	}
}
