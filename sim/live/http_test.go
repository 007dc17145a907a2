package live

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

// serve starts a server with faults and returns what calls it, with four
// attempts a call.
func serve(t *testing.T, faults ...string) (*testServer, Backend) {
	t.Helper()
	c := Config{Settings: Settings{Attempts: 4, Timeout: time.Minute}}
	for _, text := range faults {
		if strings.HasPrefix(text, "loris") || strings.HasPrefix(text, "stall") {
			c.Timeout = time.Second // these alone are waited out
		}
	}
	server := startServer(t, faults...)
	c.Key, c.BaseURL = NewSecret("dev-test"), server.URL
	c.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	client, err := NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

// folder opens recorded calls or ends the test.
func folder(t *testing.T, dir string, m Mode) *Folder {
	t.Helper()
	f, err := OpenFolder(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// long is a conversation above the smallest threshold of the provider's own
// compaction.
func long(id string) *script {
	s := newScript(id)
	s.say(prompt.KindPrompt, "Please look at everything in the source folder of "+id+".")
	for n := range 20 {
		call := s.use(2, fmt.Sprintf(`{"command":"cat /src/%s/file%d.go"}`, id, n))
		s.result(call, strings.Repeat(fmt.Sprintf("line of /src/%s/file%d.go that says little\n", id, n), 250))
	}
	return s.fill()
}

// What is composed in each way is answered over HTTP, and the answer has its
// sections and sizes.
func TestOverHTTP(t *testing.T) {
	for way, own := range map[string]bool{"fork": false, "streaming": true} {
		server, web := serve(t)
		s := long("alpha")
		call := s.call()
		call.Intent.Way, call.Intent.Own = way, own
		l := newLive(t, Options{Backend: web, Texts: library(s)})
		a := compose(t, l, call)
		if a.Failed != "" || a.Summary < 150 || a.Output < a.Summary || a.Measured.Missing != 0 || a.Measured.Usage.Input() < 50_000 {
			t.Errorf("%s: answer %+v measured %+v", way, a, a.Measured)
		}
		if n, _ := server.Count(); n != 1 {
			t.Errorf("%s: %d requests", way, n)
		}
	}
}

// What passes is overcome by asking again; what does not, a layer hears of; what
// stops the run is an error. Nothing is asked again without need.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault    string
		failed   string
		requests int
		excess   bool
		stops    bool
	}{
		{"429:0.01@1", "", 2, false, false},
		{"529@1,2", "", 3, false, false},
		{"500@1", "", 2, false, false},
		{"reset@1", "", 2, false, false},
		{"cut@1", "", 2, false, false},
		{"loris@1", "", 2, false, false},
		{"stall@1", "", 2, false, false},
		{"error-answer@1", "", 2, false, false},
		{"529", ask.FailAPI, 4, false, false},
		{"400", ask.FailAPI, 1, false, false},
		{"429:3600", ask.FailAPI, 1, false, false},
		{"too-long", ask.FailTooLong, 1, true, false},
		{"empty", ask.FailEmpty, 1, false, false},
		{"refusal", ask.FailEmpty, 1, false, false},
		{"401", "", 1, false, true},
		{"404", "", 1, false, true},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			server, web := serve(t, c.fault)
			s := conversation("alpha")
			dir := t.TempDir()
			l := newLive(t, Options{Backend: web, Texts: library(s), Calls: folder(t, dir, Make)})
			a, err := l.Compose(t.Context(), s.call())
			if n, _ := server.Count(); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if c.stops {
				if files, _ := filepath.Glob(filepath.Join(dir, "*")); err == nil || len(files) > 0 {
					t.Errorf("the run goes on with %+v, or records %v", a, files)
				}
				return
			}
			if err != nil || a.Failed != c.failed || (a.Excess > 0) != c.excess {
				t.Fatalf("answer %+v, %v; want the failure %q", a, err, c.failed)
			}
			if c.failed == "" && int(a.Measured.Attempts) != c.requests {
				t.Errorf("%d attempts measured, want %d", a.Measured.Attempts, c.requests)
			}
			again := newLive(t, Options{Texts: library(conversation("alpha")), Calls: folder(t, dir, Replay)})
			if d := cmp.Diff(a, compose(t, again, conversation("alpha").call())); d != "" {
				t.Errorf("the replay answers otherwise (-made +replayed):\n%s", d)
			}
		})
	}
}

// A prompt that the server refuses is repeated without its oldest messages, as
// the layer asks, and fits then.
func TestTooLongRetry(t *testing.T) {
	_, web := serve(t, "too-long@1") // by half its length
	s := long("alpha")
	l := newLive(t, Options{Backend: web, Texts: library(s), Settings: Settings{MaxOutput: 1000}})
	a := compose(t, l, s.call())
	if a.Failed != ask.FailTooLong || a.Excess < 10_000 {
		t.Fatalf("answer %+v, want a prompt too long by some ten thousand tokens", a)
	}
	from, drop := s.context.Messages(), int64(0)
	to := from + 1
	for ; drop < a.Excess+2000; to++ {
		drop += int64(s.context.At(to).Tokens)
	}
	s.context.Truncate(s.context.Len()-1, prompt.CauseNone)
	lead := s.arena.Add(prompt.Block{Kind: prompt.KindPrompt, Tokens: 12, Object: -1, Flags: prompt.FlagMeta})
	s.context.Replace(from, to, []prompt.Ref{lead}, prompt.CauseNone)
	c := s.call()
	c.Intent.Lead, c.Intent.Ordinal = 12, 1
	if a = compose(t, l, c); a.Failed != "" {
		t.Errorf("the shorter call fails: %+v", a)
	}
}

