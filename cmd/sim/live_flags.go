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
	"github.com/compactsim/compactsim/internal/spec"
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

// liveFlags say whether real models write the summaries, and within which limits.
type liveFlags struct {
	summarizer string
	yes        *bool // of the flags about reading
	liveParams

	others *pflag.FlagSet // those of liveParams
}

// liveParams are what real calls are made with, each a flag.
type liveParams struct {
	Cassettes string  `yaml:"cassettes" unit:"DIR" doc:"DIR where real calls are stored and replayed from"`
	Redact    bool    `yaml:"redact" doc:"store sizes and digests of real calls in place of their texts"`
	Provider  string  `yaml:"provider" enum:"anthropic,openai" doc:"who makes real calls: anthropic, or openai for any server with its interface"`
	BaseURL   string  `yaml:"base_url" unit:"URL" doc:"URL of the server; ANTHROPIC_BASE_URL or OPENAI_BASE_URL of the environment without it"`
	Model     string  `yaml:"live_model" unit:"MODEL" doc:"MODEL to ask in place of the session's"`
	System    string  `yaml:"system" unit:"FILE" doc:"FILE with the system prompt of real calls; a placeholder of its size without it"`
	Tools     string  `yaml:"tools" unit:"FILE" doc:"FILE with the tool definitions of real calls, a JSON list; a placeholder without it"`
	Budget    float64 `yaml:"budget_usd" min:"0" doc:"stop before real calls cost more; 0 for no limit"`
	MaxCalls  int     `yaml:"max_calls" min:"0" doc:"stop before more requests are sent; 0 for no limit"`
	// The next five are said in the calls.
	Instructions string   `yaml:"instructions" doc:"what to ask of every real summary besides"`
	Betas        []string `yaml:"beta" doc:"beta features to ask for in real calls, beside those that the strategies need"`
	Thinking     string   `yaml:"thinking" unit:"TOKENS" doc:"thinking of real calls: auto (as the recorded conversation, in calls on its own prefix), off (left out), disabled, adaptive or a number of TOKENS"`
	Effort       string   `yaml:"effort" unit:"LEVEL" doc:"effort to ask of the model in real calls, LEVEL low to max; left out by default"`
	MaxOutput    int      `yaml:"max_output" min:"1" unit:"TOKENS" doc:"most TOKENS to ask for in an answer, where the strategy says nothing and the model allows it"`

	ServerEdits   string        `yaml:"server_edits" unit:"FILE" doc:"FILE with edits to declare in real calls beside those of the strategies, a JSON list in the provider's form"`
	ServerTrigger int64         `yaml:"server_trigger" unit:"TOKENS" doc:"have the provider compact from so many TOKENS of input on, not on demand, where the strategy has it compact"`
	ReplaceBroken bool          `yaml:"replace_broken" doc:"with record-missing: make calls anew whose files cannot be read, and keep these beside"`
	Sources       []string      `yaml:"live_sources" enum:"compact,session_memory" doc:"whose calls are real; compact and session_memory by default"`
	Concurrency   int           `yaml:"concurrency" min:"1" doc:"real calls at once"`
	PerMinute     int           `yaml:"rpm" min:"0" doc:"requests a minute; 0 for no limit"`
	Attempts      int           `yaml:"attempts" min:"1" doc:"requests for one real call before it counts as failed"`
	Timeout       time.Duration `yaml:"timeout" min:"0s" doc:"longest time for one request; above 10m also the longest silence, else 90s"`
}

func (f *liveFlags) bind(cmd *cobra.Command, yes *bool) {
	f.yes = yes
	f.liveParams = liveParams{
		Cassettes: "cassettes", Provider: providerAnthropic, Thinking: thinkingAuto, MaxOutput: live.DefaultMaxOutput,
		Concurrency: 4, Attempts: 4, Timeout: backend.DefaultTimeout,
	}
	cmd.Flags().StringVar(&f.summarizer, "summarizer", summarizeStub,
		"what answers summary calls: stub, live (a real model), replay (stored calls) or record-missing")
	cmd.Flags().Lookup("yes").Usage += "; with --summarizer make real calls, and nothing else"
	f.others = pflag.NewFlagSet("live", pflag.ContinueOnError)
	bindParams(f.others, &f.liveParams)
	cmd.Flags().AddFlagSet(f.others)
}

