package profile

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// kept says what the documents promise of a provider's reads: the shortest, tokens, and the steps in which they come.
type kept struct{ least, step int64 }

// documented are the promises by provider (platform.claude.com, developers.openai.com, api-docs.deepseek.com and ai.google.dev, pages on
// caching): Anthropic's is the shortest of its models. Every recorded read that a server gave keeps them, about 13,000 of other agents'
// and Claude Code's.
var documented = map[string]kept{"anthropic": {512, 1}, "openai": {1024, 128}, "deepseek": {64, 64}, "google": {1024, 1}}

// Invented says why counts of a session cannot come from a server; "" if they may: test data that somebody wrote by hand looks like a
// recording, and tells nothing of a cache.
func Invented(s *traces.Session) string {
	for i := range s.Threads {
		for r := range s.Threads[i].Rounds {
			rd := &s.Threads[i].Rounds[r]
			provider := promptcache.ProviderOf(s.Models[rd.Model])
			is, known := documented[provider]
			if !known || rd.Usage.Read == 0 {
				continue
			}
			if rd.Flags&traces.RoundSpread != 0 {
				is.step = 1
			}
			switch read := rd.Usage.Read; {
			case read < is.least:
				return fmt.Sprintf("not from a server: line %d reads %d tokens, fewer than the %d that a cache of %s keeps", rd.Line, read, is.least, provider)
			case read%is.step != 0:
				return fmt.Sprintf("not from a server: line %d reads %d tokens, where a cache of %s reads multiples of %d", rd.Line, read, provider, is.step)
			}
		}
	}
	return ""
}
