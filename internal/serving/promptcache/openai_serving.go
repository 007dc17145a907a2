package promptcache

import (
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// The ways in which recorded requests to automatic caches were served. The documents name
// steps of 128 tokens for all of OpenAI's.
var (
	// servedPlain is what the documents say: gpt-5.3-codex reads at every 128
	// tokens.
	servedPlain = prompt.Serving{Step: openAIStep}
	// servedReplies: gpt-5.4 through client 0.119 reads 51 to 178 tokens short of
	// the last request and its response.
	servedReplies = prompt.Serving{Step: openAIStep, Lag: 51, Replies: true, Retention: int64(10 * time.Minute)}
	// served512: all recorded reads of gpt-5.5, and of gpt-5.4 from client 0.140
	// on, are 384 modulo 512 and, losses aside, the last such point.
	served512 = prompt.Serving{Step: 512, Offset: 384, Retention: openAILongest}
	// served1024: all recorded reads of gpt-5.6-sol are 768 modulo 1,024 and lie
	// 117 to 1,138 tokens in front of the end of the shared prefix.
	served1024 = prompt.Serving{Step: 1024, Offset: 768, Lag: 116, Retention: openAILongest}
	// servedWhole: DeepSeek keeps prefixes that end with a request and those that end with
	// its response (api-docs.deepseek.com, context caching), and for hours: 295 of 296
	// recorded reads are the last multiple of 128 tokens of the previous request and response.
	servedWhole = prompt.Serving{Step: openAIStep, Replies: true, Retention: deepSeekRetention}
)

// deepSeekRetention is how long DeepSeek keeps a prefix: the documents say hours to days.
const deepSeekRetention = int64(24 * time.Hour)

// NumServings is the number of ways in which recorded requests were served.
const NumServings = 5

// Servings returns the ways in which recorded requests were served.
func Servings() [NumServings]prompt.Serving {
	return [...]prompt.Serving{servedPlain, servedReplies, served512, served1024, servedWhole}
}

// ServingOf returns how recorded requests of a model were served. A model later than any
// recorded one of its family is served like the newest.
func ServingOf(model string) prompt.Serving {
	if strings.Contains(model, "deepseek") {
		return servedWhole
	}
	rest, ok := strings.CutPrefix(model, "gpt-5.")
	if !ok {
		return servedPlain
	}
	digits, _, _ := strings.Cut(rest, "-")
	switch minor, err := strconv.Atoi(digits); {
	case err != nil || minor < 4:
		return servedPlain
	case minor < 6:
		return served512
	}
	return served1024
}

// serving returns how a request is served, given what is known of its model and
// what it says itself, and remembers the longest retention.
func (o *OpenAI) serving(model, own prompt.Serving) prompt.Serving {
	switch {
	case own.Step > 0:
		model = own
	case model.Step <= 0:
		model = servedPlain
	}
	if model.Retention <= 0 {
		model.Retention = o.cfg.Retention
	}
	o.longestLife = max(o.longestLife, model.Retention)
	return model
}

// replied returns the last position that is read where responses are cached: the
// response to the thread's last request, as far as it is sent as it came, if all of that request is there.
func (th *openAIThread) replied(r *prompt.Request, hit int) int {
	if !th.left || hit != int(th.pos) || r.Entries[hit].Chain != th.chain {
		return hit
	}
	for hit+1 < len(r.Entries) && r.Entries[hit+1].Kind.Assistant() && r.Entries[hit+1].Form == prompt.FormVerbatim {
		hit++
	}
	return hit
}
