package claudecode

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
)

// chaos writes a transcript in which anything may follow anything: parents are
// any line, written or not, ids repeat, totals jump, lines change threads.
func chaos(r *rand.Rand, session string, calls map[string]bool) *script {
	s := newScript(session)
	pick := func(n int) bool { return r.IntN(n) == 0 }
	total := 10_000 + r.IntN(50_000)
	for range 5 + r.IntN(60) {
		switch r.IntN(6) {
		case 0:
			s.head = fmt.Sprintf("%s-%d", session, r.IntN(2*s.uuids+1))
		case 1:
			s.head = ""
		}
		s.agent = ""
		if pick(6) {
			s.agent = fmt.Sprint("a", r.IntN(3))
			if pick(2) {
				s.wrap = fmt.Sprint("t", r.IntN(10))
			}
		}
		tool := fmt.Sprint("t", r.IntN(10))
		switch r.IntN(9) {
		case 0, 1, 2:
			id := fmt.Sprint("m", r.IntN(30))
			calls[id] = true
			total += r.IntN(6000) - 1500
			usage := tokensOf(max(10, total))
			switch r.IntN(12) {
			case 0:
				usage = fields{"input_tokens": -1}
			case 1:
				usage["output_tokens"] = r.IntN(5000)
			case 2:
				usage["cache_read_input_tokens"] = 0
			}
			s.callUsage(id, usage, text(words(r.IntN(3000))), use(tool, "Task", fields{"prompt": words(r.IntN(50))}))
		case 3:
			s.prompt(words(r.IntN(4000)))
		case 4:
			s.result(tool, words(r.IntN(4000)))
		case 5:
			s.meta(words(100))
		case 6:
			s.system("turn_duration", nil)
		case 7:
			if pick(3) {
				s.compact("auto", total, words(r.IntN(9000)))
				total /= 3
			}
		case 8:
			s.system("microcompact_boundary", fields{"microcompactMetadata": fields{"compactedToolIds": []string{tool}}})
		}
		s.wrap = ""
		if pick(20) {
			s.raw("torn {")
		}
	}
	return s
}

// TestRandomTranscripts checks on transcripts without sense: recorded totals
// are reproduced, no call is lost or counted twice, and neither the number of
// workers nor of reads changes the result.
func TestRandomTranscripts(t *testing.T) {
	runs := 400
	if testing.Short() {
		runs = 50
	}
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		calls := map[string]bool{}
		files := fstest.MapFS{}
		for _, id := range []string{"A", "B"} {
			files[id+".jsonl"] = &fstest.MapFile{Data: chaos(r, id, calls).bytes()}
		}
		if len(calls) == 0 {
			continue
		}
		one, err := ReadFS(context.Background(), traces.Options{Workers: 1}, files)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkAll(t, fmt.Sprint("seed ", seed), one, calls)
		four, err := ReadFS(context.Background(), traces.Options{Workers: 4}, files)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(one.Sessions, four.Sessions) || !reflect.DeepEqual(one.Problems, four.Problems) {
			t.Fatalf("seed %d: another number of workers, another result", seed)
		}
	}
}

// checkAll checks every session, and that each call is in one round.
func checkAll(t *testing.T, what string, c *traces.Corpus, calls map[string]bool) {
	t.Helper()
	seen, logged := map[string]bool{}, map[string]bool{}
	for _, s := range c.Sessions {
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for i := range s.Threads {
			for _, r := range s.Threads[i].Rounds {
				if seen[r.ID] {
					t.Errorf("%s: call %s twice", what, r.ID)
				}
				seen[r.ID] = true
				logged[strings.Split(r.ID, "#")[0]] = true // different calls may have one id
			}
		}
	}
	for id := range calls {
		if !logged[id] {
			t.Errorf("%s: call %s is lost", what, id)
		}
	}
}

// FuzzRead reads any bytes as two files, parted at the first form feed.
func FuzzRead(f *testing.F) {
	for seed := range 20 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		calls := map[string]bool{}
		a, b := chaos(r, "A", calls), chaos(r, "B", calls)
		f.Add([]byte(strings.Join([]string{string(a.bytes()), string(b.bytes())}, "\f")))
	}
	f.Add(good().bytes())
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b, _ := strings.Cut(string(data), "\f")
		c, err := ReadFS(context.Background(), traces.Options{MaxLine: 1 << 16}, fstest.MapFS{"A.jsonl": {Data: []byte(a)}, "B.jsonl": {Data: []byte(b)}})
		if c == nil {
			t.Fatal(err)
		}
		checkAll(t, "fuzz", c, nil)
	})
}
