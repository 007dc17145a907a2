package devserver_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/live/devserver"
)

const (
	small = "claude-opus-5"     // caches from 512 tokens on
	large = "claude-sonnet-4-5" // from 1,024
)

// want checks read, writes of both lifetimes and uncached tokens.
func (r reply) want(t *testing.T, what string, read, short, hour, uncached int64) {
	t.Helper()
	u := r.Usage
	if u.Read != read || u.Split.Short != short || u.Split.Hour != hour || u.Input != uncached || u.Write != short+hour {
		t.Errorf("%s: read %d, written %d and %d (%d), uncached %d; want %d, %d, %d, %d",
			what, u.Read, u.Split.Short, u.Split.Hour, u.Write, u.Input, read, short, hour, uncached)
	}
}

// blocks writes n blocks of 100 tokens, with breakpoints at some.
func blocks(n int, marked ...int) []string {
	var list []string
	for i := 1; i <= n; i++ {
		marker := ""
		for _, m := range marked {
			if m == i {
				marker = "5m"
			}
		}
		list = append(list, block(fmt.Sprintf("b%d", i), 102, marker))
	}
	return list
}

// The documentation's example of looking back: 10 blocks, then 15, then 35. From
// the 35th the 16th is the last position that is looked at, so nothing is read;
// a second breakpoint at the 15th finds what was written there.
func TestLookBack(t *testing.T) {
	s := serve(t, devserver.Options{})
	s.ask(user(small, blocks(10, 10)...)).want(t, "10 blocks", 0, 1020, 0, 0)
	s.ask(user(small, blocks(15, 15)...)).want(t, "15 blocks", 1020, 510, 0, 0)
	s.ask(user(small, blocks(35, 35)...)).want(t, "35 blocks", 0, 3570, 0, 0)
	s = serve(t, devserver.Options{})
	s.ask(user(small, blocks(15, 15)...))
	s.ask(user(small, blocks(34, 34)...)).want(t, "20 positions, the breakpoint being the first", 1530, 1938, 0, 0)
	s = serve(t, devserver.Options{})
	s.ask(user(small, blocks(15, 15)...))
	s.ask(user(small, blocks(35, 15, 35)...)).want(t, "35 blocks with two breakpoints", 1530, 2040, 0, 0)
}

