package servers

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces/facts"
)

// Every file says what it describes, since when and how sure that is, and which known providers' models it has.
func TestFiles(t *testing.T) {
	list, err := All()
	if err != nil || len(list) < 12 {
		t.Fatalf("%d servers: %v", len(list), err)
	}
	known := map[string]bool{"anthropic": true, "openai": true, "deepseek": true, "google": true}
	for _, s := range list {
		if s.About == "" || s.Source == "" || len(s.AsOf) != len("2026-11") || !strings.Contains("recorded documented assumed", s.Certainty) {
			t.Errorf("%s: %+v lacks what it is, a source, a month or a certainty", s.Name, s)
		}
		for _, p := range s.Sells {
			if !known[p] {
				t.Errorf("%s sells models of %s, which is no provider", s.Name, p)
			}
		}
		if s.Cache() == facts.CacheAutomatic && s.Step < 1 {
			t.Errorf("%s: reads of a cache without markers end at steps", s.Name)
		}
		if err := s.Automatic(promptcache.OpenAIConfig{}).Validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if err := s.Kept().Validate(); s.Explicit && err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

func TestServes(t *testing.T) {
	for _, tt := range []struct {
		server, model string
		want          bool
	}{
		{"anthropic", "claude-opus-4-6", true}, {"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true},
		{"openai", "claude-opus-4-6", false}, {"openai", "gpt-5.5", true}, {"plain", "whatever", true},
	} {
		s, err := Of(tt.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Serves(tt.model); got != tt.want {
			t.Errorf("%s serves %s: %v", tt.server, tt.model, got)
		}
	}
	if _, err := Of("antropic"); err == nil || !strings.Contains(err.Error(), `did you mean "anthropic"?`) {
		t.Errorf("an unknown server: %v", err)
	}
}

// Ways of serving by hand: a read of gpt-5.5 in Codex ends at 384 modulo 512 as recorded, one at DeepSeek at a multiple of 128, one
// without limits anywhere; the lifetimes are the files'.
func TestServings(t *testing.T) {
	for name, tt := range map[string]struct {
		read    int64
		seconds int64
		model   string
	}{
		"openai": {9600, 3600, ""}, "openai-24h": {9600, 86_400, ""}, "openai-30m": {9984, 1800, ""},
		"deepseek": {9984, 86_400, "deepseek-v4-pro"}, "plain": {10_000, 315_360_000, ""},
	} {
		s, err := Of(name)
		if err != nil {
			t.Fatal(err)
		}
		way := s.ServingOf(Caller{Agent: "codex"}, cmp.Or(tt.model, "gpt-5.5"))
		if got := way.Floor(10_000, int64(s.Minimum)); got != tt.read || way.Retention != tt.seconds*1e9 {
			t.Errorf("%s reads %d of 10,000 tokens for %d s, want %d for %d", name, got, way.Retention/1e9, tt.read, tt.seconds)
		}
	}
}

var update = flag.Bool("update", false, "write the table of servers into docs/servers.md")

// The table of docs/servers.md is what the files say.
func TestDocument(t *testing.T) {
	const file, head = "../../docs/servers.md", "| server | what it is | models | shortest prefix | reads end at | kept for | writes billed | certainty, source |\n|---|---|---|---:|---|---|---|---|\n"
	list, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(head)
	for _, s := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s, %s: %s |\n", s.Name, s.About, cmp.Or(strings.Join(s.Sells, ", "), "any"), shortest(s), ends(s), kept(s),
			map[bool]string{true: "yes", false: "no"}[s.Writes], s.Certainty, s.AsOf, s.Source)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatalf("%s has no table of servers", file)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + b.String() + "\n" + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s differs from the files; go test ./sim/servers -update writes it", file)
	}
}

func shortest(s *Server) string {
	if s.Minimum == 0 {
		return "the model's"
	}
	return strconv.Itoa(int(s.Minimum))
}

func ends(s *Server) string {
	switch {
	case s.Markers && s.EveryBlockCounts:
		return "markers, each block a position"
	case s.Markers:
		return "markers"
	case s.Explicit:
		return fmt.Sprintf("caches that the client makes, another after %d tokens", s.Renew)
	case s.Recorded:
		return "steps of the model, as recorded"
	case s.Replies && s.Step == 1:
		return "any token, of responses too"
	case s.Replies:
		return fmt.Sprintf("multiples of %d tokens, of responses too", s.Step)
	}
	return fmt.Sprintf("multiples of %d tokens", s.Step)
}

func kept(s *Server) string {
	switch {
	case s.Markers:
		return "5 minutes, or an hour"
	case s.Lifetime == 0:
		return "the model's, as recorded"
	case s.Lifetime > 1000*time.Hour:
		return "ever"
	}
	if s.Lifetime < time.Hour {
		return fmt.Sprintf("%g minutes", s.Lifetime.Minutes())
	}
	if s.Explicit {
		return fmt.Sprintf("%g hours, paid by the hour", s.Lifetime.Hours())
	}
	return fmt.Sprintf("%g hours", s.Lifetime.Hours())
}
