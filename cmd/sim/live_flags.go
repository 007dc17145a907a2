package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/backend"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/nearest"
)

// What answers summary calls.
const (
	summarizeStub    = "stub"           // sizes drawn from a distribution
	summarizeLive    = "live"           // a real model, every call anew
	summarizeReplay  = "replay"         // stored calls; one that is missing is an error
	summarizeMissing = "record-missing" // stored calls, and a real model for those that are missing
)

// Providers of real models.
const (
	providerAnthropic = "anthropic"
	providerOpenAI    = "openai"
)

// liveFlags say whether real models write the summaries, and within which
// limits.
type liveFlags struct {
	summarizer   string
	cassettes    string
	redact       bool
	provider     string
	baseURL      string
	model        string
	system       string
	tools        string
	instructions string
	betas        []string
	thinking     string
	effort       string
	serverEdits  string
	sources      []string
	budget       float64
	maxCalls     int
	concurrency  int
	perMinute    int
	attempts     int
	timeout      time.Duration
	maxOutput    int
	yes          *bool // of the flags about reading

	serverTrigger int64
	replaceBroken bool
}

func (f *liveFlags) bind(cmd *cobra.Command, yes *bool) {
	f.yes = yes
	flags := cmd.Flags()
	flags.StringVar(&f.summarizer, "summarizer", summarizeStub,
		"what answers summary calls: stub, live (a real model), replay (stored calls) or record-missing")
	flags.StringVar(&f.cassettes, "cassettes", "cassettes", "`DIR` where real calls are stored and replayed from")
	flags.BoolVar(&f.redact, "redact", false, "store sizes and digests of real calls in place of their texts")
	flags.StringVar(&f.provider, "provider", providerAnthropic, "who makes real calls: anthropic, or openai for any server with its interface")
	flags.StringVar(&f.baseURL, "base-url", "", "`URL` of the server; the environment's ANTHROPIC_BASE_URL or OPENAI_BASE_URL without it")
	flags.StringVar(&f.model, "live-model", "", "`MODEL` to ask in place of the session's")
	flags.StringVar(&f.system, "system", "", "`FILE` with the system prompt of real calls; a placeholder of its size without it")
	flags.StringVar(&f.tools, "tools", "", "`FILE` with the tool definitions of real calls, a JSON list; a placeholder without it")
	flags.StringVar(&f.instructions, "instructions", "", "what to ask of every real summary besides")
	flags.StringSliceVar(&f.betas, "beta", nil, "beta features to ask for in real calls, beside those that the strategies need")
	flags.StringVar(&f.thinking, "thinking", thinkingAuto,
		"thinking of real calls: auto (as the recorded conversation, in calls on its own prefix), off (no word of it), disabled, adaptive or a number of `TOKENS`")
	flags.StringVar(&f.effort, "effort", "", "effort to ask of the model in real calls, `LEVEL` low to max; no word of it without")
	flags.StringVar(&f.serverEdits, "server-edits", "", "`FILE` with edits to declare in real calls beside those of the strategies, a JSON list in the provider's form")
	flags.Int64Var(&f.serverTrigger, "server-trigger", 0, "have the provider compact from so many `TOKENS` of input on, not on demand, where the strategy has it compact")
	flags.BoolVar(&f.replaceBroken, "replace-broken", false, "with record-missing: make calls anew whose files cannot be read, and keep these beside")
	flags.StringSliceVar(&f.sources, "live-sources", nil, "whose calls are real; compact and session_memory by default")
	flags.Float64Var(&f.budget, "budget-usd", 0, "stop before real calls cost more; 0 for no limit")
	flags.IntVar(&f.maxCalls, "max-calls", 0, "stop before more requests are sent; 0 for no limit")
	flags.IntVar(&f.concurrency, "concurrency", 4, "real calls at once")
	flags.IntVar(&f.perMinute, "rpm", 0, "requests a minute; 0 for no limit")
	flags.IntVar(&f.attempts, "attempts", 4, "requests for one real call before it counts as failed")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "longest time for one request; above 10m also the longest silence, else 90s")
	flags.IntVar(&f.maxOutput, "max-output", live.DefaultMaxOutput, "most `TOKENS` to ask for in an answer, where the strategy says nothing and the model allows it")
}

// real reports whether calls are real, now or when they were stored.
func (f *liveFlags) real() bool { return f.summarizer != summarizeStub }

