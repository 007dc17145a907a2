package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/internal/changes"
	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/backend"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/sim/client"
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

// efforts are the names that providers have for efforts.
var efforts = map[string][]string{
	providerAnthropic: api.Efforts(),
	providerOpenAI:    {"none", "minimal", "low", "medium", "high", "xhigh", "max"},
}

const (
	// thinkingAuto of --thinking is as the strategy's call implies.
	thinkingAuto = "auto"
	// eventDefault is the value of an event that takes back what others have set.
	eventDefault = "default"
	// maxInstructions is the longest text of --instructions, characters: a compaction
	// on demand takes 16,384 (platform.claude.com, compaction), of which some are this
	// program's.
	maxInstructions = 16_000
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

	others *pflag.FlagSet // all of these but --summarizer
}

func (f *liveFlags) bind(cmd *cobra.Command, yes *bool) {
	f.yes = yes
	cmd.Flags().StringVar(&f.summarizer, "summarizer", summarizeStub,
		"what answers summary calls: stub, live (a real model), replay (stored calls) or record-missing")
	flags := pflag.NewFlagSet("live", pflag.ContinueOnError)
	f.others = flags
	flags.StringVar(&f.cassettes, "cassettes", "cassettes", "`DIR` where real calls are stored and replayed from")
	flags.BoolVar(&f.redact, "redact", false, "store sizes and digests of real calls in place of their texts")
	flags.StringVar(&f.provider, "provider", providerAnthropic, "who makes real calls: anthropic, or openai for "+
		"any server with its interface")
	flags.StringVar(&f.baseURL, "base-url", "",
		"`URL` of the server; the environment's ANTHROPIC_BASE_URL or OPENAI_BASE_URL without it")
	flags.StringVar(&f.model, "live-model", "", "`MODEL` to ask in place of the session's")
	flags.StringVar(&f.system, "system", "",
		"`FILE` with the system prompt of real calls; a placeholder of its size without it")
	flags.StringVar(&f.tools, "tools", "",
		"`FILE` with the tool definitions of real calls, a JSON list; a placeholder without it")
	flags.StringVar(&f.instructions, "instructions", "", "what to ask of every real summary besides")
	flags.StringSliceVar(&f.betas, "beta", nil, "beta features to ask for in real calls, beside those that the "+
		"strategies need")
	flags.StringVar(&f.thinking, "thinking", thinkingAuto,
		"thinking of real calls: auto (as the recorded conversation, in calls on its own prefix), off (left out), "+
			"disabled, adaptive or a number of `TOKENS`")
	flags.StringVar(&f.effort, "effort", "",
		"effort to ask of the model in real calls, `LEVEL` low to max; left out by default")
	flags.StringVar(&f.serverEdits, "server-edits", "",
		"`FILE` with edits to declare in real calls beside those of the strategies, a JSON list in the provider's form")
	flags.Int64Var(&f.serverTrigger, "server-trigger", 0,
		"have the provider compact from so many `TOKENS` of input on, not on demand, where the strategy has it compact")
	flags.BoolVar(&f.replaceBroken, "replace-broken", false, "with record-missing: make calls anew whose files "+
		"cannot be read, and keep these beside")
	flags.StringSliceVar(&f.sources, "live-sources", nil, "whose calls are real; compact and session_memory by default")
	flags.Float64Var(&f.budget, "budget-usd", 0, "stop before real calls cost more; 0 for no limit")
	flags.IntVar(&f.maxCalls, "max-calls", 0, "stop before more requests are sent; 0 for no limit")
	flags.IntVar(&f.concurrency, "concurrency", 4, "real calls at once")
	flags.IntVar(&f.perMinute, "rpm", 0, "requests a minute; 0 for no limit")
	flags.IntVar(&f.attempts, "attempts", 4, "requests for one real call before it counts as failed")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "longest time for one request; above 10m also the "+
		"longest silence, else 90s")
	flags.IntVar(&f.maxOutput, "max-output", live.DefaultMaxOutput,
		"most `TOKENS` to ask for in an answer, where the strategy says nothing and the model allows it")
	cmd.Flags().AddFlagSet(flags)
}

// real reports whether calls are real, now or when they were stored.
func (f *liveFlags) real() bool { return f.summarizer != summarizeStub }

// asks reports whether a server may be asked.
func (f *liveFlags) asks() bool {
	return f.summarizer == summarizeLive || f.summarizer == summarizeMissing
}

