package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/backend"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/nearest"
)

// server returns who is asked, with the key from the environment.
func (f *liveFlags) server() (backend.Backend, error) {
	limits := backend.Limits{Timeout: f.timeout}
	if f.provider == providerOpenAI {
		base := cmp.Or(f.baseURL, os.Getenv("OPENAI_BASE_URL"))
		if base == "" {
			return nil, errors.New("--provider openai needs --base-url, or OPENAI_BASE_URL in the environment: with the version, as https://api.openai.com/v1")
		}
		b, err := backend.NewOpenAI(backend.Config{Key: backend.NewKey(os.Getenv("OPENAI_API_KEY")), BaseURL: base, Limits: limits})
		return b, f.from(err)
	}
	key := backend.NewKey(os.Getenv("ANTHROPIC_API_KEY"))
	if key.IsZero() {
		return nil, fmt.Errorf("--summarizer %s needs a key in the environment's ANTHROPIC_API_KEY%s; to try it without one: sim devserver", f.summarizer, blank("ANTHROPIC_API_KEY"))
	}
	b, err := backend.NewAnthropic(backend.Config{
		Key: key, BaseURL: cmp.Or(f.baseURL, os.Getenv("ANTHROPIC_BASE_URL")), Limits: limits,
	})
	return b, f.from(err)
}

// blank says that a variable of the environment is there and says nothing.
func blank(name string) string {
	if _, there := os.LookupEnv(name); there {
		return ", which is empty"
	}
	return ""
}

// from names where a key and a base URL come from that cannot be used.
func (f *liveFlags) from(err error) error {
	if err == nil {
		return nil
	}
	name := "ANTHROPIC"
	if f.provider == providerOpenAI {
		name = "OPENAI"
	}
	base := "--base-url"
	if f.baseURL == "" {
		base = name + "_BASE_URL"
	}
	return fmt.Errorf("%w (the key is from %s_API_KEY, the base URL from %s)", err, name, base)
}

// thinkingAuto of --thinking is as the strategy's call implies.
const thinkingAuto = "auto"

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

// efforts are the names that providers have for efforts.
var efforts = map[string][]string{
	providerAnthropic: {"low", "medium", "high", "xhigh", "max"},
	providerOpenAI:    {"none", "minimal", "low", "medium", "high", "xhigh", "max"},
}

// checkServer returns what is wrong with the flags about what is asked of a server
// beside a summary.
func (f *liveFlags) checkServer() []error {
	var errs []error
	if _, err := f.thinks(); err != nil {
		errs = append(errs, err)
	}
	if known := efforts[f.provider]; f.effort != "" && known != nil && !slices.Contains(known, f.effort) {
		errs = append(errs, fmt.Errorf("--effort %q: want %s", f.effort, strings.Join(known, ", ")))
	}
	if f.serverTrigger != 0 && f.serverTrigger < live.MinTrigger {
		errs = append(errs, fmt.Errorf("--server-trigger %d: the provider takes %d tokens at least", f.serverTrigger, live.MinTrigger))
	}
	if n := utf8.RuneCountInString(f.instructions); n > maxInstructions {
		errs = append(errs, fmt.Errorf("--instructions has %d characters: a compaction by the provider takes %d with what it is asked besides", n, maxInstructions))
	}
	if f.replaceBroken && f.summarizer != summarizeMissing {
		errs = append(errs, errors.New("--replace-broken belongs to --summarizer record-missing"))
	}
	if f.provider != providerOpenAI {
		return errs
	}
	for flag, given := range map[string]bool{
		"thinking": f.thinking != thinkingAuto && f.thinking != live.ThinkingOff, "server-trigger": f.serverTrigger != 0, "server-edits": f.serverEdits != "",
	} {
		if given {
			errs = append(errs, fmt.Errorf("--%s: chat completions have no word for it (--provider openai)", flag))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// maxInstructions is the longest text of --instructions, characters: a compaction on
// demand takes 16,384 (platform.claude.com, compaction), of which some are this
// program's.
const maxInstructions = 16_000

// editsFile reads the edits that are declared besides those of the strategies.
func (f *liveFlags) editsFile() ([]jsontext.Value, error) {
	if f.serverEdits == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.serverEdits)
	if err != nil {
		return nil, usageError{fmt.Errorf("--server-edits: %w", err)}
	}
	var list []jsontext.Value
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, usageError{fmt.Errorf("--server-edits %s: want a list of edits in the provider's form: %w", f.serverEdits, err)}
	}
	for i := range list {
		if err := list[i].Compact(); err != nil {
			return nil, usageError{fmt.Errorf("--server-edits %s: edit %d: %w", f.serverEdits, i+1, err)}
		}
	}
	return list, nil
}

// checkEdits returns what is wrong with the types of further edits. Beta features
// that are asked for besides may bring types that are not known here.
func (f *liveFlags) checkEdits(list []jsontext.Value) error {
	if len(f.betas) > 0 {
		return nil
	}
	var errs []error
	known := live.EditTypes()
	for i, e := range list {
		if name := live.EditType(e); !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("edit %d has the type %q%s: known are %s; others need the --beta they belong to",
				i+1, name, nearest.Hint(name, known), strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}
