package promptcache

import (
	"fmt"
	"strings"
	"time"
)

// Defaults of OpenAIConfig (platform.openai.com, prompt caching).
const (
	// OpenAIMinTokens is the shortest prefix that is read.
	OpenAIMinTokens = 1024
	// OpenAIStep is the documented increment of a read, tokens.
	OpenAIStep = 128
	// OpenAIRetention is how long an idle prefix is kept: the documents say 5 to
	// 10 minutes and at most an hour. Where a prompt of a person came 5 to 10
	// minutes after the last response, 10 of 11 recorded gpt-5.5 calls and 3 of 3
	// of gpt-5.6-sol still read what was left of their prefix; after 10 to 60
	// minutes 5 of 11 and 1 of 1 did, after more than an hour none of 10.
	OpenAIRetention = int64(time.Hour)
)

// Grain is where a read may end: at the tokens Offset + n × Step in front of
// the end of the shared prefix by at least Lag.
type Grain struct {
	Step   int32 // tokens, at least 1
	Offset int32 // tokens, in [0, Step)
	Lag    int32 // tokens, not negative
}

// RecordedGrain returns the grain of a model as recorded sessions show it. The
// documents name 128 tokens for all. All 1,605 recorded reads of gpt-5.4 and 5.5
// are 384 modulo 512 and, misses aside, the last such point in the shared
// prefix; all 631 of gpt-5.6-sol are 768 modulo 1,024 and lie 117 to 1,138 in
// front of its end. gpt-5.3-codex reads at every 128.
func RecordedGrain(model string) Grain {
	switch {
	case strings.HasPrefix(model, "gpt-5.4"), strings.HasPrefix(model, "gpt-5.5"):
		return Grain{Step: 512, Offset: 384}
	case strings.HasPrefix(model, "gpt-5.6"):
		return Grain{Step: 1024, Offset: 768, Lag: 116}
	}
	return Grain{Step: OpenAIStep}
}

// floor returns the tokens that are read of a shared prefix.
func (g Grain) floor(shared, least int64) int64 {
	n := shared - int64(g.Lag) - int64(g.Offset)
	if shared < least || n < 0 {
		return 0
	}
	if read := n/int64(g.Step)*int64(g.Step) + int64(g.Offset); read >= least {
		return read
	}
	return 0
}

// OpenAIConfig is what the documents leave open and what one may want to vary.
// The zero value is the default.
type OpenAIConfig struct {
	// MinTokens is the shortest prefix that is read; 0 means OpenAIMinTokens. A
	// larger minimum of the request counts instead.
	MinTokens int32
	// Grain returns where reads of a model end; nil means RecordedGrain.
	Grain func(model string) Grain
	// Retention is how long a prefix lives after its last use, in nanoseconds; 0
	// means OpenAIRetention.
	Retention int64
	// Anchor is where the retention counts from.
	Anchor Anchor
	// BillWrites bills what a request does not read as written, on models with a
	// price for that (gpt-5.6 and later). By default it is plain input: recorded
	// clients do not log writes, so that what was billed knows none.
	BillWrites func(model string) bool
	// OverflowPerCall is the probability in [0,1] that a call is served by a
	// machine that holds no more of its prefix than tools and system, as the
	// documents say of more than about 15 requests a minute. The next call reads
	// again. It is decided by Request.Draw; the default is 0.
	OverflowPerCall float64
}

// Validate reports the first field that is out of its range.
func (c OpenAIConfig) Validate() error {
	switch {
	case c.MinTokens < 0:
		return fmt.Errorf("promptcache: minimum of %d tokens is negative", c.MinTokens)
	case c.Retention < 0:
		return fmt.Errorf("promptcache: negative retention %d", c.Retention)
	case c.Anchor > AnchorStart:
		return fmt.Errorf("promptcache: unknown retention anchor %d", c.Anchor)
	case !(c.OverflowPerCall >= 0 && c.OverflowPerCall <= 1):
		return fmt.Errorf("promptcache: overflow probability %v is not in [0,1]", c.OverflowPerCall)
	}
	return nil
}

// filled returns c with defaults in place of zeros.
func (c OpenAIConfig) filled() OpenAIConfig {
	if c.MinTokens <= 0 {
		c.MinTokens = OpenAIMinTokens
	}
	if c.Grain == nil {
		c.Grain = RecordedGrain
	}
	if c.Retention <= 0 {
		c.Retention = OpenAIRetention
	}
	if c.BillWrites == nil {
		c.BillWrites = func(string) bool { return false }
	}
	return c
}