// check returns what is wrong with the flags.
func (f *liveFlags) check() []error {
	var errs []error
	wrong := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	oneOf := func(flag, value string, known ...string) {
		wrong(!slices.Contains(known, value), "--%s %q%s: want %s", flag, value, nearest.Hint(value, known),
			strings.Join(known, ", "))
	}
	oneOf("summarizer", f.summarizer, summarizeStub, summarizeLive, summarizeReplay, summarizeMissing)
	oneOf("provider", f.provider, providerAnthropic, providerOpenAI)
	if !f.real() {
		f.others.VisitAll(func(flag *pflag.Flag) {
			wrong(flag.Changed, "--%s belongs to --summarizer live, replay or record-missing", flag.Name)
		})
	}
	wrong(!(f.budget >= 0) || f.maxCalls < 0 || f.perMinute < 0 || f.timeout < 0 || f.concurrency < 1 || f.attempts < 1,
		"--budget-usd, --max-calls, --rpm and --timeout must not be negative, --concurrency and --attempts at least 1")
	wrong(f.maxOutput < 1, "--max-output %d: want at least 1", f.maxOutput)
	for _, s := range f.sources {
		oneOf("live-sources", s, "compact", "session_memory")
	}
	if !f.real() {
		return errs
	}
	if _, err := f.thinks(); err != nil {
		errs = append(errs, err)
	}
	if known := efforts[f.provider]; f.effort != "" && known != nil {
		oneOf("effort", f.effort, known...)
	}
	wrong(f.serverTrigger != 0 && f.serverTrigger < live.MinTrigger,
		"--server-trigger %d: the provider takes %d tokens at least", f.serverTrigger, live.MinTrigger)
	n := utf8.RuneCountInString(f.instructions)
	wrong(n > maxInstructions, "--instructions has %d characters: a compaction by the provider takes %d with what "+
		"it is asked besides", n, maxInstructions)
	wrong(f.replaceBroken && f.summarizer != summarizeMissing, "--replace-broken belongs to --summarizer record-missing")
	if f.provider == providerOpenAI {
		const unsaid = "--%s: chat completions have no word for it (--provider openai)"
		wrong(f.serverEdits != "", unsaid, "server-edits")
		wrong(f.serverTrigger != 0, unsaid, "server-trigger")
		wrong(f.thinking != thinkingAuto && f.thinking != live.ThinkingOff, unsaid, "thinking")
	}
	return errs
}

// thinks returns what calls say of thinking; nil for what the strategy's call
// implies.
func (f *liveFlags) thinks() (*wire.Thinking, error) {
	if f.thinking == thinkingAuto {
		return nil, nil
	}
	t, err := live.ParseThinking(f.thinking)
	if err != nil {
		return nil, fmt.Errorf("--thinking %q: want auto, %s", f.thinking, live.ThinkingWords)
	}
	return &t, nil
}

// checkEvents refuses values of events about thinking and effort that no real call
// can say: a simulated request takes any text.
func (f *liveFlags) checkEvents(events []client.Event) error {
	var errs []error
	for i := range events {
		e := &events[i]
		if e.Value == "" || e.Value == eventDefault {
			continue
		}
		var want string
		switch e.Do {
		case changes.ActionEffort.String():
			if known := efforts[f.provider]; !slices.Contains(known, e.Value) {
				want = nearest.Hint(e.Value, known) + ": real calls take " + eventDefault + ", " + strings.Join(known, ", ")
			}
		case changes.ActionThinking.String():
			if _, err := live.ParseThinking(e.Value); err != nil && e.Value != live.ThinkingOn {
				want = ": real calls take " + eventDefault + ", " + live.ThinkingOn + ", " + live.ThinkingWords
			}
		}
		if want != "" {
			errs = append(errs, fmt.Errorf("event %d of the scenario: %s %q%s", i+1, e.Do, e.Value, want))
		}
	}
	return errors.Join(errs...)
}

