package pi

import "github.com/compactsim/compactsim/traces"

// settings are the settings of pi and Oh-My-Pi that a simulation follows: compaction begins at the window less the reserve, and at a
// share of the window that a person sets (Oh-My-Pi 18.2.3: src/config/settings-schema.ts, in percent).
func settings() []traces.Setting {
	return []traces.Setting{{
		Name: "compaction.reserveTokens", Group: traces.GroupThreshold, Where: "~/.pi/agent/settings.json",
		Snippet: `{"compaction": {"reserveTokens": %s}}`, Does: "keep %s tokens free",
		Values: []string{"40000", "60000", "80000", "100000", "120000"},
		Below:  "a smaller reserve is near the client's own, 16,384", Above: traces.NoRoom,
		Assign: "full-compact.trigger.reserve=%s", Variants: []string{""},
	}, {
		Name: "compaction.thresholdPercent", Group: traces.GroupThreshold, Where: "~/.omp/agent/config.yml",
		Snippet: "compaction: {thresholdPercent: %s}", Does: "compact at %s % of the window",
		Values: []string{"30", "40", "50", "60", "70"},
		Below:  traces.NoRoom, Above: "a larger one is near the client's own, 85",
		Assign: "full-compact.trigger.pct_override=%s", Variants: []string{traces.VariantOhMyPi},
	}}
}