// Runs of tool calls and of results are one position each.
func TestRunsAreOnePosition(t *testing.T) {
	s := serve(t, devserver.Options{})
	head := block("head", 600, "5m")
	var uses, results []string
	for i := range 30 {
		uses = append(uses, fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Read","input":{}}`, i))
		results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"t%d","content":"ok"}`, i))
	}
	s.ask(user(small, head))
	body := `{"model":"` + small + `","max_tokens":50,"messages":[{"role":"user","content":[` + strings.Replace(head, "cache_control", "x", 1) + `]},` +
		`{"role":"assistant","content":[` + strings.Join(uses, ",") + `]},{"role":"user","content":[` + strings.Join(append(results, block("go on", 10, "5m")), ",") + `]}]}`
	body = strings.Replace(body, `,"x":{"type":"ephemeral","ttl":"5m"}`, "", 1)
	if r := s.ask(body); r.Usage.Read != 600 {
		t.Errorf("60 blocks behind the last entry, in two runs: read %d, want 600", r.Usage.Read)
	}
}

// Tokens up to the last 1h breakpoint behind what is read are written for an
// hour, those up to the last breakpoint for five minutes.
func TestMixedLifetimes(t *testing.T) {
	s := serve(t, devserver.Options{})
	body := user(small, block("a", 600, "1h"), block("b", 300, "1h"), block("c", 150, "5m"), block("d", 90, ""))
	s.ask(body).want(t, "first", 0, 150, 900, 90)
	s.ask(body).want(t, "second", 1050, 0, 0, 90)
	s.clock.pass(6 * time.Minute)
	s.ask(body).want(t, "after six minutes", 900, 150, 0, 90)
	s.clock.pass(59 * time.Minute)
	s.ask(body).want(t, "after an hour less five minutes since the last use", 900, 150, 0, 90)
	s.clock.pass(time.Hour)
	s.ask(body).want(t, "after an hour", 0, 150, 900, 90)
}

// Entries live for five minutes from their last use; reading a longer prefix is
// a use of all that it goes through.
func TestLifetime(t *testing.T) {
	s := serve(t, devserver.Options{})
	short, longer := user(small, blocks(10, 10)...), user(small, blocks(12, 12)...)
	s.ask(short)
	s.clock.pass(4*time.Minute + 59*time.Second)
	s.ask(longer).want(t, "just in time", 1020, 204, 0, 0)
	s.clock.pass(4*time.Minute + 59*time.Second)
	s.ask(longer).want(t, "refreshed by the write", 1224, 0, 0, 0)
	s.clock.pass(4*time.Minute + 59*time.Second)
	s.ask(short).want(t, "refreshed by reading what follows", 1020, 0, 0, 0)
	s.clock.pass(5 * time.Minute)
	s.ask(short).want(t, "expired", 0, 1020, 0, 0)
}

// Prompts below the model's minimum are neither written nor read, without an
// error.
func TestMinimum(t *testing.T) {
	s := serve(t, devserver.Options{})
	for range 2 {
		s.ask(user(large, block("a", 1020, "5m"))).want(t, "below", 0, 0, 0, 1020)
	}
	s.ask(user(small, block("a", 1020, "5m"))).want(t, "enough for another model", 0, 1020, 0, 0)
	s.ask(user(large, block("a", 1024, "5m"))).want(t, "enough", 0, 1024, 0, 0)
}

// Organisations share nothing, nor do models; keys of one organisation share.
func TestIsolation(t *testing.T) {
	s := serve(t, devserver.Options{})
	body := user(small, blocks(10, 10)...)
	s.ask(body, "X-Api-Key", "dev-acme-1")
	s.ask(body, "X-Api-Key", "dev-acme-2").want(t, "the same organisation", 1020, 0, 0, 0)
	s.ask(body, "X-Api-Key", "dev-other-1").want(t, "another organisation", 0, 1020, 0, 0)
	s.ask(user("claude-opus-5-5", blocks(10, 10)...), "X-Api-Key", "dev-acme-1").want(t, "another model", 0, 1020, 0, 0)
}

// A change of tools invalidates everything, one of the system prompt what
// follows it, tool_choice the messages only.
func TestLevels(t *testing.T) {
	body := func(tool, system, extra string) string {
		return `{"model":"` + small + `","max_tokens":50,` + extra +
			`"tools":[{"name":"` + tool + `","description":"` + strings.Repeat("d", 2000) + `","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
			`"system":[` + block(system, 600, "5m") + `],"messages":[{"role":"user","content":[` + block("hello", 300, "5m") + `]}]}`
	}
	s := serve(t, devserver.Options{})
	whole := s.ask(body("Read", "sys", "")).Usage.Write
	tools := whole - 900
	s.ask(body("Read", "sys", "")).want(t, "unchanged", whole, 0, 0, 0)
	s.ask(body("Read", "sys", `"tool_choice":{"type":"none"},`)).want(t, "tool_choice", tools+600, 300, 0, 0)
	s.ask(body("Read", "other", "")).want(t, "another system prompt", tools, 900, 0, 0)
	s.ask(body("Edit", "sys", "")).want(t, "another tool", 0, whole, 0, 0)
}

// An entry can be read once the response that writes it has begun: of calls that
// are under way together each writes for itself.
func TestNotYetReadable(t *testing.T) {
	const together = 4
	var arrived sync.WaitGroup
	arrived.Add(together)
	var asked atomic.Int64
	s := serve(t, devserver.Options{Latency: 500 * time.Millisecond, Now: func() time.Time {
		if asked.Add(1) <= together {
			arrived.Done()
			arrived.Wait()
		}
		return time.Now()
	}})
	body := user(small, blocks(10, 10)...)
	var wg sync.WaitGroup
	for range together {
		wg.Go(func() {
			if _, _, text := s.post("/v1/messages", body); !strings.Contains(text, `"cache_creation_input_tokens":1020`) {
				t.Errorf("a call at the same time: %s", text)
			}
		})
	}
	wg.Wait()
	s.ask(body).want(t, "afterwards", 1020, 0, 0, 0)
}

// A request that is refused writes nothing.
func TestRefusedWritesNothing(t *testing.T) {
	s := serve(t, devserver.Options{}, "529@1")
	body := user(small, blocks(10, 10)...)
	s.post("/v1/messages", body)
	s.ask(body).want(t, "the call after it", 0, 1020, 0, 0)
}

// Chat completions read a prefix of at least 1,024 tokens in steps of 128.
func TestChatCache(t *testing.T) {
	s := serve(t, devserver.Options{})
	ask := func(text string) string {
		_, _, body := s.post("/v1/chat/completions", `{"model":"gpt-5","messages":[{"role":"system","content":"`+strings.Repeat("s", 5000)+`"},{"role":"user","content":"`+text+`"}]}`)
		_, cached, _ := strings.Cut(body, `"cached_tokens":`)
		return strings.SplitN(cached, "}", 2)[0]
	}
	// 5,000 bytes are 1,500 tokens: eleven steps of 128 fit, and one of 1,536
	// reaches into what differs.
	if got := ask(strings.Repeat("one ", 200)); got != "0" {
		t.Errorf("first: %s cached", got)
	}
	if got := ask(strings.Repeat("two ", 200)); got != "1408" {
		t.Errorf("second: %s cached, want 1408", got)
	}
	s.clock.pass(5 * time.Minute)
	if got := ask(strings.Repeat("two ", 200)); got != "0" {
		t.Errorf("after five minutes: %s cached", got)
	}
}