// mute says which events of the scenario change no real call though they change
// simulated ones, "" for none.
func (f *liveFlags) mute(events []client.Event) string {
	var unnamed []string
	thinks := false
	for i := range events {
		switch e := &events[i]; {
		case e.Do == changes.ActionThinking.String() && f.provider == providerOpenAI:
			thinks = true
		case e.Value == "" && (e.Do == changes.ActionThinking.String() || e.Do == changes.ActionEffort.String()):
			unnamed = append(unnamed, fmt.Sprintf("%d (%s)", i+1, e.Do))
		}
	}
	var parts []string
	if thinks {
		parts = append(parts, "the scenario's events of thinking do not reach real calls: chat completions have no "+
			"word for it")
	}
	if len(unnamed) > 0 {
		parts = append(parts, fmt.Sprintf("event %s of the scenario names no value: real calls behind it say what "+
			"they would without it", strings.Join(unnamed, ", ")))
	}
	return strings.Join(parts, "; ")
}

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

// readList reads the file of a flag, a JSON list.
func readList[T any](flag, name, want string) (list []T, err error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usageError{fmt.Errorf("--%s: %w", flag, err)}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, usageError{fmt.Errorf("--%s %s: want %s: %w", flag, name, want, err)}
	}
	return list, nil
}

// head reads the system prompt and the tools of real calls, nil for placeholders.
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
	tools, err = readList[wire.Tool]("tools", f.tools, "a list of objects with name, description and input_schema")
	if f.tools == "" || err != nil {
		return system, nil, err
	}
	var errs []error
	if len(tools) == 0 {
		errs = append(errs, errors.New("an empty list; leave the flag out for a placeholder"))
	}
	for i, t := range tools {
		if t.Name == "" {
			errs = append(errs, fmt.Errorf("tool %d has no name", i+1))
		}
		if t.InputSchema.Kind() != '{' {
			errs = append(errs, fmt.Errorf("tool %d %s: input_schema is no object", i+1, t.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, usageError{fmt.Errorf("--tools %s: %w", f.tools, err)}
	}
	return system, tools, nil
}

// edits reads the edits that are declared besides those of the strategies. Beta
// features that are asked for besides may bring types that are not known here.
func (f *liveFlags) edits() ([]jsontext.Value, error) {
	list, err := readList[jsontext.Value]("server-edits", f.serverEdits, "a list of edits in the provider's form")
	if err != nil {
		return nil, err
	}
	known := live.EditTypes()
	errs := []error{(&live.Server{Edits: list}).Validate()}
	for i := range list {
		errs = append(errs, list[i].Compact())
		if name := live.EditType(list[i]); errs[0] == nil && len(f.betas) == 0 && !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("edit %d has the type %q%s: known are %s; others need the --beta they belong to",
				i+1, name, nearest.Hint(name, known), strings.Join(known, ", ")))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, usageError{fmt.Errorf("--server-edits %s: %w", f.serverEdits, err)}
	}
	return list, nil
}

// environment returns the name of a variable of the provider's environment.
func (f *liveFlags) environment(name string) string { return strings.ToUpper(f.provider) + "_" + name }

// server returns who is asked, with the key from the environment.
func (f *liveFlags) server() (backend.Backend, error) {
	keyName, baseName := f.environment("API_KEY"), f.environment("BASE_URL")
	c := backend.Config{
		Key: backend.NewKey(os.Getenv(keyName)), BaseURL: cmp.Or(f.baseURL, os.Getenv(baseName)),
		Limits: backend.Limits{Timeout: f.timeout},
	}
	open := backend.NewAnthropic
	switch {
	case f.provider == providerOpenAI && c.BaseURL == "":
		return nil, fmt.Errorf("--provider openai needs --base-url, or %s in the environment: with the version, as "+
			"https://api.openai.com/v1", baseName)
	case f.provider == providerOpenAI:
		open = backend.NewOpenAI
	case c.Key.IsZero():
		empty := ""
		if _, there := os.LookupEnv(keyName); there {
			empty = ", which is empty"
		}
		return nil, fmt.Errorf("--summarizer %s needs a key in the environment's %s%s; to try it without one: sim devserver",
			f.summarizer, keyName, empty)
	}
	b, err := open(c)
	if err != nil {
		from := "--base-url"
		if f.baseURL == "" {
			from = baseName
		}
		return nil, fmt.Errorf("%w (the key is from %s, the base URL from %s)", err, keyName, from)
	}
	return b, nil
}

// switches names what was asked for otherwise than by the strategies.
func (f *liveFlags) switches(to map[string]string) {
	if f.thinking != thinkingAuto {
		to["live_thinking"] = f.thinking
	}
	if f.effort != "" {
		to["live_effort"] = f.effort
	}
	if f.serverTrigger != 0 {
		to["server_trigger"] = strconv.FormatInt(f.serverTrigger, 10)
	}
}
