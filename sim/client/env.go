package client

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// Env are environment variables of the client under their real names; "" is not
// set. The tag env gives the kind of value: flag, number, percent, limits or ttl. Those
// that this package does not use change layers (scenarios).
type Env struct {
	AutocompactPct     string `yaml:"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE" env:"percent" doc:"Per cent used from which on it compacts, in (0, 100]: the number at its front; the client ignores others. It only lowers: full-compact, session-memory and microcompact .trigger.pct_override."`
	DisableCompact     string `yaml:"DISABLE_COMPACT" env:"flag" doc:"No compaction at all: full-compact, microcompact, time-microcompact and cached-microcompact .enabled, session-memory.compact."`
	DisableAutoCompact string `yaml:"DISABLE_AUTO_COMPACT" env:"flag" doc:"None by itself: full-compact.auto and .idle.enabled, session-memory.compact. Microcompact stays (assumed), and so does what a refused prompt starts."`
	AutoCompactWindow  string `yaml:"CLAUDE_CODE_AUTO_COMPACT_WINDOW" env:"number" doc:"Tokens of the window that thresholds are counted from, at most the model's; values outside 100,000…1,000,000 count as the nearest of these."`
	MaxOutputTokens    string `yaml:"CLAUDE_CODE_MAX_OUTPUT_TOKENS" env:"number" doc:"Tokens of output that a request asks for, at most the model's: thresholds that keep them free count from it (8000: 179,000 of 200,000, 2.1.332)."`
	MaxContextTokens   string `yaml:"CLAUDE_CODE_MAX_CONTEXT_TOKENS" env:"number" doc:"Tokens the client takes for the window of models that have no larger one."`
	Disable1M          string `yaml:"CLAUDE_CODE_DISABLE_1M_CONTEXT" env:"flag" doc:"No window above 200,000 tokens."`
	IdleMinTokens      string `yaml:"CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS" needs:"full-compact.idle.enabled" env:"number" doc:"Tokens below which a gap is no reason to compact: full-compact.idle.min_tokens."`
	BashMaxOutput      string `yaml:"BASH_MAX_OUTPUT_LENGTH" needs:"tool-storage" env:"number" doc:"Characters of a Bash result above which it goes to disk, at most 30,000: tool-storage.limits.bash."`
	MCPMaxOutput       string `yaml:"MAX_MCP_OUTPUT_TOKENS" needs:"tool-storage" env:"number" doc:"Tokens of a result of an MCP tool, 4 bytes each: tool-storage.limits.mcp."`
	Enable1h           string `yaml:"ENABLE_PROMPT_CACHING_1H" env:"flag" doc:"Ask for 1h everywhere."`
	EnableBedrock1h    string `yaml:"ENABLE_PROMPT_CACHING_1H_BEDROCK" needs:"client.provider=bedrock" env:"flag" doc:"Ask for 1h on Bedrock under ttl policy."`
	Force5m            string `yaml:"FORCE_PROMPT_CACHING_5M" env:"flag" doc:"Ask for 5m everywhere; it wins over all others."`
	CacheTTL           string `yaml:"CLAUDE_CODE_PROMPT_CACHE_TTL" env:"ttl" doc:"5m or 1h, for conversations. It wins over ENABLE_PROMPT_CACHING_1H (assumed)."`
	AgentCacheTTL      string `yaml:"CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL" env:"ttl" doc:"The same for sub-agents."`
	DisableCaching     string `yaml:"DISABLE_PROMPT_CACHING" env:"flag" doc:"No markers in any request, so nothing is read or written."`
	DisableHaiku       string `yaml:"DISABLE_PROMPT_CACHING_HAIKU" env:"flag" doc:"The same for models with the word in their name, and so below."`
	DisableSonnet      string `yaml:"DISABLE_PROMPT_CACHING_SONNET" env:"flag"`
	DisableOpus        string `yaml:"DISABLE_PROMPT_CACHING_OPUS" env:"flag"`
	DisableFable       string `yaml:"DISABLE_PROMPT_CACHING_FABLE" env:"flag"`
	UserType           string `yaml:"USER_TYPE" needs:"client.ttl.choice=policy" env:"user" doc:"ant is an employee (ttl.employee), external is not."`
	Features           `yaml:",inline"`
}