// bindParams makes a flag of each documented parameter of a struct, named by its
// key with hyphens: the value it has is the default, and its unit names the value
// in help.
func bindParams(flags *pflag.FlagSet, params any) {
	spec.Fields(params, func(p *spec.Field) {
		name, usage := flagName(p.Path), p.Doc
		if p.Unit != "" {
			usage = strings.Replace(usage, p.Unit, "`"+p.Unit+"`", 1)
		}
		if usage == "" {
			return
		}
		switch v := p.Value.Addr().Interface().(type) {
		case *string:
			flags.StringVar(v, name, *v, usage)
		case *[]string:
			flags.StringSliceVar(v, name, *v, usage)
		case *bool:
			flags.BoolVar(v, name, *v, usage)
		case *int:
			flags.IntVar(v, name, *v, usage)
		case *int64:
			flags.Int64Var(v, name, *v, usage)
		case *uint64:
			flags.Uint64Var(v, name, *v, usage)
		case *float64:
			flags.Float64Var(v, name, *v, usage)
		case *time.Duration:
			flags.DurationVar(v, name, *v, usage)
		}
	})
}

func flagName(key string) string { return strings.ReplaceAll(key, "_", "-") }

// checkParams returns what the tags of a struct say against its values, in the
// names of the flags.
func checkParams(params any) []error {
	var errs []error
	for _, p := range spec.Validate(params) {
		errs = append(errs, errors.New("--"+strings.Replace(p.Error(), p.Paths[0], flagName(p.Paths[0]), 1)))
	}
	return errs
}

// real reports whether calls are real, now or when they were stored.
func (f *liveFlags) real() bool { return f.summarizer != summarizeStub }

// asks reports whether a server may be asked.
func (f *liveFlags) asks() bool {
	return f.summarizer == summarizeLive || f.summarizer == summarizeMissing
}

// check returns what is wrong with the flags.
func (f *liveFlags) check() []error {
	errs := checkParams(&f.liveParams)
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
	if !f.real() {
		f.others.VisitAll(func(flag *pflag.Flag) {
			wrong(flag.Changed, "--%s belongs to --summarizer live, replay or record-missing", flag.Name)
		})
		return errs
	}
	_, err := f.thinks()
	wrong(err != nil, "%w", err)
	if known := efforts[f.Provider]; f.Effort != "" && known != nil {
		oneOf("effort", f.Effort, known...)
	}
	wrong(f.ServerTrigger != 0 && f.ServerTrigger < live.MinTrigger,
		"--server-trigger %d: the provider takes %d tokens at least", f.ServerTrigger, live.MinTrigger)
	n := utf8.RuneCountInString(f.Instructions)
	wrong(n > maxInstructions, "--instructions has %d characters: a compaction by the provider takes %d", n, maxInstructions)
	wrong(f.ReplaceBroken && f.summarizer != summarizeMissing, "--replace-broken belongs to --summarizer record-missing")
	if f.Provider == providerOpenAI {
		const unsaid = "--%s: chat completions have no word for it (--provider openai)"
		wrong(f.ServerEdits != "", unsaid, "server-edits")
		wrong(f.ServerTrigger != 0, unsaid, "server-trigger")
		wrong(f.Thinking != thinkingAuto && f.Thinking != live.ThinkingOff, unsaid, "thinking")
	}
	return errs
}

