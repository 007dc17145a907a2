package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A pair is a recording and the run whose bill is to be found from it.
type pair struct {
	from, to *run
	sets     []string // what the simulator is told
}

// name returns what the pair is called in tables.
func (p *pair) name() string {
	if p.from == p.to {
		return p.from.Name
	}
	return p.from.Name + " → " + p.to.Name[strings.LastIndexByte(p.to.Name, '-')+1:]
}

// heldOut reports whether a pair is one of the third that is chosen by the hash of its name.
func (p *pair) heldOut() bool { return sha256.Sum256([]byte(p.name()))[0]%3 == 0 }

// The kinds of pairs, by what is recorded and what is asked.
const (
	same  = "A from A" // nothing is told, and nothing changes
	other = "B from A"
	again = "B from B" // nothing is told: the setting has to be found in the recording
	back  = "A from B" // a limit is lifted
)

// kind returns the kind of a pair.
func (p *pair) kind() string {
	switch {
	case p.from == p.to && p.from.usual():
		return same
	case p.from == p.to:
		return again
	case p.from.usual():
		return other
	}
	return back
}

// usual reports whether a run has the client's own settings.
func (r *run) usual() bool { return r.Env == nil && (r.Config == "" || r.Config == remote) }

// recalls reports whether the run's agent reads again what it lacks.
func (r *run) recalls() bool { return strings.HasPrefix(r.Script, "reco") || r.Script == "recall" }

// pairs returns all pairs: each run of the usual settings from itself and every other of the same client, script and model
// from it; and where the other is recorded too, that from itself and the way back.
func pairs(recorded func(*run) bool) []pair {
	var list []pair
	for _, a := range runs {
		if !a.usual() || !recorded(a) {
			continue
		}
		list = append(list, pair{a, a, nil})
		for _, b := range runs {
			if b.usual() || b.Client != a.Client || b.Script != a.Script || b.model() != a.model() || a.Config == remote {
				continue
			}
			list = append(list, pair{a, b, b.told()})
			if recorded(b) {
				list = append(list, pair{b, b, nil}, pair{b, a, b.lifted()})
			}
		}
	}
	return list
}

// told returns a run's settings in the simulator's words.
func (r *run) told() []string {
	var sets []string
	for k, v := range r.Env {
		if r.Client != copilot {
			sets = append(sets, "client.env."+k+"="+v)
			continue
		}
		n, _ := strconv.Atoi(v) // constants of this program
		sets = append(sets, fmt.Sprintf("full-compact.trigger.fraction=%g", 0.8*float64(n)/promptTokens))
	}
	switch r.Client {
	case codex:
		if limit, ok := strings.CutPrefix(r.Config, "model_auto_compact_token_limit = "); ok {
			sets = append(sets, "full-compact.trigger.fixed="+limit)
		}
	case kimi:
		if n, ok := strings.CutPrefix(r.Config, "reserved_context_size = "); ok {
			sets = append(sets, "full-compact.trigger.reserve="+n)
		}
	case pi, opencode, qwen:
		var own struct {
			AutoCompactThreshold float64
			Limit                struct{ Input int }
			Compaction           struct{ ReserveTokens, KeepRecentTokens, Reserved int }
		}
		if r.Config == "" {
			break
		}
		if err := json.Unmarshal([]byte(r.Config), &own); err != nil {
			panic(err) // a constant of this program
		}
		if f := own.AutoCompactThreshold; f > 0 {
			sets = append(sets, fmt.Sprintf("full-compact.trigger.fraction=%g", f))
		}
		if n := own.Compaction.ReserveTokens; n > 0 {
			sets = append(sets, fmt.Sprintf("full-compact.trigger.reserve=%d", n))
		}
		if n := own.Compaction.KeepRecentTokens; n > 0 {
			sets = append(sets, fmt.Sprintf("full-compact.keep.tokens=%d", n))
		}
		if n := own.Limit.Input; n > 0 { // OpenCode keeps 20,000 tokens of the limit free, or what the setting says
			free := 20000
			if own.Compaction.Reserved > 0 {
				free = own.Compaction.Reserved
			}
			sets = append(sets, fmt.Sprintf("full-compact.trigger.fixed=%d", n-free))
		}
	}
	return sets
}

// promptTokens is what the Copilot CLI takes for the most tokens of a prompt, of a model that it does not know.
const promptTokens = 128_000

// lifted returns the usual settings in place of a run's, in the simulator's words.
func (r *run) lifted() []string {
	switch r.Client {
	case codex:
		return []string{"full-compact.trigger.fixed=244800"} // nine tenths of its window of 272,000
	case pi:
		return []string{"full-compact.trigger.reserve=16384", "full-compact.keep.tokens=20000"}
	case kimi:
		return []string{"full-compact.trigger.reserve=50000"}
	case qwen:
		return []string{"full-compact.trigger.fraction=0.85"}
	case opencode:
		return []string{"full-compact.trigger.fixed=168000"} // the window less 32,000 for the answer
	}
	var sets []string
	for k := range r.Env {
		v := "100" // per cent, which the client takes as no limit
		if k == "CLAUDE_CODE_AUTO_COMPACT_WINDOW" {
			v = fmt.Sprint(window(r.model()))
		}
		sets = append(sets, "client.env."+k+"="+v)
	}
	return sets
}

