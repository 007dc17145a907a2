package pi

import "github.com/compactsim/compactsim/traces"

// settings are the settings of pi that a simulation follows: compaction begins at
// the window less the reserve.
func settings() []traces.Setting {
	return []traces.Setting{{
		Name: "compaction.reserveTokens", Group: traces.GroupThreshold, Where: "~/.pi/agent/settings.json",
		Snippet: `{"compaction": {"reserveTokens": %s}}`, Does: "keep %s tokens free",
		Values: []string{"40000", "60000", "80000", "100000", "120000"},
		Below:  "a smaller reserve is near the client's own, 16,384", Above: traces.NoRoom,
		Assign: "full-compact.trigger.reserve=%s",
	}}
}