// Features are switches by the names of the documents (003:1973-1989). Each switches its layer in strategies that have it.
type Features struct {
	SessionMemory      string `yaml:"tengu_session_memory" env:"flag" doc:"Session memory: session-memory.enabled. This and the next are features by the names of the client; 1 is on, 0 off, and a strategy without the layer does not change."`
	SessionCompact     string `yaml:"tengu_sm_compact" env:"flag" doc:"Its use in place of a summary: session-memory.compact."`
	Dream              string `yaml:"tengu_onyx_plover" env:"flag" doc:"dream.enabled."`
	MemoryExtraction   string `yaml:"tengu_passport_quail" env:"flag" doc:"memory-extraction.enabled."`
	MicroDisabled      string `yaml:"mc_disabled" env:"flag" doc:"No clearing of old results: microcompact.enabled (001, experiment cc_microcompact_ext)."`
	ToolLimits         string `yaml:"tengu_satin_quoll" needs:"tool-storage" env:"limits" doc:"Bytes above which results of a tool go to disk, by its name, as JSON: tool-storage.limits.tools (003, GrowthBook override). The words mcp and default set the limits of these names."`
	TimeMicrocompact   string `yaml:"tengu_slate_heron" env:"flag" doc:"time-microcompact.enabled."`
	CachedMicrocompact string `yaml:"CACHED_MICROCOMPACT" env:"flag" doc:"cached-microcompact.enabled."`
	ContextCollapse    string `yaml:"CONTEXT_COLLAPSE" env:"flag" doc:"Excludes automatic compaction: full-compact.auto and .idle.enabled, session-memory.compact. What it does itself no document says: nothing takes their place."`
	HistorySnip        string `yaml:"HISTORY_SNIP" env:"flag" doc:"Named in the documents without a word on what it does: taken, and without effect."`
}

// Variables are the effects of an Env on requests. The zero value is an Env without variables.
type Variables struct {
	force5m   bool
	enable1h  bool
	bedrock1h bool
	employee  bool
	main      string // lifetime of conversations: "", 5m or 1h
	agents    string // of sub-agents
	uncached  []string
	small     bool  // no window of a million
	window    int64 // window that the client assumes, tokens, 0 for none
	output    int64 // output that requests ask for, tokens, 0 for the model's
	auto      int64 // largest number of tokens that thresholds are counted from, 0 for none
}

// MinAutoWindow and maxAutoWindow are the bounds of CLAUDE_CODE_AUTO_COMPACT_WINDOW, tokens (E3).
const MinAutoWindow, maxAutoWindow = 100_000, 1_000_000

// Variables returns the effects of the variables. Invalid values count as not
// set.
func (e *Env) Variables() Variables {
	v := Variables{
		force5m: On(e.Force5m), enable1h: On(e.Enable1h), bedrock1h: On(e.EnableBedrock1h), employee: e.UserType == employee,
		main: e.CacheTTL, agents: e.AgentCacheTTL, small: On(e.Disable1M),
	}
	if n, ok := Number(e.MaxContextTokens); ok {
		v.window = n
	}
	if n, ok := Number(e.MaxOutputTokens); ok {
		v.output = n
	}
	if n, ok := Number(e.AutoCompactWindow); ok {
		v.auto = min(max(n, MinAutoWindow), maxAutoWindow)
	}
	for _, model := range []struct{ value, name string }{
		{e.DisableCaching, ""}, {e.DisableHaiku, "haiku"}, {e.DisableSonnet, "sonnet"}, {e.DisableOpus, "opus"}, {e.DisableFable, "fable"},
	} {
		if On(model.value) {
			v.uncached = append(v.uncached, model.name)
		}
	}
	return v
}

