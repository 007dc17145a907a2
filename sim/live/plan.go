package live

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// Providers of real models.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai" // also servers with the same interface
)

// DefaultMaxOutput bounds a call without a limit of its own, tokens: the client's cap for summaries, of which 99.99 %
// take at most 17,387.
const DefaultMaxOutput = 20_000

// Settings configure real calls: the block live of a scenario.
type Settings struct {
	Provider string `yaml:"provider" enum:"anthropic,openai" doc:"anthropic, or openai for any server with chat completions (vLLM, llama.cpp)."`
	// Model replaces the session's model, under exactly this name. A strategy that
	// names its own model keeps it. Recorded names are sent without what a cloud
	// platform or the client adds to them.
	Model        string        `yaml:"model" doc:"Model to ask in place of the session's (\"\" for that), under exactly this name. A small model that a strategy names for itself stays."`
	Instructions string        `yaml:"instructions" doc:"What to ask of every summary besides."`
	MaxOutput    int           `yaml:"max_output" min:"1" doc:"Most tokens to ask for in an answer, where the strategy says nothing and the model allows it: the client's own cap for summaries."`
	Budget       float64       `yaml:"budget_usd" min:"0" doc:"Stop before real calls cost more; 0: no limit."`
	MaxCalls     int           `yaml:"max_calls" min:"0" doc:"Stop before more requests are sent; 0: no limit."`
	Concurrency  int           `yaml:"concurrency" min:"1" doc:"Calls at once."`
	Attempts     int           `yaml:"attempts" min:"1" max:"1000" doc:"Requests for one call before it counts as failed."`
	Timeout      time.Duration `yaml:"timeout" above:"0s" max:"24h" doc:"Longest time for one request."`
}

// DefaultSettings returns the settings of a scenario without a block live.
func DefaultSettings() Settings {
	return Settings{
		Provider: Anthropic, MaxOutput: DefaultMaxOutput, Concurrency: 4, Attempts: 4, Timeout: DefaultTimeout,
	}
}

// Words by which layers name calls and their ways.
const (
	sourceCompact = "compact"
	wayServer     = "server" // the provider's own compaction
)

// whyNotMade is why a call for the provider's own compaction fails.
const whyNotMade = "the provider's own compaction is not asked for in real calls"

// plan is what a call requests; it depends only on sizes.
type plan struct {
	part      ask.Part
	pivot     int // position of the first entry the summary replaces
	model     string
	maxOutput int // tokens of the answer
}

func (o *Options) plan(c *summarizer.Call) plan {
	in := c.Intent
	p := plan{model: askedName(o.Provider, c.Model), maxOutput: o.MaxOutput}
	if o.Model != "" && in.Model == "" {
		p.model = o.Model
	}
	if in.MaxOutput > 0 {
		p.maxOutput = int(in.MaxOutput)
	}
	p.maxOutput = o.bounded(p.maxOutput, p.model, c)
	if p.part = in.Part; p.part == ask.PartFrom {
		p.pivot = pivot(c)
	}
	return p
}

// leastOutput is the least output that a call requests, however small its window seems, tokens:
// sizes are estimates, and it is up to the server to refuse a prompt that is too long.
const leastOutput = 1024

// estimateError is the part of a prompt, one in 20, that a server may count beyond the estimate. Assumed.
const estimateError = 20

// bounded returns the output a call may request, tokens: what the model can answer and
// its window leaves. The window of a model that replaces the session's is unknown.
func (o *Options) bounded(output int, model string, c *summarizer.Call) int {
	if o.MaxOutputOf != nil {
		if most := o.MaxOutputOf(model); most > 0 {
			output = min(output, most)
		}
	}
	if model == askedName(o.Provider, c.Model) && c.Window > 0 {
		sent := int64(c.Context.Tokens())
		if rest := c.Window - sent - sent/estimateError; rest < int64(output) {
			output = max(int(rest), min(output, leastOutput))
		}
	}
	return output
}

var (
	platformPrefix = regexp.MustCompile(`^(?:arn:.*/)?(?:[a-z-]+\.)?anthropic\.`)
	platformSuffix = regexp.MustCompile(`-v[0-9]+(:[0-9]+k?)*$`)
	// claude-opus-4-6-fast, claude-sonnet-4.5:beta, claude-opus-4-5-thinking: how the call was made.
	serviceSuffix = regexp.MustCompile(`(?:(?::|-)(?:fast|priority|thinking|batch|free|beta|nitro|floor|online|extended|exacto))+$`)
	versionFirst  = regexp.MustCompile(`^claude-([4-9](?:-[0-9])?)-([a-z]+)$`)
	familyFirst   = regexp.MustCompile(`^claude-([a-z]+)-(3(?:-[0-9])?)$`)
)

// dated are the models whose names the provider's endpoint takes with their date alone, by family and version
// (platform.claude.com, models overview and deprecations, November 2026).
var dated = map[string]string{
	"claude-3-opus": "-20240229", "claude-3-sonnet": "-20240229", "claude-3-haiku": "-20240307",
	"claude-3-5-sonnet": "-20241022", "claude-3-5-haiku": "-20241022", "claude-3-7-sonnet": "-20250219",
	"claude-opus-4": "-20250514", "claude-sonnet-4": "-20250514",
}