// thinks returns what calls say of thinking; nil for what the strategy's call
// implies.
func (f *liveFlags) thinks() (*wire.Thinking, error) {
	if f.Thinking == thinkingAuto {
		return nil, nil
	}
	t, err := live.ParseThinking(f.Thinking)
	if err != nil {
		return nil, fmt.Errorf("--thinking %q: want auto, %s", f.Thinking, live.ThinkingWords)
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
			if known := efforts[f.Provider]; !slices.Contains(known, e.Value) {
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
		case e.Do == changes.ActionThinking.String() && f.Provider == providerOpenAI:
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
	timeout := f.Timeout
	if timeout == 0 {
		timeout = backend.DefaultTimeout
	}
	const most = 1 << 62
	if one := timeout + backend.DefaultMaxAfter; one > 0 && time.Duration(f.Attempts) <= most/one {
		return one * time.Duration(f.Attempts)
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
	if f.System != "" {
		text, err := os.ReadFile(f.System)
		if err != nil {
			return nil, nil, usageError{fmt.Errorf("--system: %w", err)}
		}
		if strings.TrimSpace(string(text)) == "" {
			return nil, nil, usageError{fmt.Errorf("--system %s: an empty file; leave the flag out for a placeholder", f.System)}
		}
		system = []wire.Block{{Kind: wire.KindText, Text: string(text)}}
	}
	tools, err = readList[wire.Tool]("tools", f.Tools, "a list of objects with name, description and input_schema")
	if f.Tools == "" || err != nil {
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
		return nil, nil, usageError{fmt.Errorf("--tools %s: %w", f.Tools, err)}
	}
	return system, tools, nil
}

// edits reads the edits that are declared besides those of the strategies. Beta
// features that are asked for besides may bring types that are not known here.
func (f *liveFlags) edits() ([]jsontext.Value, error) {
	list, err := readList[jsontext.Value]("server-edits", f.ServerEdits, "a list of edits in the provider's form")
	if err != nil {
		return nil, err
	}
	known := live.EditTypes()
	errs := []error{(&live.Server{Edits: list}).Validate()}
	for i := range list {
		errs = append(errs, list[i].Compact())
		if name := live.EditType(list[i]); errs[0] == nil && len(f.Betas) == 0 && !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("edit %d has the type %q%s: known are %s; others need the --beta they belong to",
				i+1, name, nearest.Hint(name, known), strings.Join(known, ", ")))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, usageError{fmt.Errorf("--server-edits %s: %w", f.ServerEdits, err)}
	}
	return list, nil
}

// environment returns the name of a variable of the provider's environment.
func (f *liveFlags) environment(name string) string { return strings.ToUpper(f.Provider) + "_" + name }

// server returns who is asked, with the key from the environment.
func (f *liveFlags) server() (backend.Backend, error) {
	keyName, baseName := f.environment("API_KEY"), f.environment("BASE_URL")
	c := backend.Config{
		Key: backend.NewKey(os.Getenv(keyName)), BaseURL: cmp.Or(f.BaseURL, os.Getenv(baseName)),
		Limits: backend.Limits{Timeout: f.Timeout},
	}
	open := backend.NewAnthropic
	switch {
	case f.Provider == providerOpenAI && c.BaseURL == "":
		return nil, fmt.Errorf("--provider openai needs --base-url, or %s in the environment: with the version, as "+
			"https://api.openai.com/v1", baseName)
	case f.Provider == providerOpenAI:
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
		if f.BaseURL == "" {
			from = baseName
		}
		return nil, fmt.Errorf("%w (the key is from %s, the base URL from %s)", err, keyName, from)
	}
	return b, nil
}

// switches names what was asked for otherwise than by the strategies.
func (f *liveFlags) switches(to map[string]string) {
	if f.Thinking != thinkingAuto {
		to["live_thinking"] = f.Thinking
	}
	if f.Effort != "" {
		to["live_effort"] = f.Effort
	}
	if f.ServerTrigger != 0 {
		to["server_trigger"] = strconv.FormatInt(f.ServerTrigger, 10)
	}
}