// employee is the user type of the provider's own people (000:113).
const employee = "ant"

// Uncached reports whether requests to a model carry no markers.
func (v *Variables) Uncached(model string) bool {
	for _, name := range v.uncached {
		if strings.Contains(model, name) {
			return true
		}
	}
	return false
}

// AutoWindow returns the tokens that thresholds are counted from in a window of w tokens.
func (v *Variables) AutoWindow(w int64) int64 {
	if v.auto > 0 {
		return min(w, v.auto)
	}
	return w
}

// Output returns the tokens of output that requests ask for from a model that can have most.
func (v *Variables) Output(most int64) int64 {
	if v.output > 0 {
		return min(v.output, most)
	}
	return most
}

// SetsAutoWindow reports whether CLAUDE_CODE_AUTO_COMPACT_WINDOW is set.
func (v *Variables) SetsAutoWindow() bool { return v.auto > 0 }

// On reports whether a flag is set: 1, true, yes or on in any case, as the
// client reads them.
func On(value string) bool {
	switch strings.ToLower(value) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// Number returns the value of a variable that takes a whole number from 1.
func Number(value string) (int64, bool) {
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil && n > 0 && n <= math.MaxInt32
}

// leadingNumber is what JavaScript's parseFloat takes from the front of a text.
var leadingNumber = regexp.MustCompile(`^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?`)

// Percent returns the value of a variable in per cent. The client reads it with
// parseFloat: a number at the front counts, whatever follows it. It ignores texts
// without one, and values outside (0, 100].
func Percent(value string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(leadingNumber.FindString(value)), 64)
	return f, err == nil && f > 0 && f <= 100
}

// ToolLimits returns the limits of stored results that a feature sets, in bytes by the name of the tool, as the client
// writes the name. Two words stand for more than one tool: mcp and default.
func ToolLimits(value string) (map[string]int64, bool) {
	var by map[string]int64
	if json.Unmarshal([]byte(value), &by) != nil {
		return nil, false
	}
	for name, n := range by {
		if name == "" || n < 1 || n > math.MaxInt32 {
			return nil, false
		}
	}
	return by, by != nil
}

// Rules returns errors for variables whose values the client cannot read.
func (e *Env) Rules() []error {
	var errs []error
	v := reflect.ValueOf(e).Elem()
	for _, f := range variables() {
		value := v.FieldByIndex(f.Index).String()
		if want := wanted(f.Tag.Get("env"), value); want != "" {
			errs = append(errs, spec.Wrong(f.Tag.Get("yaml"), "takes %s, not %q", want, value))
		}
	}
	return errs
}

// variables are the fields of Env. A command checks the variables of many scenarios.
var variables = sync.OnceValue(func() []reflect.StructField { return reflect.VisibleFields(reflect.TypeFor[Env]()) })

// wanted returns what a variable of a kind takes, "" if the value is valid.
func wanted(kind, value string) string {
	ok, want := value == "", ""
	switch kind {
	case "flag":
		ok = ok || On(value) || strings.Contains(" 0 false no off ", " "+strings.ToLower(value)+" ")
		want = "1 or 0"
	case "number":
		_, number := Number(value)
		ok, want = ok || number, "a whole number from 1"
	case "percent":
		ok = true // the client ignores what it cannot read
	case "limits":
		_, limits := ToolLimits(value)
		ok, want = ok || limits, `bytes by the name of a tool, such as {"Bash": 20000, "WebFetch": 10000, "mcp__github__search": 50000}`
	case "ttl":
		ok, want = ok || value == Choice5m || value == Choice1h, "5m or 1h"
	case "user":
		ok, want = ok || value == employee || value == "external", "ant or external"
	}
	if ok {
		return ""
	}
	return want
}