// askedName returns a recorded name in the form of the provider's own endpoint:
// "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5@20251101" and
// "claude-opus-4-5[1m]" are names of platforms, of a window and of terms of service. For Anthropic it also
// takes off what gateways add ("anthropic/claude-opus-4.6:beta"), and adds the date where a name needs one;
// behind an interface like OpenAI's may stand that gateway, so there such a name stays.
func askedName(provider, recorded string) string {
	name, _, _ := strings.Cut(recorded, "[")
	if m := platformPrefix.FindString(name); m != "" {
		name = platformSuffix.ReplaceAllString(name[len(m):], "")
	}
	if at := strings.Index(name, "claude-"); at >= 0 && provider != OpenAI {
		name = strings.ReplaceAll(serviceSuffix.ReplaceAllString(name[at:], ""), ".", "-")
		name = versionFirst.ReplaceAllString(name, "claude-$2-$1")
		name = familyFirst.ReplaceAllString(name, "claude-$2-$1")
		name += dated[name]
	}
	if strings.HasPrefix(name, "claude-") {
		name = strings.Replace(name, "@", "-", 1)
	}
	return name
}

// made reports whether a call is made for real: a compaction whose answer is not recorded.
func made(in *prompt.Intent) bool { return in.Known == nil && in.Source == sourceCompact }

// pivot returns the position of the first entry that a summary of the later part replaces, by its size.
func pivot(c *summarizer.Call) int {
	ctx := c.Context
	from, to := ctx.Messages(), ctx.Len()
	if c.Intent.Instruction > 0 {
		to--
	}
	for left := int64(c.Intent.Summarised); to > from && left > 0; {
		to--
		left -= int64(ctx.At(to).Tokens)
	}
	return to
}

// expected returns what a call would take, from its sizes alone and with a cold
// cache, because the server's cache is unknown in advance.
func (s *Summarizer) expected(c *summarizer.Call, p *plan) Estimate {
	u := coldUsage(c)
	u.Output = int64(s.opts.Stub.Summarize(c.Intent, c.Draws, c.Event, c.Span).Output)
	u.Output = min(u.Output, int64(p.maxOutput))
	most := u
	most.Output = int64(p.maxOutput)
	return Estimate{Calls: 1, Usage: u, USD: s.opts.Prices(p.model, u), MostUSD: s.opts.Prices(p.model, most)}
}

// coldUsage returns the input of a call that reads nothing: what precedes a marker is written for its lifetime. The
// recorded head is not sent.
func coldUsage(c *summarizer.Call) prompt.Usage {
	var u prompt.Usage
	entries, head := c.Context.Seal(), int64(0)
	if n := c.Context.Messages(); n > 0 {
		head = int64(entries[n-1].Cum)
	}
	done := head
	for _, m := range c.Markers {
		if m.Position < 0 || int(m.Position) >= len(entries) {
			continue
		}
		n := max(int64(entries[m.Position].Cum)-done, 0)
		done += n
		if m.TTL == exchange.TTL1h {
			u.Write1h += n
		} else {
			u.Write5m += n
		}
	}
	u.Uncached = int64(c.Context.Tokens()) - done
	return u
}

//go:embed instructions/*.txt
var instructions embed.FS

// wordsOf returns the text of an instruction, which comes with the program.
func wordsOf(name string) string {
	b, err := instructions.ReadFile("instructions/" + name + ".txt")
	if err != nil {
		panic(err) // the names are constants
	}
	return strings.TrimSuffix(string(b), "\n")
}

// section is a section that a summary must have, with the question it answers.
type section struct{ title, asks string }

// The sections of a summary (000:386-395, 002:84-93), and those that end one after which messages stay (002:118).
var (
	summarySections = sectionsOf("summary-sections")
	workSections    = sectionsOf("work-sections")
)

func sectionsOf(name string) (list []section) {
	for line := range strings.SplitSeq(wordsOf(name), "\n") {
		title, asks, _ := strings.Cut(line, ": ")
		list = append(list, section{title, asks})
	}
	return list
}

// sections returns the sections that an answer must have.
func (p *plan) sections() []section {
	if p.part == ask.PartUpTo {
		n := len(summarySections) - len(workSections)
		return append(summarySections[:n:n], workSections...)
	}
	return summarySections
}

const summaryForm = "IMPORTANT: answer with text only. Call no tool: every call is refused, and this answer is the only one you give. " +
	"It is one <analysis> block and behind it one <summary> block, and nothing else."

// instruction returns the words at the end of a call. quote is the beginning of the summarised part, custom what the
// user wants of summaries; each may be "".
func (p *plan) instruction(quote, custom string) string {
	part := "Summarise this conversation. Your summary takes its place: whoever goes on with the work sees nothing else."
	switch p.part {
	case ask.PartFrom:
		part = fmt.Sprintf("Summarise the later part of this conversation. It begins with these words:\n%q\nThe messages before them stay "+
			"as they are: do not summarise them again, and use them only to understand the rest.", quote)
	case ask.PartUpTo:
		part = "Summarise this conversation. Newer messages, which you do not see, stay as they are and will follow your summary."
	}
	var list strings.Builder
	for i, s := range p.sections() {
		fmt.Fprintf(&list, "%d. %s: %s\n", i+1, s.title, s.asks)
	}
	if custom = strings.TrimSpace(custom); custom != "" {
		custom = "\nThe person also wants this of the summary:\n" + custom + "\n"
	}
	return strings.NewReplacer("{form}", summaryForm, "{part}", part, "{sections}", list.String(), "{custom}", custom).
		Replace(wordsOf("summary"))
}
