package codex

import "github.com/compactsim/compactsim/traces"

// settings are the settings of the Codex CLI that a simulation follows. The limit
// counts up to nine tenths of the window.
func settings() []traces.Setting {
	return []traces.Setting{{
		Name: "model_auto_compact_token_limit", Group: traces.GroupThreshold, Where: "~/.codex/config.toml",
		Snippet: "model_auto_compact_token_limit = %s", Does: "compact at %s tokens",
		Values: []string{
			"40000", "50000", "60000", "70000", "80000", "90000",
			"100000", "120000", "140000", "160000", "180000", "200000", "220000",
		},
		Below: traces.NoRoom, Above: "the client counts the limit up to nine tenths of the window",
		Assign: "full-compact.trigger.fixed=%s",
	}}
}