// asks reports whether a server may be asked.
func (f *liveFlags) asks() bool {
	return f.summarizer == summarizeLive || f.summarizer == summarizeMissing
}

// check returns what is wrong with the flags.
func (f *liveFlags) check(cmd *cobra.Command) []error {
	var errs []error
	oneOf := func(flag, value string, known ...string) {
		if !slices.Contains(known, value) {
			errs = append(errs, fmt.Errorf("--%s %q%s: want %s", flag, value, nearest.Hint(value, known), strings.Join(known, ", ")))
		}
	}
	oneOf("summarizer", f.summarizer, summarizeStub, summarizeLive, summarizeReplay, summarizeMissing)
	oneOf("provider", f.provider, providerAnthropic, providerOpenAI)
	if !f.real() {
		for _, flag := range []string{"cassettes", "redact", "provider", "base-url", "live-model", "system", "tools", "instructions", "beta",
			"live-sources", "budget-usd", "max-calls", "concurrency", "rpm", "attempts", "timeout", "max-output",
			"thinking", "effort", "server-edits", "server-trigger", "replace-broken"} {
			if cmd.Flags().Changed(flag) {
				errs = append(errs, fmt.Errorf("--%s belongs to --summarizer live, replay or record-missing", flag))
			}
		}
	}
	if f.budget < 0 || f.maxCalls < 0 || f.perMinute < 0 || f.timeout < 0 || f.concurrency < 1 || f.attempts < 1 {
		errs = append(errs, errors.New("--budget-usd, --max-calls, --rpm and --timeout must not be negative, --concurrency and --attempts at least 1"))
	}
	if f.maxOutput < 1 {
		errs = append(errs, fmt.Errorf("--max-output %d: want at least 1", f.maxOutput))
	}
	for _, s := range f.sources {
		oneOf("live-sources", s, liveSources...)
	}
	if f.real() {
		errs = append(errs, f.checkServer()...)
	}
	return errs
}

// liveSources are the sources whose calls have an instruction for a real model.
var liveSources = []string{"compact", "session_memory"}

// deadline returns how long one call may take with all its attempts and the
// waits between them.
func (f *liveFlags) deadline() time.Duration {
	timeout := f.timeout
	if timeout == 0 {
		timeout = backend.DefaultTimeout
	}
	const most = 1 << 62
	if one := timeout + backend.DefaultMaxAfter; one > 0 && time.Duration(f.attempts) <= most/one {
		return one * time.Duration(f.attempts)
	}
	return most
}

// head reads the system prompt and the tools of real calls, nil for
// placeholders.
func (f *liveFlags) head() (system []wire.Block, tools []wire.Tool, err error) {
	if f.system != "" {
		text, err := os.ReadFile(f.system)
		if err != nil {
			return nil, nil, usageError{fmt.Errorf("--system: %w", err)}
		}
		if strings.TrimSpace(string(text)) == "" {
			return nil, nil, usageError{fmt.Errorf("--system %s: an empty file; leave the flag out for a placeholder", f.system)}
		}
		system = []wire.Block{{Kind: wire.KindText, Text: string(text)}}
	}
	if f.tools != "" {
		text, err := os.ReadFile(f.tools)
		if err != nil {
			return nil, nil, usageError{fmt.Errorf("--tools: %w", err)}
		}
		if err := json.Unmarshal(text, &tools); err != nil {
			return nil, nil, usageError{fmt.Errorf("--tools %s: want a list of objects with name, description and input_schema: %w", f.tools, err)}
		}
		if err := checkTools(tools); err != nil {
			return nil, nil, usageError{fmt.Errorf("--tools %s: %w", f.tools, err)}
		}
	}
	return system, tools, nil
}

// checkTools returns what is wrong with tool definitions.
func checkTools(tools []wire.Tool) error {
	if len(tools) == 0 {
		return errors.New("an empty list; leave the flag out for a placeholder")
	}
	var errs []error
	for i, t := range tools {
		if t.Name == "" {
			errs = append(errs, fmt.Errorf("tool %d has no name", i+1))
		}
		if t.InputSchema.Kind() != '{' {
			errs = append(errs, fmt.Errorf("tool %d %s: input_schema is no object", i+1, t.Name))
		}
	}
	return errors.Join(errs...)
}