// runs are all sessions that real clients ran for the experiment. The recordings of some are kept, three megabytes in all.
var runs = []*run{
	{Name: "claude-survey-A", Kept: true, Client: claude, Script: "survey"},
	{Name: "claude-survey-P60", Client: claude, Script: "survey", Env: percent("60")},
	{Name: "claude-survey-W150", Client: claude, Script: "survey", Env: windowOf("150000")},
	{Name: "claude-mend-A", Kept: true, Client: claude, Script: "mend"},
	{Name: "claude-mend-P40", Client: claude, Script: "mend", Env: percent("40")},
	{Name: "claude-mend-W120", Client: claude, Script: "mend", Env: windowOf("120000")},
	{Name: "claude-build-A", Client: claude, Script: "build"},
	{Name: "claude-build-P60", Client: claude, Script: "build", Env: percent("60")},
	{Name: "claude-build-W150", Client: claude, Script: "build", Env: windowOf("150000")},
	{Name: "claude-mend-M", Kept: true, Client: claude, Script: "mend", Model: "claude-opus-4-7"},
	{Name: "claude-mend-MW250", Client: claude, Script: "mend", Model: "claude-opus-4-7", Env: windowOf("250000")},
	{Name: "claude-mend-MP15", Client: claude, Script: "mend", Model: "claude-opus-4-7", Env: percent("15")},

	{Name: "codex-survey-A", Client: codex, Script: "survey"},
	{Name: "codex-survey-L150", Client: codex, Script: "survey", Config: "model_auto_compact_token_limit = 150000"},
	{Name: "codex-mend-A", Kept: true, Client: codex, Script: "mend"},
	{Name: "codex-mend-L90", Client: codex, Script: "mend", Config: "model_auto_compact_token_limit = 90000"},
	{Name: "codex-mend-remote", Client: codex, Script: "mend", Config: remote},

	{Name: "pi-survey-A", Client: pi, Script: "survey"},
	{Name: "pi-survey-R80", Client: pi, Script: "survey", Config: `{"compaction":{"reserveTokens":80000}}`},
	{Name: "pi-mend-A", Kept: true, Client: pi, Script: "mend"},
	{Name: "pi-mend-R110", Kept: true, Client: pi, Script: "mend", Config: `{"compaction":{"reserveTokens":110000}}`},
	{Name: "pi-mend-K8", Client: pi, Script: "mend", Config: `{"compaction":{"keepRecentTokens":8000}}`},

	{Name: "opencode-survey-A", Client: opencode, Script: "survey"},
	{Name: "opencode-survey-I130", Client: opencode, Script: "survey", Config: `{"limit":{"input":130000}}`},
	{Name: "opencode-build-A", Kept: true, Client: opencode, Script: "build"},
	{Name: "opencode-build-R90", Client: opencode, Script: "build", Config: `{"limit":{"input":180000},"compaction":{"reserved":90000}}`},

	{Name: "claude-recall-A", Kept: true, Client: claude, Script: "recall"},
	{Name: "claude-recall-P45", Kept: true, Client: claude, Script: "recall", Env: percent("45")},
	{Name: "claude-recall-W120", Client: claude, Script: "recall", Env: windowOf("120000")},
	{Name: "codex-recall-A", Client: codex, Script: "recall"},
	{Name: "codex-recall-L100", Client: codex, Script: "recall", Config: "model_auto_compact_token_limit = 100000"},
	{Name: "pi-recollect-A", Kept: true, Client: pi, Script: "recollect"},
	{Name: "pi-recollect-R100", Client: pi, Script: "recollect", Config: `{"compaction":{"reserveTokens":100000}}`},
	{Name: "claude-recollect-A", Client: claude, Script: "recollect"},
	{Name: "claude-recollect-W150", Client: claude, Script: "recollect", Env: windowOf("150000")},

	{Name: "claude-pauses-A", Kept: true, Client: claude, Script: "pauses"},
	{Name: "claude-pauses-W120", Client: claude, Script: "pauses", Env: windowOf("120000")},
	{Name: "pi-pauses-A", Client: pi, Script: "pauses"},
	{Name: "pi-pauses-R110", Client: pi, Script: "pauses", Config: `{"compaction":{"reserveTokens":110000}}`},
	{Name: "claude-helpers-A", Kept: true, Client: claude, Script: "helpers"},
	{Name: "claude-helpers-P40", Client: claude, Script: "helpers", Env: percent("40")},
	{Name: "claude-pair-A", Kept: true, Client: claude, Script: "pair"},
	{Name: "claude-pair-W120", Client: claude, Script: "pair", Env: windowOf("120000")},

	{Name: "qwen-mend-A", Kept: true, Client: qwen, Script: "mend"},
	{Name: "qwen-mend-T40", Kept: true, Client: qwen, Script: "mend", Config: threshold("0.4")},
	{Name: "qwen-survey-A", Kept: true, Client: qwen, Script: "survey"},
	{Name: "qwen-survey-T60", Client: qwen, Script: "survey", Config: threshold("0.6")},
	{Name: "qwen-pauses-A", Kept: true, Client: qwen, Script: "pauses"},
	{Name: "qwen-pauses-T50", Client: qwen, Script: "pauses", Config: threshold("0.5")},

	{Name: "claude-mid-A", Kept: true, Client: claude, Script: "mid"},
	{Name: "claude-mid-P50", Client: claude, Script: "mid", Env: percent("50")},
	{Name: "claude-large-A", Kept: true, Client: claude, Script: "large"},
	{Name: "claude-large-W120", Client: claude, Script: "large", Env: windowOf("120000")},
	{Name: "codex-mid-A", Kept: true, Client: codex, Script: "mid"},
	{Name: "codex-mid-L110", Client: codex, Script: "mid", Config: "model_auto_compact_token_limit = 110000"},
	{Name: "codex-large-A", Kept: true, Client: codex, Script: "large"},
	{Name: "codex-large-L80", Client: codex, Script: "large", Config: "model_auto_compact_token_limit = 80000"},
	{Name: "pi-mid-A", Kept: true, Client: pi, Script: "mid"},
	{Name: "pi-mid-R90", Client: pi, Script: "mid", Config: `{"compaction":{"reserveTokens":90000}}`},
	{Name: "pi-large-A", Kept: true, Client: pi, Script: "large"},
	{Name: "pi-large-R110", Client: pi, Script: "large", Config: `{"compaction":{"reserveTokens":110000}}`},
	{Name: "opencode-mid-A", Kept: true, Client: opencode, Script: "mid"},
	{Name: "opencode-mid-I130", Client: opencode, Script: "mid", Config: `{"limit":{"input":130000}}`},
	{Name: "qwen-mid-A", Kept: true, Client: qwen, Script: "mid"},
	{Name: "qwen-mid-T50", Client: qwen, Script: "mid", Config: threshold("0.5")},
	{Name: "qwen-large-A", Kept: true, Client: qwen, Script: "large"},
	{Name: "qwen-large-T40", Client: qwen, Script: "large", Config: threshold("0.4")},

	{Name: "kimi-mend-A", Kept: true, Client: kimi, Script: "mend"},
	{Name: "kimi-mend-R100", Client: kimi, Script: "mend", Config: "reserved_context_size = 100000"},
	{Name: "kimi-survey-A", Kept: true, Client: kimi, Script: "survey"},
	{Name: "kimi-survey-R100", Client: kimi, Script: "survey", Config: "reserved_context_size = 100000"},
	{Name: "kimi-mid-A", Kept: true, Client: kimi, Script: "mid"},
	{Name: "kimi-mid-R110", Client: kimi, Script: "mid", Config: "reserved_context_size = 110000"},
	{Name: "kimi-large-A", Kept: true, Client: kimi, Script: "large"},
	{Name: "kimi-large-R90", Kept: true, Client: kimi, Script: "large", Config: "reserved_context_size = 90000"},
	{Name: "kimi-pauses-A", Kept: true, Client: kimi, Script: "pauses"},
	{Name: "kimi-pauses-R100", Client: kimi, Script: "pauses", Config: "reserved_context_size = 100000"},

	{Name: "copilot-mend-A", Kept: true, Client: copilot, Script: "mend"},
	{Name: "copilot-mend-P100", Client: copilot, Script: "mend", Env: promptsOf("100000")},
	{Name: "copilot-mid-A", Kept: true, Client: copilot, Script: "mid"},
	{Name: "copilot-mid-P80", Client: copilot, Script: "mid", Env: promptsOf("80000")},
	{Name: "copilot-large-A", Kept: true, Client: copilot, Script: "large"},
	{Name: "copilot-large-P90", Client: copilot, Script: "large", Env: promptsOf("90000")},
}

// threshold is a setting of Qwen Code, a share of the window.
func threshold(share string) string { return `{"autoCompactThreshold":` + share + `}` }

func promptsOf(tokens string) map[string]string {
	return map[string]string{"COPILOT_PROVIDER_MAX_PROMPT_TOKENS": tokens}
}

func percent(p string) map[string]string {
	return map[string]string{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": p}
}

func windowOf(tokens string) map[string]string {
	return map[string]string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW": tokens}
}