// chain compacts a session so many times, each time into the summary of the call.
func chain(l *Summarizer, s *script, calls int) ([]prompt.Answer, error) {
	var list []prompt.Answer
	for range calls {
		a, err := l.Compose(context.Background(), s.call())
		if err != nil {
			return nil, err
		}
		list = append(list, a)
		s.compactInto(&a)
	}
	return list, nil
}

// runMany compacts so many sessions at the same time, three times each.
func runMany(t *testing.T, sessions int, o Options) [][]prompt.Answer {
	t.Helper()
	o.Texts = func(_ context.Context, s *traces.Session) (Texts, error) {
		return fakeTexts{conversation(s.ID)}, nil
	}
	l := newLive(t, o)
	answers := make([][]prompt.Answer, sessions)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			list, err := chain(l, conversation(fmt.Sprint("session", i)), 3)
			if err != nil {
				t.Error(err)
			}
			answers[i] = list
		})
	}
	wg.Wait()
	return answers
}

// A hundred sessions at the same time, some answers failing for the moment:
// every call is made once, and a replay gives the same answers.
func TestManySessions(t *testing.T) {
	const sessions = 100
	server, web := serve(t, "529@5,15,25")
	dir := t.TempDir()
	made := runMany(t, sessions, Options{Backend: web, Calls: folder(t, dir, Make)})
	if n, _ := server.Count(); n != sessions*3+3 {
		t.Errorf("%d requests, want one a call and three repeated", n)
	}
	replayed := runMany(t, sessions, Options{Calls: folder(t, dir, Replay)})
	if d := cmp.Diff(made, replayed); d != "" {
		t.Errorf("the replay answers otherwise (-made +replayed):\n%s", cut(d, 2000))
	}
	for i := range made {
		for n, a := range made[i] {
			if a.Failed != "" || a.Measured.Missing != 0 {
				t.Fatalf("session %d call %d: %+v %+v", i, n, a, a.Measured)
			}
		}
	}
}

// Words of the conversation reach the summary of a chain through the summaries
// between.
func TestChainOverHTTP(t *testing.T) {
	_, web := serve(t)
	dir := t.TempDir()
	s := newScript("alpha")
	s.say(prompt.KindPrompt, "Keep the canary /src/canary.go in sight.")
	s.fill()
	l := newLive(t, Options{Backend: web, Texts: library(s), Calls: folder(t, dir, Make)})
	list, err := chain(l, s, 3)
	if err != nil {
		t.Fatal(err)
	}
	if last, _ := l.memory.find(list[2].Digest); !strings.Contains(last.text, "/src/canary.go") {
		t.Errorf("the words of the first message have not reached the third summary: %q", cut(last.text, 300))
	}
	if lost := l.opts.Shared.Report().Composed.Lost; lost != 0 {
		t.Errorf("%d summaries without their words went out", lost)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 3 {
		t.Errorf("%d records, %v; want 3", len(files), err)
	}
}

// Who interrupts keeps what was answered: a second run asks only for the rest.
func TestInterruptOverHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server, web := serve(t, "stall@2")
	go func() { // the second request is at the server when its caller goes
		for n := 0; n < 2 && ctx.Err() == nil; n, _ = server.Count() {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	dir := t.TempDir()
	s := conversation("alpha")
	l := newLive(t, Options{Backend: web, Texts: library(s), Calls: folder(t, dir, Make)})
	a, err := l.Compose(ctx, s.call())
	if err != nil {
		t.Fatal(err)
	}
	s.compactInto(&a)
	_, err = l.Compose(ctx, s.call())
	if err == nil || ctx.Err() == nil {
		t.Fatalf("the interrupted call ends with %v", err)
	}
	s = conversation("alpha")
	l = newLive(t, Options{Backend: web, Texts: library(s), Calls: folder(t, dir, Make)})
	if _, err := chain(l, s, 2); err != nil {
		t.Fatal(err)
	}
	n, _ := server.Count()
	if r := l.opts.Shared.Report(); r.Replayed != 1 || r.Made != 1 || n != 3 {
		t.Errorf("%d replayed, %d made, %d requests; want 1, 1 and 3 with the interrupted one", r.Replayed, r.Made, n)
	}
}

var _ summarizerLike = (*Summarizer)(nil)

// summarizerLike is what the loop asks for.
type summarizerLike interface {
	Compose(ctx context.Context, c *summarizer.Call) (prompt.Answer, error)
}
